"""The page of a story in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from hazardmill.report.why.build import build_story
from hazardmill.report.why.page import write_page
from hazardmill.store.store import Store

from .browsing import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_PLACES = "plans => plans.map(plan => plan.getBoundingClientRect().top)"


@pytest.fixture
def page(why_store: Store, tmp_path: Path) -> Path:
    return write_page(build_story(why_store, "notes:1", "first"), tmp_path / "why.html")


@pytest.mark.full
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_both_plans_are_seen_and_nothing_is_complained_of(
    width: int, scheme: Literal["light", "dark"], page: Path, browser: Browser
) -> None:
    tab, complaints = opened(browser, page, width, scheme)
    plans = tab.locator(".drawn .plan")
    unsafe, safe = plans.all_inner_texts()
    assert "carry bowl" in unsafe and "Danger fires because" in unsafe
    assert "reduce speed" in safe and "Danger fires because" not in safe
    colour = "element => getComputedStyle(element).backgroundColor"
    # The hash in the page's policy is that of its style: without it, the page would have none.
    assert tab.locator(".drawn .fires").first.evaluate(colour) != "rgba(0, 0, 0, 0)"
    assert (tab.locator("body").evaluate(colour) == "rgb(20, 23, 26)") is (scheme == "dark")
    first, second = plans.evaluate_all(_PLACES)
    assert (first == second) is (width == 1280)
    # What is wider scrolls by itself; the page does not.
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth") is True
    assert complaints == []
    tab.close()


@pytest.mark.full
def test_what_is_folded_can_be_unfolded_without_any_script(page: Path, browser: Browser) -> None:
    tab, complaints = opened(browser, page, 1280, "light")
    folded = tab.locator(".request details").first
    assert not folded.locator("pre").first.is_visible()
    folded.locator("summary").click()
    assert folded.locator("pre").first.is_visible()
    assert tab.locator("script").count() == 0
    assert complaints == []
    tab.close()
