"""The configuration of a run: what is said for this one, then the settings, then what holds if nobody says anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import UsageError
from hazardmill.generation.models import Models
from hazardmill.llm.access import LiveBackend
from hazardmill.llm.requests import OFFLINE_MODEL, RECORDED_MODEL
from hazardmill.run_options import deadline_for
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.settings import Settings

_OURS: Final[dict[str, LiveBackend]] = {OFFLINE_MODEL: "offline", RECORDED_MODEL: "recorded"}
"""Models that no server is asked for, and who answers in their place."""

_CHOOSE: Final = (
    "choose one by --model (of a flow: `model`), or for all runs by the setting `model`: a language model as litellm "
    f"names it, such as openai/gpt-5-mini; or {RECORDED_MODEL}, which answers for the shipped samples without any model"
)


def configure_run(
    settings: Settings, inputs: Sequence[RunInput], given: Mapping[str, Any], *, replay: str | None = None
) -> RunConfig:
    """The configuration of a new run.

    Args:
        settings: What holds where ``given`` says nothing. Of a model that ``given`` names, the settings' other models
            and the address are not taken where they cannot go with it: offline-author and recorded ask nobody else.
        inputs: Its records.
        given: Fields of ``RunConfig`` by name, and ``model``, ``extract_model`` and ``judge_model``. What is missing is
            not said; a budget of null is none.
        replay: Store to answer from; empty for the run's own, null for no replay.

    Raises:
        UsageError: What was said does not go together, or no model is named.
    """
    values = dict(given)
    model = values.pop("model", None)
    asked = model or settings.model
    if asked is None:
        raise UsageError("no model is named", remedy=_CHOOSE)
    models = Models(
        extract=values.pop("extract_model", None) or settings.extract_model or asked,
        author=asked,
        judge=values.pop("judge_model", None) or settings.judge_model or asked,
    )
    said = {name: getattr(settings, name) for name in RunConfig.model_fields if name in settings.model_fields_set}
    chosen = {name: value for name, value in said.items() if value is not None}
    if model in _OURS and "fallback_models" not in values:
        chosen.pop("fallback_models", None)
    live = live_backend(
        [*models.model_dump().values(), *values.get("fallback_models", chosen.get("fallback_models", ()))]
    )
    address = values.pop("api_base", None)
    if live != "litellm":
        if address:
            raise no_server(models.author)
    else:
        address = address or settings.api_base
    values = fit_deadline(values, chosen.get("deadline_s"))
    if values.get("budget_usd", ...) is None:
        # A budget that is lifted is shared with nobody.
        chosen.pop("budget_id", None)
    return RunConfig.model_validate(
        {
            **chosen,
            "inputs": inputs,
            "backend": live if replay is None else "replay",
            "replay_backend": live,
            # Absolute: the run may be resumed from another folder.
            "replay_store": Path(replay).absolute() if replay else None,
            "models": models,
            "api_base": address,
            **values,
        }
    )


def fit_deadline(given: Mapping[str, Any], deadline_s: float | None) -> dict[str, Any]:
    """What is given for a run, where a deadline that was said before gives way to longer attempts.

    Args:
        given: Fields of ``RunConfig`` by name.
        deadline_s: The deadline that holds if ``given`` has none; null where nobody named one.
    """
    if "attempt_timeout" not in given or "deadline_s" in given or deadline_s is None:
        return dict(given)
    return {**given, "deadline_s": deadline_for(given["attempt_timeout"], deadline_s)}


def live_backend(models: Iterable[str]) -> LiveBackend:
    """The backend that asks these models.

    Raises:
        UsageError: No one backend can.
    """
    named = set(models)
    ours = sorted(named & _OURS.keys())
    if ours and len(named) > 1:
        raise UsageError(
            f"{ours[0]} cannot be mixed with other models",
            remedy="name a model for each stage: options --model, --extract-model, --judge-model, --fallback-model, or "
            "the settings of these names",
        )
    return _OURS[ours[0]] if ours else "litellm"


def no_server(model: str) -> UsageError:
    """The error of an address for a model that has none."""
    return UsageError(f"{model} asks no server", remedy="give --model with the address of one")
