"""What a generation run is made of: everything that decides its result, kept with the run for resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from hazardmill.formalism.search import DEFAULT_LIMIT
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import Frozen
from hazardmill.stages.mill import Models

BackendName = Literal["offline", "litellm", "replay"]
JailProfile = Literal["auto", "full", "minimal"]


class RunInput(Frozen):
    """Records of one source: read from ``path``, or those the store holds already."""

    source: str
    path: Path | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    where: dict[str, str] = Field(default_factory=dict)


class RunConfig(Frozen):
    """The configuration of a generation run."""

    inputs: Annotated[tuple[RunInput, ...], Field(min_length=1)]
    backend: BackendName = "offline"
    models: Models = Models(extract=OFFLINE_MODEL, author=OFFLINE_MODEL, judge=OFFLINE_MODEL)
    api_base: str | None = None
    replay_backend: Literal["offline", "litellm"] = "offline"
    """Whose answers the replay backend looks for in the ledger."""
    jail: JailProfile = "auto"
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 25
    """Records a batch: what is made into parts, and one Prefect task, at a time."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    """Records worked on at once within a batch."""
    cross_check: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of accepted tasks that external planners look at."""
    sample: Annotated[int, Field(ge=0)] = 0
    """Which draw of every answer: another number asks everything anew."""
    search_limit: Annotated[int, Field(ge=1)] = DEFAULT_LIMIT

    @property
    def label(self) -> str:
        """Sources and author's model, for people: ``neiss+bddl offline-author``."""
        return f"{'+'.join(dict.fromkeys(item.source for item in self.inputs))} {self.models.author}"
