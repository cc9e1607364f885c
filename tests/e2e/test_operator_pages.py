"""The six pages of an operator, drawn by a real worker, opened in a real browser, read beside SQL over the Parquet.

With ``HAZARDMILL_SCREENSHOTS=FOLDER`` the pages are written there as ``page-*.png``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pytest
from factories.two_months import RECORDS, RUNS, SOURCES, UNDER_WAY, WAITING, name_run, write_two_months
from report.browsing import chromium

from e2e.prefect_server import Prefect, served, until
from e2e.prefect_uis import SHOWN_MS, UIS, keep_page, open_ui
from hazardmill.report.dashboard.links import PAGES
from tests.prefect_database import deployed_database

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

# A server, a worker and a browser to start, and pages to draw: a busy machine takes its time.
pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

ADDRESS: Final = "https://reports.example/mill"


@dataclass(frozen=True)
class Lab:
    """A server with its pages, and the store that they are about."""

    prefect: Prefect
    store: Path
    failed: str
    """A flow run that failed before it had a run."""

    def ask(self, table: str, sql: str) -> list[tuple[Any, ...]]:
        """Ask the files of a table, which ``rows`` stands for."""
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            files = f"read_parquet('{self.store}/{table}/*.parquet', union_by_name = true)"
            return connection.execute(sql.replace("rows", files)).fetchall()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Lab]:
    """A store of two months, flow runs as they would have left them, and pages drawn by the deployment."""
    folder = tmp_path_factory.mktemp("operator")
    path = folder / "generated" / "store"
    store = write_two_months(path, datetime.now(UTC))
    extra = {
        "HAZARDMILL_STORE": str(path),
        "HAZARDMILL_PAGES_URL": ADDRESS,
        "PREFECT_UI_STATIC_DIRECTORY": str(folder / "ui"),
    }
    with ExitStack() as stack:
        prefect = stack.enter_context(served(folder, project, extra, deployed_database(tmp_path_factory, project)))
        # Somebody works on it, which is all that a page can know of the process that does.
        held = store.hold(UNDER_WAY)
        assert held is not None
        stack.callback(held.release)
        # With a file that is not there, as a person would mistype it.
        failed = prefect.start_run("ingest/default", path="sources/nowhere")
        assert prefect.ended(failed)["type"] == "FAILED"
        deployment = prefect.deployment("generate/bddl")["id"]
        stopped = _flow_run(prefect, deployment, "bddl lab/large", name_run("bddl", RUNS - 1))
        said = {"type": "COMPLETED", "name": "BudgetReached", "message": "the budget of $0.1 is reached"}
        prefect.post(f"/flow_runs/{stopped}/set_state", state=said, force=True)
        working = _flow_run(prefect, prefect.deployment("generate/normbank")["id"], "normbank lab/middle", UNDER_WAY)
        prefect.post(f"/flow_runs/{working}/set_state", state={"type": "RUNNING", "name": "Running"}, force=True)
        said = "4 of 10 records, 1.4 records/s, $0.42, about 11 min left"
        prefect.post(
            "/artifacts/", key="progress-normbank", type="progress", data=40.0, description=said, flow_run_id=working
        )
        drawn = prefect.ended(prefect.start_run("publish/default", run_id=name_run("neiss", RUNS - 1)))
        assert drawn["type"] == "COMPLETED", drawn
        yield Lab(prefect, path, failed)


def _flow_run(prefect: Prefect, deployment: str, name: str, run_id: str) -> str:
    """A flow run that no worker takes, as one of a deployment that began would be named and tagged."""
    state = {"type": "PENDING", "name": "Pending"}
    made = prefect.post(f"/deployments/{deployment}/create_flow_run", state=state, tags=[f"run:{run_id}"], name=name)
    return str(made["id"])


@pytest.fixture(scope="module")
def browser(lab: Lab) -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="module", params=UIS)
def tabs(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, Page]]]:
    """Every page, each opened by one click from the description of a deployment, in one of the UIs."""
    ui = request.param
    context = open_ui(browser, lab.prefect.address, ui)
    deployment = lab.prefect.deployment("generate/neiss")["id"]
    yield ui, {key: _click(context, lab, ui, deployment, key) for key in PAGES}
    context.close()


def _click(context: BrowserContext, lab: Lab, ui: str, deployment: str, key: str) -> Page:
    tab = context.new_page()
    tab.goto(f"{lab.prefect.address}{UIS[ui]}/deployments/deployment/{deployment}?tab=Description", timeout=SHOWN_MS)
    tab.get_by_role("link", name=PAGES[key], exact=True).click(timeout=SHOWN_MS)
    opened = _wait(context, f"{lab.prefect.address}{UIS[ui]}/artifacts/key/{key}")
    opened.wait_for_selector("text=Drawn 20", timeout=SHOWN_MS)
    return opened


def _wait(context: BrowserContext, address: str) -> Page:
    """The tab with an address; the older UI opens a new one."""

    def look() -> Page | None:
        context.pages[0].wait_for_timeout(50)
        return next((tab for tab in context.pages if tab.url == address), None)

    return until(look, address)


def _tables(tab: Page) -> list[list[list[str]]]:
    found = []
    for table in tab.locator("table").all():
        rows = [line.locator("th, td").all_text_contents() for line in table.locator("tr").all()]
        found.append([[" ".join(cell.split()) for cell in line] for line in rows])
    return found


def _drawn(tab: Page) -> datetime:
    said = re.search(r"Drawn (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC", tab.inner_text("body"))
    assert said
    return datetime.strptime(said[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)


def _dollars(cell: str) -> float:
    return float(cell.split(" + ")[0].removeprefix("at least ").lstrip("$").replace(",", ""))


def test_what_it_cost_is_what_the_ledger_says(tabs: tuple[str, dict[str, Page]], lab: Lab) -> None:
    ui, pages = tabs
    tab = pages["page-cost"]
    today = _drawn(tab).replace(hour=0, minute=0, second=0)
    begins = {
        "Today": today,
        "This week": today - timedelta(days=today.weekday()),
        "Last 30 days": today - timedelta(days=29),
    }
    periods, by_model, by_source, by_stage = _tables(tab)
    for (name, since), line in zip(begins.items(), periods[1:], strict=True):
        ((attempts, usd, unknown),) = lab.ask(
            "llm_calls",
            f"SELECT count(*), coalesce(sum(usd), 0), count(*) - count(usd) FROM rows"
            f" WHERE epoch_us(\"at\") >= epoch_us(TIMESTAMPTZ '{since}')",
        )
        assert line[0] == name and line[1] == f"{attempts:,}" and line[4] == (str(unknown) if unknown else "-")
        assert _dollars(line[2]) == pytest.approx(usd, abs=0.006)
    for table, column in (
        (by_model, "CASE WHEN model_answered = 'offline-author' THEN model_answered ELSE model_sent END"),
        (by_source, "split_part(record_id, ':', 1)"),
        (by_stage, "stage"),
    ):
        sums = f"SELECT {column}, sum(usd), count(*) - count(usd) FROM rows"
        sql = f"{sums} WHERE epoch_us(\"at\") >= epoch_us(TIMESTAMPTZ '{begins['Last 30 days']}') GROUP BY ALL"
        expected = {name: (usd, unknown) for name, usd, unknown in lab.ask("llm_calls", sql)}
        shown = {line[0].split(",")[0]: line[3] for line in table[1:-1]}
        assert shown.keys() == expected.keys()
        for name, (usd, unknown) in expected.items():
            assert _dollars(shown[name]) == pytest.approx(usd, abs=0.006)
            assert ("+ 1 unknown" in shown[name]) is (unknown == 1)
    assert len(by_source) == len(SOURCES) + 2
    keep_page(tab, f"page-cost-{ui}")


def test_what_a_task_costs_and_which_run_drifts(tabs: tuple[str, dict[str, Page]], lab: Lab) -> None:
    ui, pages = tabs
    tab = pages["page-task-cost"]
    costs = dict(
        (run_id, usd) for run_id, usd in lab.ask("llm_calls", "SELECT run_id, sum(usd) FROM rows GROUP BY run_id")
    )
    made = dict(lab.ask("tasks", "SELECT run_id, count(*) FROM rows GROUP BY run_id"))
    drifting, latest = _tables(tab)
    names = [name_run("neiss", number) for number in range(RUNS)]
    per_task = [costs[name] / made[name] for name in names]
    median = sorted(per_task[:-1])
    expected = (median[3] + median[4]) / 2
    (line,) = drifting[1:]
    assert line[0].startswith(names[-1]) and line[1] == "neiss"
    assert _dollars(line[2]) == pytest.approx(per_task[-1], rel=0.01)
    assert _dollars(line[3]) == pytest.approx(expected, rel=0.01)
    assert line[4] == f"{per_task[-1] / expected:.2f}, drifts"
    assert [row[0] for row in latest[1:]] == list(SOURCES)
    figures = tab.evaluate("[...document.images].filter(i => i.src.startsWith('data:')).map(i => i.naturalWidth)")
    assert len(figures) == len(SOURCES) and min(figures) > 100
    keep_page(tab, f"page-task-cost-{ui}")


def test_the_yield_is_that_of_the_outcomes(tabs: tuple[str, dict[str, Page]], lab: Lab) -> None:
    ui, pages = tabs
    tab = pages["page-yield"]
    since = (_drawn(tab) - timedelta(days=30)).isoformat()
    mine = lab.ask(
        "runs",
        f"SELECT run_id FROM rows GROUP BY run_id HAVING epoch_us(min(\"at\")) >= epoch_us(TIMESTAMPTZ '{since}')",
    )
    runs = ", ".join(f"'{run_id}'" for (run_id,) in mine)
    sources, losses, *_ = _tables(tab)
    for line in sources[1:-1]:
        where = f"source = '{line[0]}' AND run_id IN ({runs})"
        ((ended, accepted),) = lab.ask(
            "outcomes", f"SELECT count(*), count(*) FILTER (outcome = 'accepted') FROM rows WHERE {where}"
        )
        assert line[2] == str(accepted) and line[3] == f"{100 * accepted / ended:.1f} %"
        reasons = lab.ask(
            "outcomes", f"SELECT reason, count(*) FROM rows WHERE {where} AND outcome != 'accepted' GROUP BY reason"
        )
        shown = {row[2].replace(" ", "_"): row[3] for row in losses if row[0] == line[0]}
        assert shown == {reason: str(number) for reason, number in reasons}
    assert "has answers of the offline author" in tab.inner_text("body")
    keep_page(tab, f"page-yield-{ui}")


def test_what_runs_says_how_far_and_how_long_yet(tabs: tuple[str, dict[str, Page]]) -> None:
    ui, pages = tabs
    tab = pages["page-running"]
    (table,) = _tables(tab)
    (line,) = [row for row in table if row[1] == UNDER_WAY]
    assert line[0] == "normbank lab/middle" and line[2] == "4 of 10 records" and line[3] == "about 11 min left"
    assert line[5] == "$0.00800"
    href = str(tab.get_by_role("link", name="4 of 10 records").get_attribute("href"))
    assert re.fullmatch(r"\.\./\.\./artifacts/artifact/[0-9a-f-]{36}", href)
    keep_page(tab, f"page-running-{ui}")


def test_what_failed_says_what_to_type(tabs: tuple[str, dict[str, Page]], lab: Lab) -> None:
    ui, pages = tabs
    tab = pages["page-failed"]
    commands = [" ".join(text.split()) for text in tab.locator("pre").all_text_contents()]
    stopped = name_run("bddl", RUNS - 1)
    assert f"prefect deployment run generate/bddl -p run_id={stopped}" in commands
    assert f"prefect flow-run retry {lab.failed}" in commands
    said = tab.inner_text("body")
    assert f"4 of {RECORDS} records left" in said and "sources/nowhere" in said
    assert UNDER_WAY not in said and WAITING not in said
    keep_page(tab, f"page-failed-{ui}")


def test_what_comes_next_has_schedules_and_what_waits(tabs: tuple[str, dict[str, Page]]) -> None:
    ui, pages = tabs
    waiting, coming, schedules = _tables(pages["page-next"])
    assert waiting[1][:2] == [WAITING, f"{RECORDS} requests in 1 batch"]
    assert {line[3] for line in coming[1:]} == {"publish/default"}
    assert schedules[1][0] == "publish/default" and schedules[1][2] == "active" and schedules[1][3] == coming[1][0]
    assert {line[2] for line in schedules[2:]} == {"off"}
    keep_page(pages["page-next"], f"page-next-{ui}")


def test_pages_lead_to_one_another_and_to_runs(tabs: tuple[str, dict[str, Page]], lab: Lab) -> None:
    ui, pages = tabs
    tab = pages["page-task-cost"]
    tab.get_by_role("link", name=PAGES["page-next"], exact=True).click(timeout=SHOWN_MS)
    root = f"{lab.prefect.address}{UIS[ui]}/artifacts/key"
    _wait(tab.context, f"{root}/page-next")
    run_id = name_run("neiss", RUNS - 1)
    last = pages["page-failed"]
    latest = lab.prefect.artifact(f"run-{run_id}")["latest_id"]
    last.goto(f"{lab.prefect.address}{UIS[ui]}/artifacts/artifact/{latest}", timeout=SHOWN_MS)
    report = last.get_by_role("link", name="The report", exact=True)
    report.wait_for(timeout=SHOWN_MS)
    assert report.get_attribute("href") == f"{ADDRESS}/reports/{run_id}.html"


def test_the_log_of_a_flow_run_leads_to_the_pages_by_one_click(browser: Browser, lab: Lab) -> None:
    for ui, base in UIS.items():
        context = open_ui(browser, lab.prefect.address, ui)
        tab = context.new_page()
        tab.goto(f"{lab.prefect.address}{base}/runs/flow-run/{lab.failed}", timeout=SHOWN_MS)
        address = f"{lab.prefect.address}/artifacts/key/page-cost"
        tab.locator(f"a[href='{address}']").click(timeout=SHOWN_MS)
        _wait(context, address).wait_for_selector("text=Drawn 20", timeout=SHOWN_MS)
        keep_page(tab, f"page-log-{ui}")
        context.close()
