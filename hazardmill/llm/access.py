"""How language models are reached, and what asking them may cost."""

from __future__ import annotations

import importlib.util
import re
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from hazardmill.errors import SettingsError, UsageError
from hazardmill.run_options import AccessOptions, RunOption

LiveBackend = Literal["offline", "recorded", "litellm"]
BackendName = LiveBackend | Literal["replay"]

_BUDGET_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")

_CREDENTIALS: Final = {"@": "user name or password", "?": "query", "#": "fragment"}
"""Signs of what an address has no need of, and what may be a key."""


class ModelAccess(AccessOptions):
    """Who answers requests to language models, within which limits, and for how much money.

    A run's configuration is a subclass, which adds the models it names and what it asks them about.
    """

    backend: Annotated[BackendName, Field(description="Who answers; replay does so from a ledger.")] = "offline"
    recordings: Annotated[
        Path | None,
        Field(description="Folder of the answers recorded for each source, for the model `recorded`."),
        RunOption(metavar="FOLDER", unset="those that come with the sources", in_flows=False),
    ] = None
    replay_backend: Annotated[
        LiveBackend, Field(description="Whose answers the replay backend looks for in the ledger.")
    ] = "offline"
    replay_store: Annotated[
        Path | None, Field(description="The store whose ledger is replayed; null replays the run's own.")
    ] = None

    @property
    @abstractmethod
    def primary_models(self) -> tuple[str, ...]:
        """The models named for the work itself, without fallbacks."""

    @property
    def all_models(self) -> tuple[str, ...]:
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
