"""The configuration of a run from command-line options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hazardmill.cli.options import read_facts, read_named_values
from hazardmill.cli.run_options import read_given, refuse_format_alone
from hazardmill.errors import UsageError
from hazardmill.ingest.sources.streams import is_stream
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.config_from_settings import change_config, configure_run
from hazardmill.runs.recipes.reading import absolute_path, read_recipe
from hazardmill.runs.recipes.recipe import RecipeSource
from hazardmill.settings import load_settings


def new_config(
    sources: tuple[str, ...],
    inputs: tuple[str, ...],
    wheres: tuple[str, ...],
    limits: tuple[str, ...],
    replay: str | None,
    given: dict[str, Any],
) -> RunConfig:
    """Return the configuration of a new run: options, then its recipe, settings (docs/settings.md), and defaults.

    Args:
        sources: Names of sources.
        inputs: ``[SOURCE=]PATH``.
        wheres: ``[SOURCE:]NAME=VALUE``.
        limits: ``[SOURCE=]N``.
        replay: Store to answer from; empty for the run's own, None for no replay.
        given: All other options by name, and ``recipe``, the path of one; None or empty if not given.

    Raises:
        UsageError: Options do not go together, or there is neither a source nor a recipe; some are click's.
        InputError: The recipe cannot be read, or is wrong.
        SettingsError: The settings are wrong.
    """
    values = read_given(given)
    shard, path = values.pop("shard", None), values.pop("recipe", None)
    if path is None and not sources:
        raise click.UsageError("Missing option '--source', or the name of a recipe.")
    recipe = None if path is None else read_recipe(path)
    entries = _choose(sources, () if recipe is None else recipe.sources)
    names = tuple(dict.fromkeys(each.source for each in entries))
    paths, most = read_named_values(inputs, names, "--input"), read_named_values(limits, names, "--limit")
    where = read_facts(wheres, names)
    settings = load_settings()
    if recipe is not None:
        settings, shard = recipe.over(settings), shard or recipe.shard
        values = {**recipe.answers, **values}
        replay = recipe.replayed if replay is None else replay
        # Absolute, as all paths of a recipe: the same command is the same run in any folder.
        paths = {
            name: text if is_stream(Path(text)) else str(absolute_path(Path(text))) for name, text in paths.items()
        }
    items = [
        RunInput(
            source=each.source,
            path=_path(paths.get(each.source)) or each.input,
            limit=_limit(most.get(each.source)) or each.limit,
            where={**each.where, **where[each.source]},
            shard=shard,
        )
        for each in entries
    ]
    config = configure_run(settings, items, values, replay=replay)
    refuse_format_alone(values.get("exchange_format"), config.exchange)
    return config if path is None else config.model_copy(update={"recipe": absolute_path(path)})


def _choose(names: Sequence[str], entries: Sequence[RecipeSource]) -> list[RecipeSource]:
    """Return the sources that options name, as the recipe has them; without options, all of the recipe."""
    if not names:
        return list(entries)
    chosen: list[RecipeSource] = []
    for name in dict.fromkeys(names):
        chosen += [each for each in entries if each.source == name] or [RecipeSource(source=name)]
    return chosen


def refuse_scenarios(config: RunConfig) -> None:
    """Refuse a configuration that makes scenarios, for commands that know tasks only.

    Raises:
        UsageError: It makes scenarios.
    """
    if config.kind != "task":
        raise UsageError(
            f"this command works for tasks only, not for --kind {config.kind}",
            remedy="leave out --kind, or start the run with a small --limit and look at it with `run list` and `why`",
        )


def override_config(config: RunConfig, limits: tuple[str, ...], given: dict[str, Any]) -> RunConfig:
    """Return a run's configuration with the given options changed.

    Args:
        config: The configuration that the run was started with.
        limits: ``[SOURCE=]N``.
        given: All other options by name; None or empty if not given.

    Raises:
        click.UsageError, UsageError: Options do not go together.
    """  # the helper makes a UsageError
    values = read_given(given)
    most = read_named_values(limits, tuple(item.source for item in config.inputs), "--limit")
    inputs = [
        item.model_copy(update={"limit": _limit(most[item.source])}) if item.source in most else item
        for item in config.inputs
    ]
    changed = change_config(config, values, inputs)
    refuse_format_alone(values.get("exchange_format"), changed.exchange)
    return changed


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is not a number of records", param_hint="--limit")
    return int(text)
