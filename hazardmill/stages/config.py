"""What a generation run is made of: everything that decides its result, kept with the run for resuming."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from hazardmill.errors import SettingsError
from hazardmill.formalism.effort import DRAFT_LIMIT
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import Frozen
from hazardmill.stages.mill import Models

BackendName = Literal["offline", "litellm", "replay"]
JailProfile = Literal["auto", "full", "minimal"]

_CREDENTIALS: Final = {"@": "user name or password", "?": "query", "#": "fragment"}
"""Signs of what an address has no need of, and what may be a key."""


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
    replay_store: Path | None = None
    """The store whose ledger is replayed; null replays the run's own."""
    jail: JailProfile = "auto"
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 25
    """Records a batch: what is made into parts, and one Prefect task, at a time."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    """Records worked on at once within a batch."""
    cross_check: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of accepted tasks that external planners look at."""
    sample: Annotated[int, Field(ge=0)] = 0
    """Which draw of every answer: another number asks everything anew."""
    search_limit: Annotated[int, Field(ge=1)] = DRAFT_LIMIT

    @property
    def label(self) -> str:
        """Sources and author's model, for people: ``neiss+bddl offline-author``."""
        return f"{'+'.join(dict.fromkeys(item.source for item in self.inputs))} {self.models.author}"

    def check(self) -> None:
        """Refuse what can never work, or must never be written down.

        Raises:
            SettingsError: ``api_base`` carries credentials, or litellm is wanted and not installed.
        """
        if self.api_base is not None:
            refuse_credentials(self.api_base)
        if self.backend == "litellm" and importlib.util.find_spec("litellm") is None:
            raise SettingsError("litellm is not installed", remedy="install hazardmill[llm], or use the offline author")


def refuse_credentials(api_base: str) -> None:
    """Refuse an address that may carry a key: it is stored with the run, and shown by its report.

    Raises:
        SettingsError: Without saying what the address was.
    """
    # By its characters: what cannot even be parsed may hold a secret too.
    found = [what for sign, what in _CREDENTIALS.items() if sign in api_base]
    if found:
        raise SettingsError(
            f"the address of the API carries a {' and a '.join(found)}, which may be secret",
            remedy="give scheme, host, port and path only, and put the key in the provider's environment variable, "
            "such as OPENAI_API_KEY",
        )
