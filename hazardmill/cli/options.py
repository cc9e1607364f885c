"""Options and output that several commands share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from hazardmill.errors import StoreError
from hazardmill.text.printable import escape_in_json
from hazardmill.text.standard_streams import can_show_all, decode_names

if TYPE_CHECKING:
    from hazardmill.run_options import OptionGroup
    from hazardmill.store.store import Store

P = ParamSpec("P")
R = TypeVar("R")


class FiniteRange(click.FloatRange):
    """A range of numbers that refuses ``nan`` and ``inf``."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail with a message for the option."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class GroupedOption(click.Option):
    """An option that the help of a ``GroupedCommand`` lists under a heading.

    Args:
        group: The heading; None for the other options.
    """

    def __init__(self, *arguments: Any, group: OptionGroup | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help lists its options in groups, in the order of their first options, and the others last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        others: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                group = getattr(parameter, "group", None)
                (others if group is None else groups.setdefault(group, [])).append(record)
        for heading, records in {**groups, "Options": others}.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def grouped_option(group: OptionGroup, *names: str, **options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:  # noqa: ANN401  # as click.option
    """Return an option that the help of a ``GroupedCommand`` lists under a heading."""
    return click.option(*names, cls=GroupedOption, group=group, **options)


def wait_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add ``--wait``, for commands that may send requests together.

    Returns:
        The decorated function.
    """
    return grouped_option(
        "Batches and exchange",
        "--wait",
        is_flag=True,
        help="With --batch or --exchange: wait until all answers are there, instead of ending with the run unfinished.",
    )(function)


def json_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add ``--json``, which prints the result as one JSON value on standard output."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(function)


def store_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add ``--store DIR``, which defaults to the setting ``store``."""
    return click.option(
        "--store",
        "store_path",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of the store [default: setting `store`].",
    )(function)


def print_json(value: object) -> None:
    """Print one JSON value to standard output.

    Numbers that JSON does not have (NaN, Infinity) become null, and characters that could control a terminal are
    written as escapes.

    Args:
        value: Anything that ``json`` can write; a ``Decimal`` becomes a number, any other object its text.
    """
    # Where the terminal's encoding lacks a character, its escape is still the same JSON.
    text = json.dumps(_in_json(value), indent=2, ensure_ascii=not can_show_all(), default=_text_of, allow_nan=False)
    click.echo(escape_in_json(text))


def _text_of(value: object) -> str:
    return decode_names(str(value))


def _in_json(value: object) -> object:
    if isinstance(value, str):
        return decode_names(value)
    if isinstance(value, dict):
        return {key: _in_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_in_json(item) for item in value]
    if isinstance(value, Decimal):
        # DuckDB returns the sum of an integer column as a Decimal.
        return int(value) if value == value.to_integral_value() else float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_lens(store: Store) -> Path | None:
    """Write the store's DuckDB file, which is a convenience that no command depends on.

    Returns:
        Its path; None if it could not be written, which is reported on standard error.
    """
    try:
        return store.write_lens()
    except StoreError as error:
        click.echo(f"no DuckDB file: {error}", err=True)
        return None


def read_named_values(values: tuple[str, ...], names: tuple[str, ...], option: str) -> dict[str, str]:
    """Return the values of a repeatable option ``[NAME=]VALUE``, by name.

    A later value replaces an earlier one; a name without a value is left out.

    Args:
        values: As given on the command line.
        names: The names that a value may be for; a bare ``VALUE`` is for all of them.
        option: The option, for the error message.

    Raises:
        click.BadParameter: A name is not in ``names``.
    """
    result: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if equals and name in names:
            result[name] = rest
        elif equals and name.isidentifier() and not Path(value).exists():
            raise click.BadParameter(
                f"{name} is not among the requested sources ({', '.join(names)})", param_hint=option
            )
        else:
            result.update(dict.fromkeys(names, value))
    return result


def read_facts(wheres: tuple[str, ...], names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Read the options ``--where [SOURCE:]NAME=VALUE``, by source.

    Args:
        wheres: As given on the command line.
        names: The sources that were asked for; a fact without a source is for all of them.

    Returns:
        For every source in ``names`` its facts, by name.

    Raises:
        click.BadParameter: An option has no value, or its source is not in ``names``.
    """
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for where in wheres:
        fact, equals, value = where.partition("=")
        if not equals:
            raise click.BadParameter(f"{where!r} is not NAME=VALUE", param_hint="--where")
        source, colon, own = fact.partition(":")
        if colon and source not in found:
            raise click.BadParameter(
                f"{source} is not among the requested sources ({', '.join(names)})", param_hint="--where"
            )
        for name in (source,) if colon else names:
            found[name][own if colon else fact] = value
    return found
