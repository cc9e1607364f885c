"""The option that names a map of hazards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.hazards.map_reader import DEFAULT_MAP

NO_MAP: Final = "none"
SHIPPED: Final = "default"


def map_option(default: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that names a map.

    Args:
        default: The map if none is named; None if one must be.
    """
    return click.option(
        "--map",
        "map_name",
        metavar=f"MAP.yaml|{SHIPPED}|{NO_MAP}",
        required=default is None,
        default=default,
        show_default=default is not None,
        help="Map of hazards; default: the one that ships with hazardmill; none: the danger entries of the task.",
    )


def path_of_map(name: str) -> Path:
    """Return the file of a map as it was named."""
    return DEFAULT_MAP if name == SHIPPED else Path(name)
