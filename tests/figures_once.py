"""Figures drawn once: where a test is not about drawing, one of equal words and values is taken as it was drawn.

Matplotlib takes a fourteenth of a second for each, and a report has nine, a demo two dozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hazardmill.reporting.svg import drawing

_draw = drawing._draw_svg
_drawn: dict[tuple[object, ...], str] = {}


def _draw_once(name: str, title: str, alt: str, height: float, paint: Callable[[Any], None], width: float) -> str:
    # What is painted is what the painter holds; values that have no text of their own are drawn anew each time.
    held = tuple(repr(cell.cell_contents) for cell in getattr(paint, "__closure__", None) or ())
    key = (name, title, alt, height, width, getattr(paint, "__qualname__", repr(paint)), held)
    if key not in _drawn:
        _drawn[key] = _draw(name, title, alt, height, paint, width)
    return _drawn[key]


def forget_figures() -> None:
    """Have every figure drawn once more."""
    _drawn.clear()


@contextmanager
def figures_drawn_once() -> Iterator[None]:
    """Within the block, a figure is drawn only if none like it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_draw_svg", _draw_once)
        yield


@pytest.fixture(scope="package", autouse=True)
def _figures_once() -> Iterator[None]:
    with figures_drawn_once():
        yield


@pytest.fixture
def drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure is drawn, for tests of how they are."""
    monkeypatch.setattr(drawing, "_draw_svg", _draw)
