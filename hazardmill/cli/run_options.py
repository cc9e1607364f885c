"""Command-line options, made from the fields that declare them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin

import annotated_types
import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hazardmill.cli.options import FiniteRange, GroupedOption, grouped_option
from hazardmill.errors import UsageError
from hazardmill.run_options import GivenPrice, RunOption, describe_default, read_prices, run_options

P = ParamSpec("P")
R = TypeVar("R")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def options_from(
    model: type[BaseModel], *left_out: str, defaults: bool = True, aliases: Mapping[str, str] = MappingProxyType({})
) -> list[Decorator]:
    """Return the click options of a model's fields that carry a ``RunOption``, in the order of the fields.

    Args:
        model: The model that declares the fields.
        left_out: Names of fields to skip.
        defaults: Whether the help shows what holds where an option is not given.
        aliases: Second names of options with a fixed set of values, by field.
    """
    return [_option(*each, defaults, aliases.get(each[0])) for each in run_options(model) if each[0] not in left_out]


def apply(options: list[Decorator], function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command with options, which its help then lists in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def replay_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add ``--replay [STORE]``.

    Its value is None if it was not given, and empty for the store that the command works on.

    Returns:
        The decorated function.
    """
    return grouped_option(
        "Models",
        "--replay",
        is_flag=False,
        flag_value="",
        metavar="[STORE]",
        help="Answer from the ledger of this store, or of STORE; an unknown request stops the run.",
    )(function)


def read_given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, by field; a budget of ``none`` becomes None."""
    return lift_budget({name: value for name, value in options.items() if value not in (None, ())})


def lift_budget(values: dict[str, Any]) -> dict[str, Any]:
    """Return values of options in which a budget of ``none``, which is infinite until here, is None."""
    return {**values, "budget_usd": None} if values.get("budget_usd") == math.inf else values


def refuse_format_alone(exchange_format: str | None, exchange: Path | None) -> None:
    """Refuse a format that was given where there is no exchange folder: its files would never be written.

    Raises:
        UsageError: It was given, and there is no folder.
    """
    if exchange_format is not None and exchange is None:
        raise UsageError(
            f"the format {exchange_format} is for exchange folders, but no exchange folder is given",
            remedy="give --exchange with a folder, or leave out the format",
        )


def _option(name: str, field: FieldInfo, option: RunOption, defaults: bool, alias: str | None = None) -> Decorator:
    make = partial(click.option, cls=GroupedOption, group=option.group)
    flag, default = option.flag_of(name), describe_default(field, option) if defaults else None
    words = str(field.description) if default is None else f"{field.description}  [default: {default}]"
    kind = next(part for part in get_args(field.annotation) or (field.annotation,) if part is not type(None))
    if get_origin(field.annotation) is Literal:
        flags = (flag,) if alias is None else (flag, alias)
        return make(*flags, name, type=click.Choice(option.choices or get_args(field.annotation)), help=words)
    if get_origin(field.annotation) is tuple:
        return make(flag, name, multiple=True, metavar=option.metavar, help=f"{words}  [may be repeated]")
    if get_origin(field.annotation) is dict:
        words = f"{words}  [may be repeated]"
        return make(flag, name, multiple=True, callback=_read_prices, metavar=option.metavar, help=words)
    if kind is bool:
        return make(f"{flag}/--no-{flag[2:]}", name, default=None, help=words)
    if name == "budget_usd":
        return make(flag, name, callback=_read_usd, metavar=option.metavar, help=words)
    if kind is Path:
        folder = click.Path(
            path_type=Path,
            file_okay=option.is_file,
            dir_okay=not option.is_file,
            exists=not option.is_made,
            resolve_path=True,
        )
        return make(flag, name, type=folder, metavar=option.metavar, help=words)
    return make(flag, name, type=_number(kind, field) or str, metavar=option.metavar, help=words)


def _number(kind: object, field: FieldInfo) -> click.ParamType[Any] | None:
    """Return a number type with the bounds of the field; None if the field is not a number."""
    low: Any = next((each.ge for each in field.metadata if isinstance(each, annotated_types.Ge)), None)
    above: Any = next((each.gt for each in field.metadata if isinstance(each, annotated_types.Gt)), None)
    high: Any = next((each.le for each in field.metadata if isinstance(each, annotated_types.Le)), None)
    if kind is int:
        return click.IntRange(low, high)
    return FiniteRange(low if above is None else above, high, min_open=above is not None) if kind is float else None


def _read_prices(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, GivenPrice] | None:
    try:
        return read_prices(texts) or None
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from error


def _read_usd(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Read a sum of money above 0, in USD; ``none`` is infinity, which stands for no limit."""
    if text is None or text == "none":
        return None if text is None else math.inf
    try:
        usd = float(text)
    except ValueError:
        usd = math.nan
    if not 0 < usd < math.inf:
        raise click.BadParameter(f"{text!r} is neither an amount above 0 nor the word none", context, option)
    return usd
