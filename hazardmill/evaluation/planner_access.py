"""How the model that is evaluated is reached."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hazardmill.errors import UsageError
from hazardmill.llm.access import BackendName, LiveBackend, ModelAccess
from hazardmill.llm.requests import OFFLINE_MODEL, RECORDED_MODEL


class PlannerAccess(ModelAccess):
    """Access to the one model that an evaluation asks."""

    model: Annotated[str, Field(description="Whom to ask, as litellm names it.")]
    backend: BackendName = "litellm"
    replay_backend: LiveBackend = "litellm"
    fallback_models: tuple[()] = ()
    """None: no other model may answer in its place."""
    batch_size: Annotated[
        int, Field(ge=1, le=1000, description="Tasks asked about before their answers are made into parts.")
    ] = 25

    @property
    def primary_models(self) -> tuple[str, ...]:
        """The model."""
        return (self.model,)

    def check(self) -> None:
        """Refuse what can never work, or must never be written down.

        Raises:
            UsageError: The offline author is asked, or recorded answers, which plan nothing.
            SettingsError: The address carries credentials, or litellm is not installed.
        """
        if self.model in (OFFLINE_MODEL, RECORDED_MODEL):
            raise UsageError(
                f"{self.model} writes tasks, and plans nothing",
                remedy="name a language model with --model, as litellm does",
            )
        super().check()


def configure_planner(model: str, **settings: Any) -> PlannerAccess:  # noqa: ANN401  # fields of the class
    """Access to a model, checked.

    Args:
        model: Whom to ask, as litellm names it.
        settings: Other fields of ``PlannerAccess``.

    Raises:
        UsageError: The offline author is asked, or recorded answers, which plan nothing.
        SettingsError: The address carries credentials, or litellm is not installed.
    """
    access = PlannerAccess.model_validate({"model": model, **settings})
    access.check()
    return access
