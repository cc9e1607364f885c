"""What a generation run is made of: everything that decides its result, kept with the run for resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, field_validator

from hazardmill.errors import UsageError
from hazardmill.generation.models import Models
from hazardmill.ingest.shards import Shard
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import FrozenModel
from hazardmill.run_options import GenerationOptions, RunOption, run_options


class RunInput(FrozenModel):
    """Records of one source: read from ``path``, or those the store holds already."""

    source: str
    path: Path | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    where: dict[str, str] = Field(default_factory=dict)
    shard: str | None = None
    """``2/8``: of the records that all else selects, those in the second of eight ranges of ids; null for all."""

    @field_validator("shard")
    @classmethod
    def _is_shard(cls, shard: str | None) -> str | None:
        if shard is not None:
            try:
                Shard.parse(shard)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return shard


class RunConfig(GenerationOptions, ModelAccess):
    """The configuration of a generation run."""

    inputs: Annotated[tuple[RunInput, ...], Field(min_length=1)]
    models: Models = Models(extract=OFFLINE_MODEL, author=OFFLINE_MODEL, judge=OFFLINE_MODEL)
    sample: Annotated[
        int,
        Field(ge=0, description="Which draw of every answer: another number asks for everything anew."),
        RunOption(),
    ] = 0

    @property
    def primary_models(self) -> tuple[str, ...]:
        """The models of the stages."""
        return (self.models.extract, self.models.author, self.models.judge)

    @property
    def label(self) -> str:
        """Sources, shard and author's model, for people: ``neiss+bddl offline-author``, ``neiss 2/8 toy``."""
        parts = ["+".join(dict.fromkeys(item.source for item in self.inputs)), self.shard, self.models.author]
        return " ".join(part for part in parts if part)

    @property
    def shard(self) -> str | None:
        """The shard that the inputs are of, ``2/8``; several are joined by ``+``, and null is all records."""
        return "+".join(dict.fromkeys(item.shard for item in self.inputs if item.shard is not None)) or None

    def check(self) -> None:
        """Refuse what can never work, or must never be written down.

        Raises:
            SettingsError: ``api_base`` carries credentials, or litellm is wanted and not installed.
            UsageError: Settings do not go together.
        """
        if self.structured and self.author_format != "document":
            raise UsageError(
                "only documents have a schema to hold the author to",
                remedy="write --author-format document, or leave --structured out",
            )
        super().check()


ALTER_NOTHING: Final = frozenset(name for name, _, option in run_options(RunConfig) if not option.alters_result)
"""Options that no result depends on: a run that is resumed takes them as they are given. All others are compared."""
