"""The configuration of a run, from what is given for this run, then the settings, then the defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import UsageError
from hazardmill.generation.models import Models
from hazardmill.llm.access import LiveBackend
from hazardmill.llm.backends.plugin import plugin_backend_of
from hazardmill.llm.requests import OFFLINE_MODEL, RECORDED_MODEL
from hazardmill.resources import prompts_folder
from hazardmill.run_options import deadline_for
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.scenarios.reading import read_domain
from hazardmill.settings import Settings, override_prices, replaced_channel

_OURS: Final[dict[str, LiveBackend]] = {OFFLINE_MODEL: "offline", RECORDED_MODEL: "recorded"}
"""Models that need no server, and the backend that answers for each."""

_CHOOSE: Final = (
    "name one with --model (in a flow: `model`), or for all runs in the setting `model`: a language model as litellm "
    f"names it, such as openai/gpt-5-mini; or {RECORDED_MODEL}, which answers for the shipped samples without any model"
)


def configure_run(
    settings: Settings, inputs: Sequence[RunInput], given: Mapping[str, Any], *, replay: str | None = None
) -> RunConfig:
    """Return the configuration of a new run.

    Args:
        settings: The values for what ``given`` lacks. If ``given`` names a model that needs no server (offline-author
            or recorded), the fallback models and the address of the settings are ignored.
        inputs: The records of the run.
        given: Fields of ``RunConfig`` by name, and ``model``, ``extract_model`` and ``judge_model``. A missing field
            was not given; a budget of None means no budget.
        replay: Store to answer from; empty for the run's own, None for no replay.

    Raises:
        UsageError: The values do not go together, or no model is named.
    """  # noqa: DOC501  # the helper makes a UsageError
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
    if live in _OURS.values():
        if address:
            raise no_server(models.author)
    else:
        address = address or settings.api_base
    if live != "litellm":
        _drop_channel(chosen)
    if replay is not None:
        _drop_channel(chosen)
    chosen |= replaced_channel(values)
    if isinstance(values.get("prices"), Mapping):
        values["prices"] = override_prices(settings.prices, values["prices"])
    values = fit_deadline(values, chosen.get("deadline_s"))
    if values.get("budget_usd", ...) is None:
        # Without a limit there is nothing to share.
        chosen.pop("budget_id", None)
    return with_base_domain(
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


def change_config(config: RunConfig, given: Mapping[str, Any], inputs: Sequence[RunInput] = ()) -> RunConfig:
    """Return the configuration of a run that exists with the given options changed.

    Args:
        config: The configuration that the run was started with.
        given: Fields of ``RunConfig`` by name, and ``model``, ``extract_model`` and ``judge_model``. A missing field
            was not given; a budget of None means no budget.
        inputs: Other records than those of the run; empty for these.

    Raises:
        UsageError: The values do not go together.
        ValidationError: A value cannot be used.
    """  # noqa: DOC501  # helpers make a UsageError, and pydantic a ValidationError
    values = fit_deadline(given, config.deadline_s)
    if isinstance(values.get("prices"), Mapping):
        values["prices"] = override_prices(config.prices, values["prices"])
    # A new model replaces the old one in all stages that shared it; a stage with a model of its own keeps that.
    author = values.pop("model", None) or config.models.author
    models = {
        stage: values.pop(f"{stage}_model", None) or (author if old == config.models.author else old)
        for stage, old in config.models.model_dump().items()
    }
    live = live_backend([*models.values(), *values.get("fallback_models", config.fallback_models)])
    if live != "litellm":
        if "api_base" in values and not config.model_copy(update={"backend": live}).asks_provider:
            raise no_server(author)
        # How another model was reached; a package's backend that was asked before may have the address.
        address = config.api_base if live == config.backend else None
        values = {"batch": False, "exchange": None, "api_base": address, **values}
    if values.get("budget_usd", ...) is None:
        # Without a limit there is nothing to share.
        values.setdefault("budget_id", None)
    backend = {"replay_backend": live} if config.backend == "replay" else {"backend": live, "replay_backend": live}
    return config.model_validate(
        {
            **config.model_dump(),
            **replaced_channel(values),
            **values,
            **backend,
            "models": models,
            "inputs": inputs or config.inputs,
        }
    )


def with_base_domain(values: Mapping[str, Any]) -> RunConfig:
    """Return a configuration with the text of its base domain, which a run of scenarios keeps.

    Args:
        values: Fields of ``RunConfig`` by name.

    Raises:
        PlanningInputError: The domain cannot be read, or has no action.
        SettingsError: The installation is incomplete.
    """
    config = RunConfig.model_validate(values)
    if config.kind == "task":
        return config
    path = config.base or prompts_folder() / "scenario" / "household.pddl"
    read_domain(path)
    return config.model_copy(update={"base_domain": path.read_text(encoding="utf-8-sig")})


def fit_deadline(given: Mapping[str, Any], deadline_s: float | None) -> dict[str, Any]:
    """Return the given options, with a longer deadline if the attempts given would not fit into the present one.

    Args:
        given: Fields of ``RunConfig`` by name.
        deadline_s: The deadline in force if ``given`` has none, in seconds; None if nobody set one.
    """
    if "attempt_timeout" not in given or "deadline_s" in given or deadline_s is None:
        return dict(given)
    return {**given, "deadline_s": deadline_for(given["attempt_timeout"], deadline_s)}


def _drop_channel(settings: dict[str, Any]) -> None:
    """Leave out how requests are sent together, which is for models: settings hold for all runs."""
    for name in ("batch", "exchange"):
        settings.pop(name, None)


def live_backend(models: Iterable[str]) -> LiveBackend:
    """Return the backend that can ask all of these models.

    Raises:
        UsageError: No single backend can.
    """
    named = dict.fromkeys(models)
    backends = {model: _OURS.get(model) or plugin_backend_of(model) or "litellm" for model in named}
    alone = sorted(model for model, backend in backends.items() if backend != "litellm")
    if alone and (len(set(backends.values())) > 1 or (alone[0] in _OURS and len(named) > 1)):
        raise UsageError(
            f"{alone[0]} cannot be mixed with other models",
            remedy="name a model for each stage, with --model, --extract-model, --judge-model and --fallback-model, or "
            "with the settings of these names",
        )
    return next(iter(backends.values()), "litellm")


def no_server(model: str) -> UsageError:
    """Return the error for an address given with a model that asks no server."""
    return UsageError(
        f"an API address was given, but {model} does not use a server",
        remedy="give --model the name of a model on that server, or leave out --api-base",
    )
