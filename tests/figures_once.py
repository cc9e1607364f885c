"""Figures drawn once: where a test is not about drawing, a figure of the same words is taken as it was drawn before.

Matplotlib takes a fourteenth of a second for each, and a report has nine, a demo two dozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hazardmill.reporting.svg import drawing

_draw = drawing._draw_svg
_drawn: dict[tuple[object, ...], str] = {}


def _draw_once(name: str, title: str, alt: str, height: float, paint: Callable[[Any], None], width: float) -> str:
    # All that a figure shows is in its words, and that this is so is tested.
    key = (name, title, alt, height, width)
    if key not in _drawn:
        _drawn[key] = _draw(name, title, alt, height, paint, width)
    return _drawn[key]


@pytest.fixture(scope="package", autouse=True)
def _figures_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_draw_svg", _draw_once)
        yield


@pytest.fixture
def drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure is drawn, for tests of how they are."""
    monkeypatch.setattr(drawing, "_draw_svg", _draw)
