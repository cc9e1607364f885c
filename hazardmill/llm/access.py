"""How language models are reached, and what asking them may cost."""

from __future__ import annotations

import importlib.util
import re
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from hazardmill.errors import SettingsError, UsageError
from hazardmill.records import FrozenModel
from hazardmill.settings import ATTEMPT_TIMEOUT_S, MOST_ANSWER_BYTES, deadline_for

LiveBackend = Literal["offline", "recorded", "litellm"]
BackendName = LiveBackend | Literal["replay"]

_BUDGET_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")

_CREDENTIALS: Final = {"@": "user name or password", "?": "query", "#": "fragment"}
"""Signs of what an address has no need of, and what may be a key."""


class ModelAccess(FrozenModel):
    """Who answers requests to language models, within which limits, and for how much money.

    A run's configuration is a subclass, which adds the models it names and what it asks them about.
    """

    backend: Annotated[BackendName, Field(description="Who answers; replay does so from a ledger.")] = "offline"
    fallback_models: Annotated[
        tuple[str, ...], Field(description="Models to ask, in order, where that of a stage cannot answer.")
    ] = ()
    api_base: Annotated[
        str | None, Field(description="Address of an OpenAI-compatible server; null for that of the provider.")
    ] = None
    recordings: Annotated[
        Path | None,
        Field(
            description="Folder with the recorded answers of the sources; null for those that come with the sources."
        ),
    ] = None
    replay_backend: Annotated[
        LiveBackend, Field(description="Whose answers the replay backend looks for in the ledger.")
    ] = "offline"
    replay_store: Annotated[
        Path | None, Field(description="The store whose ledger is replayed; null replays the run's own.")
    ] = None
    concurrency: Annotated[
        int,
        Field(ge=1, le=1000, description="Records worked on at once within a batch, and most requests under way."),
    ] = 8
    requests_per_minute: Annotated[
        int | None, Field(ge=1, description="Most requests per minute; null for no limit.")
    ] = None
    tokens_per_minute: Annotated[
        int | None, Field(ge=1, description="Most tokens per minute, in and out; null for no limit.")
    ] = None
    attempt_timeout: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="Seconds for one attempt, from the connection to the last byte of the answer.",
        ),
    ] = ATTEMPT_TIMEOUT_S
    deadline_s: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="Seconds for all attempts of one model at one request, pauses included.",
        ),
    ] = Field(default_factory=lambda said: deadline_for(said.get("attempt_timeout", ATTEMPT_TIMEOUT_S)))
    max_answer_bytes: Annotated[int, Field(ge=1, description="Most bytes of an answer, unpacked.")] = MOST_ANSWER_BYTES
    budget_usd: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="Most that the run may spend, over all its sessions; null for no limit.",
        ),
    ] = None
    budget_id: Annotated[
        str | None,
        Field(description="Name of a budget that runs on this store share; null for one of its own."),
    ] = None

    @property
    @abstractmethod
    def primary_models(self) -> tuple[str, ...]:
        """The models named for the work itself, without fallbacks."""

    @property
    def asked(self) -> tuple[str, ...]:
        """Every model that may be asked, each once: those named for the work, then fallbacks."""
        return tuple(dict.fromkeys([*self.primary_models, *self.fallback_models]))

    @property
    def paid_before(self) -> bool:
        """Whether nothing is paid for: each answer is that of an earlier run, replayed or recorded."""
        return self.backend in ("replay", "recorded")

    def check(self) -> None:
        """Refuse what can never work, or must never be written down.

        Raises:
            SettingsError: ``api_base`` carries credentials, or litellm is wanted and not installed.
            UsageError: Settings do not go together.
        """
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
