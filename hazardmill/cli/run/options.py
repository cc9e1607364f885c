"""The options that make a run's configuration."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from hazardmill.cli.options import FiniteRange, answer_limits
from hazardmill.errors import UsageError
from hazardmill.ingest.shards import Shard

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
