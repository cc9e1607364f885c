"""How language models are reached, and what requests to them may cost."""

from __future__ import annotations

import importlib.util
import re
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from hazardmill.errors import ExtraMissing, SettingsError, UsageError
from hazardmill.llm.ledger import Channel
from hazardmill.run_options import AccessOptions, RecordingOptions

LiveBackend = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
"""Name of who answers: ``litellm``, ``offline``, ``recorded``, or a backend of an installed package."""

BackendName = LiveBackend
"""The same, or ``replay``."""

_WITHOUT_PROVIDER: Final = ("offline", "recorded", "replay")

_BUDGET_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")

_CREDENTIALS: Final = {"@": "user name or password", "?": "query", "#": "fragment"}
"""Characters that an API address does not need and that introduce parts which may hold a key."""


class ModelAccess(AccessOptions, RecordingOptions):
    """Settings for reaching language models: backend, addresses, rate limits, deadlines and budget.

    Most of them are run options, declared once in ``AccessOptions``. Subclasses add the models they name: the
    configuration of a run, and that of an evaluation.

    Attributes:
        backend: Who answers requests. ``replay`` and ``recorded`` send nothing and cost nothing.
    """

    backend: Annotated[BackendName, Field(description="Who answers; replay does so from a ledger.")] = "offline"
    replay_backend: Annotated[
        LiveBackend, Field(description="Whose answers the replay backend looks for in the ledger.")
    ] = "offline"
    replay_store: Annotated[
        Path | None, Field(description="The store whose ledger is replayed; null replays the run's own.")
    ] = None

    @property
    def channel(self) -> Channel:
        """How requests travel: each by itself, in provider batches, or as files of an exchange folder."""
        return "exchange" if self.exchange is not None else "batch" if self.batch else "single"

    @property
    @abstractmethod
    def primary_models(self) -> tuple[str, ...]:
        """The models named for the work itself, without fallbacks."""

    @property
    def all_models(self) -> tuple[str, ...]:
        """Every model that may be asked, without duplicates: primary models first, then fallbacks."""
        return tuple(dict.fromkeys([*self.primary_models, *self.fallback_models]))

    @property
    def asks_provider(self) -> bool:
        """Whether requests are sent somewhere, so that limits on them are to be kept."""
        return self.backend not in _WITHOUT_PROVIDER

    @property
    def paid_before(self) -> bool:
        """Whether nothing is charged, because every answer comes from an earlier run (replayed or recorded)."""
        return self.backend in ("replay", "recorded")

    def check(self) -> None:
        """Refuse settings that can never work, and addresses that must not be stored.

        Raises:
            SettingsError: ``api_base`` carries credentials.
            ExtraMissing: The litellm backend is chosen, and litellm is not installed.
            UsageError: The settings of the shared budget are incomplete or its name is invalid; or requests cannot be
                sent together.
        """
        if self.budget_id is not None:
            self._check_shared_budget(self.budget_id)
        if self.api_base is not None:
            refuse_credentials(self.api_base)
        self._check_channel()
        if self.backend == "litellm" and importlib.util.find_spec("litellm") is None:
            raise ExtraMissing("litellm is not installed", extra="llm")

    def _check_channel(self) -> None:
        if self.channel == "single":
            return
        flag = "--exchange" if self.exchange is not None else "--batch"
        if self.batch and self.exchange is not None:
            raise UsageError(
                "requests travel in provider batches or by an exchange folder, not both",
                remedy="leave out --batch or --exchange",
            )
        if self.backend != "litellm":
            raise UsageError(
                f"{flag} is for language models, and this run's answers come from {self.backend}",
                remedy=f"name a language model with --model, or leave out {flag}",
            )
        if self.exchange is not None and self.fallback_models:
            raise UsageError(
                "fallback models need a network, so they cannot be combined with an exchange folder",
                remedy="leave out --fallback-model",
            )
        if self.exchange is not None and self.budget_usd is not None:
            raise UsageError(
                "a budget cannot be kept with an exchange folder, because the cost of its answers is unknown",
                remedy="leave out --budget-usd",
            )

    def _check_shared_budget(self, name: str) -> None:
        if self.budget_usd is None:
            raise UsageError(f"the size of the budget {name} is missing", remedy="give --budget-usd too")
        if not _BUDGET_ID.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot name a budget",
                remedy="use letters, digits, '.', '_' and '-', at most 100, beginning with a letter or digit",
            )


def refuse_credentials(api_base: str) -> None:
    """Refuse an API address that may carry a key.

    The address is stored with the run and shown in reports, so it must not hold a secret.

    Args:
        api_base: Address of an OpenAI-compatible server.

    Raises:
        SettingsError: The address has a user, a query or a fragment. The message does not repeat the address.
    """
    # Look at the characters instead of parsing: an address that cannot be parsed may hold a secret too.
    found = [what for sign, what in _CREDENTIALS.items() if sign in api_base]
    if found:
        raise SettingsError(
            f"the address of the API contains a {' and a '.join(found)}, which may be secret",
            remedy="give scheme, host, port and path only, and put the key in the provider's environment variable, "
            "such as OPENAI_API_KEY",
        )
