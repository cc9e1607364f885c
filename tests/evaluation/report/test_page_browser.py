"""The page in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from report.browsing import opened

from hazardmill.evaluation.report.contents import gather
from hazardmill.evaluation.report.page import render_page

from ..safel.safel_results import of_every_test, written_safel
from .conftest import HOW
from .evaluations import HOSTILE, STAND_IN, everything, row, scored, sizes, written

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.full

BOXES = """
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
COLOURS = """
() => [...new Set([...document.querySelectorAll('figure svg text')].map(text => getComputedStyle(text).fill))]
"""
BOARD = """
() => [...document.querySelectorAll('.board')].map(board => {
    const out = [...board.querySelectorAll('th, td, caption')].filter(cell => {
        const box = cell.getBoundingClientRect();
        return box.width > 0 && (box.left < -1 || box.right > document.documentElement.clientWidth + 1);
    });
    const words = cell => [...cell.childNodes].filter(node => node.textContent.trim()).map(node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect();
    });
    const beside = [...board.querySelectorAll('td.figure')].map(words).filter(
        ([rate, ...below]) => below.some(box => box.top < rate.bottom - 2 || box.height > 1.9 * rate.height)
    );
    return [board.scrollWidth <= board.clientWidth, out.map(cell => cell.textContent), beside.length,
            board.querySelectorAll('.below').length];
})
"""
FIGURES = {"whole": 14, "hostile": 9, "stand-ins": 3}


@pytest.fixture(scope="module")
def pages(drawn_anew: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    answers = ["(slow_down)", "(fly moon)", "I'm sorry, but I can't help with that.", HOSTILE, "(carry kitchen table)"]
    name = f"_{HOSTILE} {'long' * 30}"
    hostile = [
        written(folder / "h", scored({name: answers})),
        written_safel(folder / "hs", of_every_test([name, f"{name}{name}"]), test="goal", missing=123_456),
    ]
    # Two answers per task give a column of pass^k; models that agree on all tasks have Wilson's intervals.
    models = ("provider/model-with-a-long-name-405b-instruct-2507", "bee", "never-answers")
    several = [
        row(model, f"t{task}", outcome, sample=sample)
        for model, outcome in zip(models, ("safe", "danger", "grammar"), strict=True)
        for task in range(14)
        for sample in (0, 1)
    ]
    contents = {
        "whole": gather([everything(folder / "r")], sizes(folder / "sizes.csv"), None, HOW),
        "hostile": gather(hostile, None, None, HOW),
        "several": gather([written(folder / "v", several)], None, None, HOW),
        "stand-ins": gather([written(folder / "s", [row(STAND_IN, "t1", "danger")])], None, None, HOW),
    }
    for name, each in contents.items():
        (folder / f"{name}.html").write_text(render_page(each))
    return {name: folder / f"{name}.html" for name in contents}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("kind", ["whole", "hostile", "stand-ins"])
def test_figures_are_seen_whole_and_nothing_is_complained_of(
    kind: str, width: int, scheme: Literal["light", "dark"], pages: dict[str, Path], browser: Browser
) -> None:
    tab, complaints = opened(browser, pages[kind], width, scheme)
    found = tab.evaluate(BOXES)
    assert len(found) == FIGURES[kind]
    for words, wide, high, outside in found:
        assert words and wide > 300 and high > 70, words
        assert outside == [], words
    ink = {"light": "rgb(31, 35, 40)", "dark": "rgb(228, 231, 234)"}[scheme]
    assert ink in tab.evaluate(COLOURS)
    # What is wider scrolls by itself; the page does not, folded or not.
    for unfolded in (False, True):
        if unfolded:
            tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth") is True
    assert complaints == []
    tab.close()


@pytest.mark.parametrize("width", [1280, 760, 390])
@pytest.mark.parametrize("kind", ["whole", "hostile", "several"])
def test_the_leaderboard_fits_its_page_with_intervals_below_the_rates(
    kind: str, width: int, pages: dict[str, Path], browser: Browser
) -> None:
    tab, _ = opened(browser, pages[kind], width, "light")
    boards = tab.evaluate(BOARD)
    assert boards
    for fits, outside, beside, below in boards:
        assert fits and outside == [] and beside == 0 and below > 5
    # The name of each rate is seen: in the head of the table, or above the rate.
    assert tab.locator(".board thead").first.is_visible() is (width == 1280)
    tab.close()


def test_a_trace_can_be_unfolded(pages: dict[str, Path], browser: Browser) -> None:
    tab, _ = opened(browser, pages["whole"], 1280, "light")
    sample = tab.locator("article").first
    assert not sample.locator("table").is_visible()
    sample.locator("summary").click()
    assert sample.locator("table").is_visible() and sample.locator("tbody tr.fires").count() == 1
    tab.close()
