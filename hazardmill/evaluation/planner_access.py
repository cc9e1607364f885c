"""Access to the model that an evaluation asks."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hazardmill.errors import UsageError
from hazardmill.llm.access import BackendName, LiveBackend, ModelAccess
from hazardmill.llm.backends.plugin import plugin_backend_of
from hazardmill.llm.requests import OFFLINE_MODEL, RECORDED_MODEL


class PlannerAccess(ModelAccess):
    """Access to the one model that an evaluation asks.

    Unlike a generation run, an evaluation has no fallback models and asks a live provider by default. It refuses the
    offline author and recorded answers, which write tasks and cannot plan.

    Attributes:
        model: The model, named as litellm names it.
        backend: Where answers come from: a live provider, or the ledger of an earlier run (``replay``).
        replay_backend: The backend that gave the answers that a replay uses.
        fallback_models: Always empty.
        batch_size: Tasks whose answers are collected before they are written as one part of the ledger.
    """

    model: Annotated[str, Field(description="Model to ask, as litellm names it.")]
    backend: BackendName = "litellm"
    replay_backend: LiveBackend = "litellm"
    fallback_models: tuple[()] = ()
    batch_size: Annotated[
        int, Field(ge=1, le=1000, description="Tasks whose answers are written to the store together.")
    ] = 25

    @property
    def primary_models(self) -> tuple[str, ...]:
        """The model, as the only one."""
        return (self.model,)

    def check(self) -> None:
        """Refuse access that can never work, or that must never be written down.

        Raises:
            UsageError: The model is the offline author or recorded answers, which cannot plan.
            SettingsError: The address carries credentials, or litellm is not installed.
        """
        if self.model in (OFFLINE_MODEL, RECORDED_MODEL):
            raise UsageError(
                f"{self.model} can write tasks, but cannot plan",
                remedy="give --model the name of a language model in litellm's form, such as openai/gpt-5-mini",
            )
        super().check()


def configure_planner(model: str, **settings: Any) -> PlannerAccess:  # noqa: ANN401  # fields of the class
    """Return checked access to a model.

    Args:
        model: The model, named as litellm names it.
        settings: Other fields of ``PlannerAccess``.

    Raises:
        UsageError: The model is the offline author or recorded answers, which cannot plan.
        SettingsError: The address carries credentials, or litellm is not installed.
    """
    live = plugin_backend_of(model) or "litellm"
    access = PlannerAccess.model_validate({"model": model, "backend": live, "replay_backend": live, **settings})
    access.check()
    return access
