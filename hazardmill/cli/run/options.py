"""The options that make a run's configuration, and the configuration they make."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from hazardmill.cli.options import FiniteRange, answer_limits, facts, named_values

if TYPE_CHECKING:
    from hazardmill.runs.config import RunConfig

P = ParamSpec("P")
R = TypeVar("R")


def _usd(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """A sum of money above 0; ``none`` is infinite: no limit."""
    if text is None or text == "none":
        return None if text is None else math.inf
    try:
        usd = float(text)
    except ValueError:
        usd = math.nan
    if not 0 < usd < math.inf:
        raise click.BadParameter(f"{text!r} is no sum above 0, nor the word none", context, option)
    return usd


def _shard(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    from hazardmill.errors import UsageError
    from hazardmill.ingest.shards import Shard

    try:
        return None if text is None else str(Shard.parse(text))
    except UsageError as error:
        raise click.BadParameter(f"{error.message}: {error.remedy}", context, option) from error


_LIMIT = click.option("--limit", "limits", multiple=True, metavar="[SOURCE=]N", help="At most so many records.")

_SETTINGS = (
    click.option("--model", help="Model of all stages, as litellm names it [default: setting `model`]."),
    click.option("--extract-model", help="Model of the extract stage."),
    click.option("--judge-model", help="Model of the judge stage."),
    click.option(
        "--fallback-model",
        "fallback_models",
        multiple=True,
        metavar="MODEL",
        help="Model to ask where that of a stage cannot answer; repeat for more, in order.",
    ),
    click.option(
        "--api-base", help="Address of an OpenAI-compatible server; no key in it, that goes in the environment."
    ),
    click.option(
        "--author-format",
        type=click.Choice(["python", "document"]),
        help="What the author writes: a Python module, or the document of which it is rendered.",
    ),
    click.option(
        "--structured/--no-structured",
        default=None,
        help="Whether the author's model is sent the schema of a document.",
    ),
    click.option(
        "--budget-usd",
        callback=_usd,
        metavar="USD",
        help="Most the run may spend, all its sessions together; `none` lifts the limit it was started with.",
    ),
    click.option(
        "--budget-id",
        metavar="NAME",
        help="Share the budget with the runs on this store that name it too; the last to begin sets its size.",
    ),
    click.option("--requests-per-minute", type=click.IntRange(1), help="Most requests sent in a minute."),
    click.option("--tokens-per-minute", type=click.IntRange(1), help="Most tokens, in and out, of a minute."),
    click.option(
        "--deadline",
        "deadline_s",
        type=FiniteRange(0, min_open=True),
        metavar="SECONDS",
        help="For one request, all attempts and pauses together; two attempts, if one may take longer [default: 600].",
    ),
    click.option(
        "--recordings",
        metavar="FOLDER",
        type=click.Path(path_type=Path, file_okay=False, exists=True, resolve_path=True),
        help="Where recorded answers are, for the model `recorded` [default: those that come with the sources].",
    ),
    *answer_limits,
    click.option("--jail", type=click.Choice(["auto", "full", "minimal"]), help="Jail profile."),
    click.option("--batch-size", type=click.IntRange(1, 1000), help="Records a batch."),
    click.option("--concurrency", type=click.IntRange(1, 1000), help="Records worked on, and requests sent, at once."),
    click.option(
        "--cross-check", type=click.FloatRange(0, 1), help="Share of accepted tasks shown to ENHSP and Tamer."
    ),
    click.option("--sample", type=click.IntRange(0), help="Which draw of every answer [default: 0]."),
    click.option("--search-limit", type=click.IntRange(1), help="Most expansions of the search for a task's plans."),
)

_SELECTION = (
    click.option("--source", "sources", multiple=True, required=True, help="Name of a source; repeat for several."),
    click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="[SOURCE=]PATH",
        help="File or folder to read the source's records from; without it, those in the store.",
    ),
    click.option(
        "--where", "wheres", multiple=True, metavar="[SOURCE:]NAME=VALUE", help="Only records with this fact."
    ),
    click.option(
        "--shard",
        metavar="K/N",
        callback=_shard,
        help="Of these, only the Kth of N shards, by record id: N runs, one a shard, share the work on one store.",
    ),
)

_REPLAY = click.option(
    "--replay",
    is_flag=False,
    flag_value="",
    metavar="[STORE]",
    help="Answer from the ledger of this store, or of STORE; an unknown request stops the run.",
)


def settings_options(function: Callable[P, R]) -> Callable[P, R]:
    """The options that a run can be resumed with."""
    return _with((_LIMIT, *_SETTINGS), function)


def generation_options(function: Callable[P, R]) -> Callable[P, R]:
    """The options that make the configuration of a new run."""
    return _with((*_SELECTION, _LIMIT, *_SETTINGS, _REPLAY), function)


def preview_options(function: Callable[P, R]) -> Callable[P, R]:
    """Those of a new run, but for how many records it takes."""
    return _with((*_SELECTION, *_SETTINGS, _REPLAY), function)


def _with(options: tuple[Callable[[Callable[P, R]], Callable[P, R]], ...], function: Callable[P, R]) -> Callable[P, R]:
    for option in reversed(options):
        function = option(function)
    return function


def new_config(
    sources: tuple[str, ...],
    inputs: tuple[str, ...],
    wheres: tuple[str, ...],
    limits: tuple[str, ...],
    replay: str | None,
    given: dict[str, Any],
) -> RunConfig:
    """The configuration of a new run: options, then settings (docs/settings.md), then defaults.

    Args:
        sources: Names of sources.
        inputs: ``[SOURCE=]PATH``.
        wheres: ``[SOURCE:]NAME=VALUE``.
        limits: ``[SOURCE=]N``.
        replay: Store to answer from; empty for the run's own.
        given: All other options by name; null or empty for those not given.

    Raises:
        click.UsageError, UsageError: Options do not go together.
        SettingsError: The settings are wrong.
    """
    from hazardmill.runs.config import RunInput
    from hazardmill.runs.config_from_settings import configure_run
    from hazardmill.settings import load_settings

    values = _given(given)
    shard = values.pop("shard", None)
    names = tuple(dict.fromkeys(sources))
    paths, most = named_values(inputs, names, "--input"), named_values(limits, names, "--limit")
    where = facts(wheres, names)
    items = [
        RunInput(source=name, path=_path(paths.get(name)), limit=_limit(most.get(name)), where=where[name], shard=shard)
        for name in names
    ]
    return configure_run(load_settings(), items, values, replay=replay)


def otherwise(config: RunConfig, limits: tuple[str, ...], given: dict[str, Any]) -> RunConfig:
    """A run's configuration with what options say otherwise.

    Raises:
        click.UsageError, UsageError: Options do not go together.
    """
    from hazardmill.runs.config_from_settings import live_backend, no_server, with_deadline

    values = with_deadline(_given(given), config.deadline_s)
    # Stages that had the author's model have its successor; a stage that had one of its own keeps it.
    author = values.pop("model", None) or config.models.author
    models = {
        stage: values.pop(f"{stage}_model", None) or (author if old == config.models.author else old)
        for stage, old in config.models.model_dump().items()
    }
    most = named_values(limits, tuple(item.source for item in config.inputs), "--limit")
    inputs = [
        item.model_copy(update={"limit": _limit(most[item.source])}) if item.source in most else item
        for item in config.inputs
    ]
    live = live_backend([*models.values(), *values.get("fallback_models", config.fallback_models)])
    if live != "litellm":
        if "api_base" in values:
            raise no_server(author)
        values["api_base"] = None
    if values.get("budget_usd", ...) is None:
        # A budget that is lifted is shared with nobody.
        values.setdefault("budget_id", None)
    backend = {"replay_backend": live} if config.backend == "replay" else {"backend": live, "replay_backend": live}
    return config.model_validate({**config.model_dump(), **values, **backend, "models": models, "inputs": inputs})


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; an infinite budget is none."""
    values = {name: value for name, value in options.items() if value not in (None, ())}
    if values.get("budget_usd") == math.inf:
        values["budget_usd"] = None
    return values


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is no number of records", param_hint="--limit")
    return int(text)
