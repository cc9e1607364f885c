"""What a generation run is made of: everything that decides its result, kept with the run for resuming."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from hazardmill.errors import SettingsError, UsageError
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.generation.context import AuthorFormat, Models
from hazardmill.ingest.shards import Shard
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import FrozenModel
from hazardmill.settings import ATTEMPT_TIMEOUT_S, MOST_ANSWER_BYTES, deadline_for

LiveBackend = Literal["offline", "recorded", "litellm"]
BackendName = LiveBackend | Literal["replay"]
JailProfile = Literal["auto", "full", "minimal"]

ALTER_NOTHING: Final = frozenset(
    {
        "batch_size",
        "concurrency",
        "requests_per_minute",
        "tokens_per_minute",
        "deadline_s",
        "attempt_timeout",
        "max_answer_bytes",
        "budget_usd",
        "budget_id",
        "cross_check",
    }
)
"""Settings that no result depends on: a run that is resumed takes them as they are given. All others are compared."""

_BUDGET_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")

_CREDENTIALS: Final = {"@": "user name or password", "?": "query", "#": "fragment"}
"""Signs of what an address has no need of, and what may be a key."""


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


class RunConfig(FrozenModel):
    """The configuration of a generation run."""

    inputs: Annotated[tuple[RunInput, ...], Field(min_length=1)]
    backend: BackendName = "offline"
    models: Models = Models(extract=OFFLINE_MODEL, author=OFFLINE_MODEL, judge=OFFLINE_MODEL)
    fallback_models: tuple[str, ...] = ()
    """Models to ask, in order, where that of a stage cannot answer."""
    author_format: AuthorFormat = "python"
    structured: bool = False
    """Whether the author's model is sent the schema of a document, which not every provider takes."""
    api_base: str | None = None
    recordings: Path | None = None
    """Folder with the recorded answers of the sources; null for those that come with the sources."""
    replay_backend: LiveBackend = "offline"
    """Whose answers the replay backend looks for in the ledger."""
    replay_store: Path | None = None
    """The store whose ledger is replayed; null replays the run's own."""
    jail: JailProfile = "auto"
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 25
    """Records a batch: what is made into parts, and one Prefect task, at a time."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    """Records worked on at once within a batch, and most requests under way."""
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    attempt_timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = ATTEMPT_TIMEOUT_S
    """Seconds for one attempt, from the connection to the last byte of the answer."""
    deadline_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default_factory=lambda said: deadline_for(said.get("attempt_timeout", ATTEMPT_TIMEOUT_S))
    )
    """Seconds for all attempts of one model at one request, pauses included."""
    max_answer_bytes: Annotated[int, Field(ge=1)] = MOST_ANSWER_BYTES
    """Most bytes of an answer, unpacked."""
    budget_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Most that the run may spend, over all its sessions; null for no limit."""
    budget_id: str | None = None
    """Name of a budget that runs on this store share; null for one of its own."""
    cross_check: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of accepted tasks that external planners look at."""
    sample: Annotated[int, Field(ge=0)] = 0
    """Which draw of every answer: another number asks everything anew."""
    search_limit: Annotated[int, Field(ge=1)] = DRAFT_LIMIT

    @property
    def asked(self) -> tuple[str, ...]:
        """Every model that may be asked, each once: those of the stages, then fallbacks."""
        return tuple(dict.fromkeys([*self.models.model_dump().values(), *self.fallback_models]))

    @property
    def paid_before(self) -> bool:
        """Whether nothing is paid for: each answer is that of an earlier run, replayed or recorded."""
        return self.backend in ("replay", "recorded")

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
        if self.budget_id is not None:
            self._check_shared_budget(self.budget_id)
        if self.api_base is not None:
            refuse_credentials(self.api_base)
        if self.backend == "litellm" and importlib.util.find_spec("litellm") is None:
            raise SettingsError("litellm is not installed", remedy="install hazardmill[llm], or use the offline author")

    def _check_shared_budget(self, name: str) -> None:
        if self.budget_usd is None:
            raise UsageError(f"of the budget {name} it is not said how large it is", remedy="give --budget-usd too")
        if not _BUDGET_ID.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot name a budget",
                remedy="use letters, digits, '.', '_' and '-', at most 100, beginning with a letter or digit",
            )


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
