"""Options that the commands of an evaluation share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, ParamSpec, TypeVar

import click
from pydantic import JsonValue

from hazardmill.cli.options import FiniteRange
from hazardmill.cli.run_options import apply, lift_budget, options_from, refuse_format_alone, replay_option
from hazardmill.errors import UsageError
from hazardmill.run_options import AccessOptions
from hazardmill.settings import load_settings
from hazardmill.statistics.bootstrap import RESAMPLES

ANYONE: Final = "openai/anyone"
"""Name of whoever answers an exchange folder, if nobody says."""

P = ParamSpec("P")
R = TypeVar("R")


def release_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the release to evaluate on, and which of its tasks."""
    for option in (
        click.option("--split", type=click.Choice(["train", "validation", "test"]), help="Only tasks of this split."),
        click.option(
            "--release",
            "release_name",
            required=True,
            metavar="FOLDER|ORG/NAME",
            help="Folder of a release, or a dataset on a hub.",
        ),
    ):
        function = option(function)
    return function


def output_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add where results are written, and how the bootstrap draws."""
    for option in (
        click.option(
            "--resamples",
            type=click.IntRange(100),
            default=RESAMPLES,
            show_default=True,
            help="Resamples of the bootstrap.",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the bootstrap."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder for rows and figures [default: a folder in evaluations/, named by a hash of everything that "
            "determines them].",
        ),
    ):
        function = option(function)
    return function


def figures_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add how intervals are computed, and where results are written."""
    clustered = click.option(
        "--cluster",
        type=click.Choice(["task", "source"]),
        default="task",
        show_default=True,
        help="What the bootstrap draws: tasks, or whole sources.",
    )
    return clustered(output_options(function))


def asking_options(function: Callable[P, R], aliases: Mapping[str, str] = MappingProxyType({})) -> Callable[P, R]:
    """Add how a model is asked, and within which limits.

    Args:
        function: The command.
        aliases: Second names of options, by field.

    Returns:
        The decorated command.
    """
    of_prompt = [
        click.option("--temperature", type=FiniteRange(0), help="Temperature, instead of the prompt's."),
        click.option(
            "--max-tokens",
            type=click.IntRange(1),
            help="Maximum number of tokens of an answer, instead of the prompt's.",
        ),
    ]
    return apply(
        [*of_prompt, *options_from(AccessOptions, "fallback_models", "budget_id", aliases=aliases), replay_option],
        function,
    )


def refuse_given(options: Mapping[str, str]) -> None:
    """Refuse options that apply only when a model is asked, where none is.

    Args:
        options: Parameter of the current command to its option.

    Raises:
        UsageError: One of them was given.
    """
    context = click.get_current_context()
    for name, option in options.items():
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(f"{option} applies only when a model is asked", remedy=f"leave out {option}")


def read_access(
    replay: str | None, temperature: float | None, max_tokens: int | None, asked: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, JsonValue]]:
    """Read the options that ``asking_options`` added.

    Returns:
        Two mappings: fields of the configuration, where settings fill in what was not given; and what replaces
            parameters of the prompt.

    Raises:
        UsageError: A format of exchange folders was given, and there is no folder.
        SettingsError: The settings are wrong.
    """
    chosen = lift_budget(load_settings().fill(asked))
    refuse_format_alone(asked.get("exchange_format"), chosen.get("exchange"))
    if replay is not None:
        chosen |= {"backend": "replay", "replay_store": Path(replay).absolute() if replay else None}
    given: dict[str, JsonValue] = {"temperature": temperature, "max_tokens": max_tokens}
    return chosen, {name: value for name, value in given.items() if value is not None}
