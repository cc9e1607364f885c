"""Figures sketched once: where a test is not about drawing, one of equal words and values is taken as it was sketched.

A sketch is painted by the product on matplotlib's own axes, and has the words that are on it. To lay it out and to
render it would take three times as long: a fourteenth of a second; a report has nine figures, a demo two dozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import IO, Any

import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.text import Text

from hazardmill.reporting.svg import drawing

_draw, _print_svg = drawing._draw_svg, FigureCanvasSVG.print_svg
_drawn: dict[tuple[object, ...], str] = {}


def _draw_once(name: str, title: str, alt: str, height: float, paint: Callable[[Any], None], width: float) -> str:
    # What is painted is what the painter holds; values that have no text of their own are drawn anew each time.
    held = tuple(repr(cell.cell_contents) for cell in getattr(paint, "__closure__", None) or ())
    key = (name, title, alt, height, width, getattr(paint, "__qualname__", repr(paint)), held)
    if key not in _drawn:
        _drawn[key] = _draw(name, title, alt, height, paint, width)
    return _drawn[key]


def _sketch(canvas: FigureCanvasSVG, file: IO[str], **_: object) -> None:
    """Write the words on a figure, in the place of ``FigureCanvasSVG.print_svg``."""
    for axes in canvas.figure.axes:
        if axes.axison:
            # The words of ticks are put in when they are asked for.
            for axis in (axes.xaxis, axes.yaxis):
                axis.get_ticklabels()
    words = [text.get_text() for text in canvas.figure.findobj(Text) if text.get_visible() and text.get_text()]
    file.write("<svg >\n" + "".join(f"<text>{escape(line)}</text>\n" for line in words) + "</svg>\n")


def forget_figures() -> None:
    """Have every figure drawn once more."""
    _drawn.clear()


@contextmanager
def figures_sketched_once() -> Iterator[None]:
    """Within the block, a figure is sketched, and only if none like it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FigureCanvasSVG, "print_svg", _sketch)
        patch.setattr(drawing, "_draw_svg", _draw_once)
        yield


@pytest.fixture(scope="package", autouse=True)
def _figures_once() -> Iterator[None]:
    with figures_sketched_once():
        yield


@contextmanager
def figures_drawn() -> Iterator[None]:
    """Within the block, every figure is drawn, for tests of how they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FigureCanvasSVG, "print_svg", _print_svg)
        patch.setattr(drawing, "_draw_svg", _draw)
        yield


@pytest.fixture(scope="module")
def drawn_anew() -> Iterator[None]:
    """Figures are drawn in the rest of the module, and in fixtures that ask for this one."""
    with figures_drawn():
        yield
