"""Options and output that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from hazardmill.store.store import Store

P = ParamSpec("P")
R = TypeVar("R")


def json_option(function: Callable[P, R]) -> Callable[P, R]:
    """``--json``: the result as one JSON value on standard output."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(function)


def store_option(function: Callable[P, R]) -> Callable[P, R]:
    """``--store DIR``: by default the setting ``store``."""
    return click.option(
        "--store",
        "store_path",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of the store [default: setting `store`].",
    )(function)


def print_json(value: object) -> None:
    """Print a JSON value, one to the output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def open_store(path: Path | None, *, create: bool = False) -> Store:
    """The store at ``path``, or the one of the settings."""
    from hazardmill.settings import load_settings
    from hazardmill.store.store import Store

    return Store.open(path if path is not None else load_settings().store, create=create)


def named_values(values: tuple[str, ...], names: tuple[str, ...], option: str) -> dict[str, str]:
    """``NAME=VALUE`` options by name; a bare ``VALUE`` goes to every name of ``names``.

    Raises:
        click.BadParameter: A name is not among ``names``.
    """
    result: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if equals and name in names:
            result[name] = rest
        elif equals and name.isidentifier() and not Path(value).exists():
            raise click.BadParameter(
                f"{name} is not among the sources asked for ({', '.join(names)})", param_hint=option
            )
        else:
            result.update(dict.fromkeys(names, value))
    return result


def facts(wheres: tuple[str, ...]) -> dict[str, str]:
    """``--where NAME=VALUE`` options as a dictionary."""
    found: dict[str, str] = {}
    for where in wheres:
        name, equals, value = where.partition("=")
        if not equals:
            raise click.BadParameter(f"{where!r} is not NAME=VALUE", param_hint="--where")
        found[name] = value
    return found
