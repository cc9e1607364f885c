"""The comparison as one self-contained page: no script, nothing loaded, and all text from models escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hazardmill import __version__
from hazardmill.comparison.compare import RunComparison
from hazardmill.comparison.render import grids, records_grid, sentences
from hazardmill.reporting.html import environment, write_text

_MOST: Final = 1000
"""Largest number of differing records that the page lists."""
_OWN: Final = Path(__file__).resolve().parent / "templates"


def render_page(found: RunComparison) -> str:
    """Return the page as HTML, with at most ``_MOST`` records that differ."""
    templates = environment(_OWN)
    return templates.get_template("comparison.html.j2").render(
        it=found,
        sentences=sentences(found),
        grids=list(grids(found)),
        records=records_grid(found, _MOST),
        version=__version__,
    )


def write_page(found: RunComparison, path: Path) -> Path:
    """Write the page, whole or not at all.

    Returns:
        ``path``.

    Raises:
        StoreError: The file cannot be written.
    """
    write_text(path, render_page(found), "page")
    return path
