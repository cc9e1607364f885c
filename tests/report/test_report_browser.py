"""The page of a report in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from hazardmill.report.html import write_report
from hazardmill.store.store import Store

from .browsing import opened
from .support import Shelf, mill

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_BOXES = """
() => [...document.querySelectorAll('figure > svg, figure.wide svg')].map(svg => {
    const box = svg.getBoundingClientRect();
    const outside = [...svg.querySelectorAll('text')].filter(text => {
        const words = text.getBoundingClientRect();
        return words.left < box.left - 1 || words.right > box.right + 1
            || words.top < box.top - 1 || words.bottom > box.bottom + 1;
    });
    return [svg.getAttribute('aria-label'), box.width, box.height, outside.map(text => text.textContent)];
})
"""
_TITLES = """
() => [...document.querySelectorAll('figure svg')].filter(svg => {
    const [title, ...others] = [...svg.querySelectorAll('text')].sort(
        (a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top
    ).map(text => text.getBoundingClientRect());
    return others.some(box => box.left < title.right && box.right > title.left && box.top < title.bottom - 2);
}).map(svg => svg.getAttribute('aria-label'))
"""
_COLOURS = """
() => [...new Set([...document.querySelectorAll('figure svg text')].map(text => getComputedStyle(text).fill))]
"""


@pytest.fixture(scope="module")
def pages(offline_store: Store, drawn_anew: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {
        "offline": write_report(offline_store, ["all"], folder / "offline.html"),
        "mill": write_report(Shelf(**mill()), ["r"], folder / "mill.html"),
        "empty": write_report(Shelf(), ["r"], folder / "empty.html"),
    }


@pytest.mark.full
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
@pytest.mark.parametrize("kind", ["offline", "mill", "empty"])
def test_figures_are_seen_whole_and_nothing_is_complained_of(
    kind: str, width: int, scheme: Literal["light", "dark"], pages: dict[str, Path], browser: Browser
) -> None:
    tab, complaints = opened(browser, pages[kind], width, scheme)
    found = tab.evaluate(_BOXES)
    assert len(found) == 9
    for words, wide, high, outside in found:
        assert words and wide > 300 and high > 70, words
        assert outside == [], words
    assert tab.evaluate(_TITLES) == []
    ink = {"light": "rgb(31, 35, 40)", "dark": "rgb(228, 231, 234)"}[scheme]
    assert ink in tab.evaluate(_COLOURS)
    # What is wider scrolls by itself; the page does not.
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth") is True
    assert complaints == []
    tab.close()


@pytest.mark.full
def test_the_numbers_of_each_figure_can_be_unfolded(pages: dict[str, Path], browser: Browser) -> None:
    tab, complaints = opened(browser, pages["offline"], 1280, "light")
    folded = tab.locator("figure details")
    assert folded.count() == 9
    for place in range(9):
        one = folded.nth(place)
        assert not one.locator("table").is_visible()
        one.locator("summary").click()
        assert one.locator("table").is_visible() and one.locator("tbody tr").count() > 0
    assert complaints == []
    tab.close()
