"""Options that make the configuration of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from hazardmill.cli.options import grouped_option
from hazardmill.cli.run_options import Decorator, apply, options_from, replay_option
from hazardmill.errors import UsageError
from hazardmill.ingest.shards import Shard
from hazardmill.run_options import ModelOptions
from hazardmill.runs.config import RunConfig

P = ParamSpec("P")
R = TypeVar("R")


def _shard(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    try:
        return None if text is None else str(Shard.parse(text))
    except UsageError as error:
        raise click.BadParameter(f"{error.message}: {error.remedy}", context, option) from error


_LIMIT = grouped_option(
    "Records", "--limit", "limits", multiple=True, metavar="[SOURCE=]N", help="Maximum number of records to take."
)

_SELECTION = [
    grouped_option(
        "Records",
        "--source",
        "sources",
        multiple=True,
        help="Name of a source; repeat for several [default: all of the recipe].",
    ),
    grouped_option(
        "Records",
        "--input",
        "inputs",
        multiple=True,
        metavar="[SOURCE=]PATH",
        help="File or folder to read the source's records from [default: the records in the store].",
    ),
    grouped_option(
        "Records",
        "--where",
        "wheres",
        multiple=True,
        metavar="[SOURCE:]NAME=VALUE",
        help="Only records with this fact; repeat for several.",
    ),
    grouped_option(
        "Records",
        "--shard",
        metavar="K/N",
        callback=_shard,
        help="Only the Kth of N shards, by record id: N runs, one per shard, share the work on one store.",
    ),
]


_RECIPE = click.argument("recipe", required=False, type=click.Path(path_type=Path))
"""A file that holds what is worked on and how (docs/recipes.md)."""

TOGETHER = ("batch", "exchange", "exchange_format", "batch_max_age")
"""The options that send requests together."""


def _settings(*left_out: str, defaults: bool) -> list[Decorator]:
    return [*options_from(ModelOptions, defaults=defaults), *options_from(RunConfig, *left_out, defaults=defaults)]


def settings_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the options that a run can be resumed with."""
    # What is not given stays as it was when the run was started.
    return apply([_LIMIT, *_settings(defaults=False)], function)


def generation_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the options that make the configuration of a new run."""
    return apply([_RECIPE, *_SELECTION, _LIMIT, *_settings(defaults=True), replay_option], function)


def preview_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the options of a new run, except for the number of records and what makes it wait."""
    return apply([_RECIPE, *_SELECTION, *_settings(*TOGETHER, defaults=True), replay_option], function)


def acting_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the options of a run of dialogues that it shares with other runs: models, access, base domain and limits."""
    # One model speaks for all roles, and nothing runs in a jail.
    models = options_from(ModelOptions, "extract_model", "judge_model")
    left_out = ("kind", "author_format", "structured", "jail", "cross_check")
    return apply([*models, *options_from(RunConfig, *left_out), replay_option], function)
