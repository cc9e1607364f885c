"""The pages on money and yield, of a store of two months, beside sums that are asked for in another way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from factories.two_months import RUNS, name_run, write_two_months

from hazardmill.report.dashboard.links import PAGES
from hazardmill.report.dashboard.pages import draw_store_pages
from hazardmill.report.dashboard.writing import DashboardPanel
from hazardmill.store.store import Store

from .test_dashboard import grids

# A store of forty runs to write and to read: some seconds on a busy machine.
pytestmark = pytest.mark.full

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
"""A Friday."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return write_two_months(tmp_path_factory.mktemp("months") / "store", NOON)


@pytest.fixture(scope="module")
def pages(store: Store) -> dict[str, DashboardPanel]:
    return {page.key: page for page in draw_store_pages(store, NOON)}


def test_each_page_names_its_store_its_time_and_the_other_pages(pages: dict[str, DashboardPanel], store: Store) -> None:
    for key, page in pages.items():
        assert f"Drawn 2026-11-27 12:00:00 UTC from the store `{store.path}`." in page.markdown
        for other, title in PAGES.items():
            expected = f"**{title}**" if other == key else f"[{title}](../../artifacts/key/{other})"
            assert expected in page.markdown


def test_a_price_that_is_not_known_is_said_and_never_nought(pages: dict[str, DashboardPanel]) -> None:
    periods, by_model, *_ = grids(pages["page-cost"].markdown)
    assert [line[0] for line in periods[1:]] == ["Today", "This week", "Last 30 days"]
    assert [line[3:] for line in periods[1:]] == [["not bounded", "1"]] * 3
    (dear,) = [line for line in by_model if line[0] == "lab/large"]
    assert all(cell.endswith("+ 1 unknown") for cell in dear[1:])
    assert by_model[-1][0] == "all"


def test_an_offline_author_is_no_model_among_the_costs(pages: dict[str, DashboardPanel]) -> None:
    by_model = grids(pages["page-cost"].markdown)[1]
    assert ["offline-author, rules and no language model", "$0.00", "$0.00", "$0.00"] in by_model


def test_a_day_of_another_week_is_not_of_this_one(store: Store) -> None:
    # On Monday, this week is today: the runs of Friday are of the last 30 days alone.
    monday = NOON + timedelta(days=3)
    (cost,) = [page for page in draw_store_pages(store, monday) if page.key == "page-cost"]
    periods = grids(cost.markdown)[0]
    assert [line[1] for line in periods[1:3]] == ["0", "0"] and int(periods[3][1]) > 100


def test_runs_that_drift_are_named_with_their_median(pages: dict[str, DashboardPanel]) -> None:
    drifting, latest = grids(pages["page-task-cost"].markdown)
    assert [line[0].split(",")[0] for line in drifting[1:]] == [name_run("neiss", RUNS - 1)]
    assert drifting[1][4].startswith("2.9") and drifting[1][5] == "8 runs"
    rows = {line[0]: line for line in latest[1:]}
    assert rows["alfred"][4].startswith(("0.9", "1.0")) and "drifts" not in rows["alfred"][4]
    # A lower bound is compared with nothing, and neither is an unfinished run.
    bddl = rows["bddl"]
    assert bddl[2].startswith("at least") and bddl[4] == "-" and "(stopped)" in bddl[1]


def test_the_offline_runs_are_counted_among_all(pages: dict[str, DashboardPanel]) -> None:
    for key in ("page-task-cost", "page-yield"):
        assert "runs has answers of the offline author**" in pages[key].markdown
        assert "nothing was paid" not in pages[key].markdown.split("###")[0]


def test_a_yield_is_by_source_and_draft_with_every_loss_counted(pages: dict[str, DashboardPanel]) -> None:
    sources, losses, _, by_draft, *_ = grids(pages["page-yield"].markdown)
    # Five runs of ten records in thirty days; three of each ten are lost.
    assert sources[1] == ["alfred", "50", "35", "70.0 %", "70.0 %", "15 / 0"]
    assert sources[2] == ["bddl", "50", "33", "71.7 %", "70.9 %", "13 / 4"]
    assert [line for line in losses if line[0] == "alfred"] == [
        ["alfred", "execution failed", "no safe plan", "5", "10.0 %"],
        ["alfred", "no danger in it", "declined", "5", "10.0 %"],
        ["alfred", "quality failed", "entity", "5", "10.0 %"],
    ]
    assert by_draft[0] == ["Source", "Draft 1", "Draft 2", "Draft 3", "Draft 4", "Draft 5"]
    assert by_draft[1][:4] == ["alfred", "33.3 % of 45", "66.7 % of 30", "-"]


def test_an_empty_store_has_all_three_pages(tmp_path: Path) -> None:
    pages = draw_store_pages(Store.open(tmp_path / "store", create=True), NOON)
    assert [page.key for page in pages] == ["page-cost", "page-task-cost", "page-yield"]
    assert "There is no generation run yet." in pages[2].markdown
    assert grids(pages[0].markdown)[0][1] == ["Today", "0", "$0.00", "$0.00", "-"]
