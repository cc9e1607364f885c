"""The keys of a recipe: the sources of a run, and every option that a run has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema, field_validator

from hazardmill.errors import UsageError
from hazardmill.ingest.shards import Shard
from hazardmill.llm.requests import OFFLINE_MODEL, RECORDED_MODEL
from hazardmill.records import FrozenModel
from hazardmill.run_options import (
    AccessOptions,
    GenerationOptions,
    ModelOptions,
    RecordingOptions,
    RunOption,
    SampleOptions,
    deadline_for,
)
from hazardmill.settings import Settings

_FACTS = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}


class RecipeSource(FrozenModel):
    """A source of a recipe: its records, and which of them are taken."""

    source: Annotated[str, Field(description="Name of the source, as `hazardmill sources list` has it.")]
    input: Annotated[
        Path | None,
        Field(description="File or folder to read the records from; without it, the records in the store are taken."),
    ] = None
    where: Annotated[
        dict[str, str], Field(description="Facts that a record must have, by name."), WithJsonSchema(_FACTS)
    ] = Field(default_factory=dict)
    limit: Annotated[int | None, Field(ge=1, description="Maximum number of records to take.")] = None


class Recipe(SampleOptions, RecordingOptions, GenerationOptions, AccessOptions, ModelOptions):
    """What a run works on and how. Paths are absolute here; in the file they are relative to its folder."""

    sources: Annotated[tuple[RecipeSource, ...], Field(min_length=1, description="What records are worked on.")]
    shard: Annotated[
        str | None, Field(description="Only the Kth of N shards of the records, by their ids, written K/N.")
    ] = None
    replay: Annotated[
        bool | Path,
        Field(
            description="Answer from the ledger of the run's own store (true) or of the store at this path, instead "
            "of asking a model."
        ),
    ] = False
    # Hazard tasks are made by dialogues, which no recipe describes.
    kind: Annotated[
        Literal["task", "mal", "sit"],
        Field(description=GenerationOptions.model_fields["kind"].description),
        RunOption(group="Tasks and checks"),
    ] = "task"

    @field_validator("shard")
    @classmethod
    def _is_shard(cls, shard: str | None) -> str | None:
        try:
            return None if shard is None else str(Shard.parse(shard))
        except UsageError as error:
            raise ValueError(str(error)) from None

    @property
    def replayed(self) -> str | None:
        """The store to answer from: empty for the run's own, None for no replay."""
        return str(self.replay) if isinstance(self.replay, Path) else "" if self.replay else None

    @property
    def answers(self) -> dict[str, Any]:
        """The keys that say which answers are taken and have no setting: ``sample`` and ``recordings``."""
        return {name: getattr(self, name) for name in ("sample", "recordings") if name in self.model_fields_set}

    def over(self, settings: Settings) -> Settings:
        """Return settings in which everything that the recipe says holds.

        A key that is null in the recipe has no value, whatever the settings say.

        Args:
            settings: What holds for all runs.
        """
        names = (self.model_fields_set & Settings.model_fields.keys()) - {"authors", "doi"}
        said = {name: getattr(self, name) for name in names}
        if "budget_usd" in said and said["budget_usd"] is None:
            # Without a limit there is nothing to share.
            said.setdefault("budget_id", None)
        if "attempt_timeout" in said and "deadline_s" not in said and "deadline_s" in settings.model_fields_set:
            said["deadline_s"] = deadline_for(said["attempt_timeout"], settings.deadline_s)
        # Either of both options chooses how requests travel.
        if said.get("exchange") is not None:
            said.setdefault("batch", False)
        elif said.get("batch"):
            said.setdefault("exchange", None)
        if said.get("model") in (OFFLINE_MODEL, RECORDED_MODEL):
            # How other models are reached.
            said.setdefault("fallback_models", ())
            said.setdefault("api_base", None)
        return settings.model_copy(update=said)
