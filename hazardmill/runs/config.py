"""The configuration of a generation run: everything that decides its result, kept with the run for resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, field_validator

from hazardmill.errors import UsageError
from hazardmill.extras import require_mill
from hazardmill.generation.models import Models
from hazardmill.ingest.shards import Shard
from hazardmill.ingest.sources.streams import is_stream
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import FrozenModel
from hazardmill.run_options import GenerationOptions, SampleOptions, run_options


class RunInput(FrozenModel):
    """Records of one source: read from ``path``, or those that the store already holds.

    Attributes:
        source: Name of the source.
        path: File or folder to read, absolute, or a stream; None for the records in the store.
        limit: The most records to take; None for no limit.
        where: Facts that a record must have, by name.
    """

    source: str
    path: Path | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    where: dict[str, str] = Field(default_factory=dict)
    shard: str | None = None
    """``2/8``: only records in the second of eight ranges of ids; None for all. Applied after all other selection."""

    @field_validator("path")
    @classmethod
    def _make_absolute(cls, path: Path | None) -> Path | None:
        # A run may be resumed from another folder.
        return path if path is None or is_stream(path) else path.absolute()

    @field_validator("shard")
    @classmethod
    def _is_shard(cls, shard: str | None) -> str | None:
        if shard is not None:
            try:
                Shard.parse(shard)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return shard


class ActingConfig(FrozenModel):
    """What decides a run of dialogues besides its records, which hold seeds and roles.

    Attributes:
        dialogues: Number of dialogues.
        rounds: Rounds in which each role speaks once, before it proposes tasks.
        novelty: Rouge-L to an earlier task from which a task is not new.
        map_file: Name of the map of hazards, for messages.
        map_text: Text of the map, kept with the run.
    """

    dialogues: Annotated[int, Field(ge=1)]
    rounds: Annotated[int, Field(ge=1)]
    novelty: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    map_file: str
    map_text: str


class RunConfig(SampleOptions, GenerationOptions, ModelAccess):
    """The configuration of a generation run: its inputs, its models, how they are reached, and its options."""

    inputs: Annotated[tuple[RunInput, ...], Field(min_length=1)]
    models: Models = Models(extract=OFFLINE_MODEL, author=OFFLINE_MODEL, judge=OFFLINE_MODEL)
    base_domain: str | None = None
    """Text of the base domain of scenarios and hazard tasks, kept with the run; None for tasks."""
    acting: ActingConfig | None = None
    """Set for a run of dialogues."""
    recipe: Path | None = None
    """The recipe that the run was started from; None if there was none."""

    @field_validator("prompts", "recordings", "exchange")
    @classmethod
    def _make_absolute(cls, path: Path | None) -> Path | None:
        # A run may be resumed from another folder.
        return None if path is None else path.absolute()

    @property
    def primary_models(self) -> tuple[str, ...]:
        """The models of the stages extract, author and judge."""
        return (self.models.extract, self.models.author, self.models.judge)

    @property
    def label(self) -> str:
        """Sources, shard and author's model, for display: ``neiss+bddl offline-author``, ``neiss 2/8 toy``."""
        parts = ["+".join(self.source_names), self.shard, self.models.author]
        return " ".join(part for part in parts if part)

    @property
    def source_names(self) -> tuple[str, ...]:
        """The sources of the inputs, without duplicates."""
        return tuple(dict.fromkeys(item.source for item in self.inputs))

    @property
    def shard(self) -> str | None:
        """The shard of the inputs, ``2/8``; several are joined by ``+``, and None stands for all records."""
        return "+".join(dict.fromkeys(item.shard for item in self.inputs if item.shard is not None)) or None

    def check(self) -> None:
        """Refuse a configuration that can never work, or must never be written down.

        Raises:
            SettingsError: ``api_base`` carries credentials.
            ExtraMissing: A package that every run needs, or litellm if a model is asked, is not installed.
            UsageError: Settings do not go together.
        """
        require_mill("a run")
        if self.structured and self.author_format != "document":
            raise UsageError(
                "--structured needs a JSON schema, and only the author format `document` has one",
                remedy="add --author-format document, or leave out --structured",
            )
        if (self.kind == "hazard_task") != (self.acting is not None):
            raise UsageError(
                "hazard tasks are made from dialogues, and dialogues make nothing else",
                remedy="use hazardmill run acting for dialogues, and --kind task, mal or sit for records",
            )
        if self.kind == "task" and self.base is not None:
            raise UsageError(
                "--base applies only to scenarios", remedy="add --kind mal or --kind sit, or leave out --base"
            )
        if self.kind != "task" and self.checks:
            raise UsageError(
                "checks of packages look at tasks, and this run makes none",
                remedy="leave out --check, or the setting `checks`",
            )
        if self.kind != "task" and OFFLINE_MODEL in self.primary_models:
            raise UsageError(
                f"{OFFLINE_MODEL} writes tasks only", remedy="name a language model with --model, or --kind task"
            )
        super().check()


ALTER_NOTHING: Final = frozenset(name for name, _, option in run_options(RunConfig) if not option.alters_result)
"""Options that no result depends on: a resumed run takes new values of these, and refuses to change any other."""
