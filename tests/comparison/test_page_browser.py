"""The page in a real browser: it asks for nothing else, and fits a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from report.browsing import chromium, opened

from hazardmill.comparison.compare import compare
from hazardmill.comparison.figures import ComparisonOptions
from hazardmill.comparison.page import write_page
from hazardmill.store.store import Store

pytestmark = pytest.mark.full


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (390, "dark")])
def test_the_page_is_whole_by_itself_and_no_wider_than_its_window(
    width: int, scheme: str, compared: Store, tmp_path: Path
) -> None:
    page = write_page(compare(compared, "base", "other", how=ComparisonOptions(resamples=500)), tmp_path / "page.html")
    with chromium() as browser:
        tab, complaints = opened(browser, page, width, scheme)
        assert complaints == []
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert tab.locator("table").count() == 11
