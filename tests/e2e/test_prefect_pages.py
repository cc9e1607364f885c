"""The cost dashboard in the pages that people open: a real Prefect server, both of its UIs, a real browser.

With ``HAZARDMILL_SCREENSHOTS=FOLDER`` the pages are written there as ``prefect-*.png``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import httpx
import pytest
from report.browsing import chromium
from report.support import Row, call, danger, draft, outcome, row, task

from e2e.prefect_server import serving
from e2e.prefect_uis import SHOWN_MS, UIS, keep_page, open_ui
from hazardmill.report.dashboard.links import ReportPlace
from hazardmill.report.dashboard.panels import headline, panels
from hazardmill.store.store import Store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# A server, a client and a browser to start, and figures to draw: a busy machine takes its time.
pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

RUNS: Final = 6
RECORDS: Final = 40
HOSTILE: Final = "<img src=x onerror=alert(1)> [here](x) https://evil.example www.evil.example me@evil.example `|*_"
"""A model's name, and a sentence of extraction."""
HOSTILE_RUN: Final = "generate-20260101-080000-000000"


def _run_rows(
    number: int,
    author: str = "large-model",
    said: str = "Nothing in it can do harm",
    sources: tuple[str, ...] = ("bddl", "neiss"),
) -> dict[str, list[Row]]:
    """A run over some sources that is cheaper than the one before; the last one is stopped at its budget."""
    run_id, last = f"generate-2026010{number + 1}-080000-{number:06x}", number == RUNS - 1
    began = datetime(2026, 1, number + 1, 8, tzinfo=UTC)
    ids = [f"{sources[n % len(sources)]}:{n}" for n in range(RECORDS)]
    config = {
        "inputs": [{"source": source} for source in sources],
        "models": {"extract": "small-model", "author": author, "judge": "small-model"},
        "budget_usd": 0.21 if last else 0.6,
    }
    counts = {"records": dict.fromkeys(sources, RECORDS // len(sources)), "outcomes": {}}
    states = ["running", "stopped" if last else "completed"]
    tables: dict[str, list[Row]] = {
        "runs": [
            row(
                "runs",
                run_id=run_id,
                sequence=place,
                kind="generate",
                state=state,
                config=json.dumps(config),
                counts=json.dumps(counts),
                selection=None if place else json.dumps(dict.fromkeys(ids, "h")),
                at=began + timedelta(hours=place),
            )
            for place, state in enumerate(states)
        ]
    }

    def add(table: str, added: Row) -> None:
        tables.setdefault(table, []).append({**added, "run_id": run_id})

    for n, record_id in enumerate(ids[: 3 * RECORDS // 4] if last else ids):
        if n % 7 == 3:
            add("dangers", danger(record_id, None, no_danger=said))
            add("outcomes", outcome(record_id, "no_danger", "declined", message=said))
        else:
            add("dangers", danger(record_id))
            made = 1 + (n + number) % 3
            good = n % 5 != 4
            for k in range(1, made + 1):
                passed = k == made and good
                add("drafts", draft(record_id, k, None if passed else ("search", "no_safe_plan")))
            if good:
                add("tasks", task(record_id, f"{record_id.replace(':', '-')}-{number}", draft=made))
            add(
                "outcomes",
                outcome(record_id, "accepted" if good else "execution_failed", None if good else "no_safe_plan"),
            )
        stages = [("extract", None), ("author", 1), ("judge", 1)][: 1 if n % 7 == 3 else 3]
        for place, (stage, number_of_draft) in enumerate(stages):
            unknown = n == 12 and stage == "author"
            cost = (0.002, 0.009, 0.003)[place] * (1 - 0.1 * number)
            add(
                "llm_calls",
                call(
                    f"{number}-{n}-{stage}",
                    record_id,
                    stage,
                    draft=number_of_draft,
                    answered=not unknown,
                    error="in_flight" if unknown else None,
                    prompt_tokens=None if unknown else 1500,
                    cached_tokens=None if unknown else 150 * number + 100 * place,
                    completion_tokens=None if unknown else 400,
                    usd=None if unknown else cost,
                    usd_upper=3 * cost if unknown else cost,
                    at=began + timedelta(seconds=n, milliseconds=place),
                ),
            )
    return tables


@dataclass(frozen=True)
class Shown:
    """What was made of the store, and where it is shown."""

    address: str
    run_id: str
    headline: list[dict[str, str]]
    ids: dict[str, str]
    """Key of an artifact to its id."""


def _stored(path: Path, runs: Sequence[dict[str, list[Row]]]) -> Store:
    store = Store.open(path, create=True)
    for tables in runs:
        with store.writer(tables["runs"][0]["run_id"]) as writer:
            writer.append_sync(tables)
    return store


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where everything works: the paths on the pages are short, and the same everywhere."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path_factory.mktemp("pages"))
        yield Path()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[str]:
    """A server of its own, with a database of its own, as ``make server`` starts it."""
    home = tmp_path_factory.mktemp("prefect")
    # Else the pages are unpacked into the installed package, which may not be ours to write.
    with serving(home, project, {"PREFECT_UI_STATIC_DIRECTORY": str(home / "ui")}) as prefect:
        yield prefect.address


_CREATE: Final = """
import asyncio, json, sys
from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

async def main():
    given = json.load(sys.stdin)
    made = {}
    for key, text, said in given["panels"]:
        made[key] = str(await acreate_markdown_artifact(key=key, markdown=text, description=said))
    made["headline"] = str(await acreate_table_artifact(given["headline"], key="headline"))
    print(json.dumps(made))

asyncio.run(main())
"""
"""In a process of its own: a browser's event loop and a client's do not go together."""


@pytest.fixture(scope="module")
def shown(folder: Path, server: str, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    runs = [_run_rows(number) for number in range(RUNS)]
    run_id = runs[-1]["runs"][0]["run_id"]
    store = _stored(folder / "generated" / "store", runs)
    made, rows = panels(store, run_id, report=ReportPlace(folder / "report" / "report.html")), headline(store, run_id)
    hostile = _stored(folder / "hostile", [_run_rows(0, HOSTILE, HOSTILE, ("neiss",))])
    told = {panel.key.split("-")[0]: panel for panel in panels(hostile, HOSTILE_RUN)}
    given = [(panel.key, panel.markdown, panel.description) for panel in made]
    given += [(f"hostile-{kind}", told[kind].markdown, told[kind].description) for kind in ("run", "funnel")]
    environment = {
        **os.environ,
        "PREFECT_API_URL": f"{server}/api",
        "PREFECT_HOME": str(tmp_path_factory.mktemp("home")),
    }
    done = subprocess.run(
        [sys.executable, "-c", _CREATE],
        input=json.dumps({"panels": given, "headline": rows}),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ids = json.loads(done.stdout.splitlines()[-1])
    return Shown(server, run_id, rows, ids)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


def _opened(browser: Browser, shown: Shown, ui: str, key: str, scheme: Literal["light", "dark"] = "light") -> Page:
    """The page of an artifact, once its table is there."""
    tab = open_ui(browser, shown.address, ui, scheme=scheme).new_page()
    tab.goto(f"{shown.address}{UIS[ui]}/artifacts/artifact/{shown.ids[key]}", timeout=SHOWN_MS)
    tab.wait_for_selector("table td", timeout=SHOWN_MS)
    return tab


def _table(tab: Page, number: int = 0) -> list[list[str]]:
    """The cells of a table, a list a row."""
    rows = tab.locator("table").nth(number).locator("tr").all()
    cells = [one.locator("th, td").all_text_contents() for one in rows]
    return [[" ".join(cell.split()) for cell in line] for line in cells]


def _figures(tab: Page) -> list[dict[str, Any]]:
    tab.wait_for_function("[...document.images].every(image => image.complete)", timeout=SHOWN_MS)
    return list(
        tab.evaluate(
            "[...document.images].filter(image => image.src.startsWith('data:')).map(image => ("
            "{alt: image.alt, natural: [image.naturalWidth, image.naturalHeight], size: [image.width, image.height]}))"
        )
    )


STRONG: Final = "strong, .markdown-renderer__text--strong"
"""Bold words: the older UI has a class for them, and no tag."""
HEAD: Final = ["Records", "Accepted", "Yield", "USD", "USD per task", "Cached input"]


def test_the_pages_talk_to_the_server_they_come_from(server: str) -> None:
    assert httpx.get(f"{server}/ui-settings").json()["api_url"] == f"{server}/api"


@pytest.mark.parametrize("ui", UIS)
def test_a_run_shows_its_headline_and_figures_in_both_uis(browser: Browser, shown: Shown, ui: str) -> None:
    tab = _opened(browser, shown, ui, f"run-{shown.run_id}")
    assert _table(tab) == [HEAD, list(shown.headline[0].values())]
    assert _table(tab, 1)[0] == ["Source", "Records", "Accepted", "USD", "USD per task", "Cached input"]
    assert [line[0] for line in _table(tab, 1)[1:]] == ["bddl", "neiss", "all"]
    figures = _figures(tab)
    assert len(figures) == 5
    for figure in figures:
        assert min(figure["natural"]) > 100, figure
        assert min(figure["size"]) > 100, figure
    assert any(text.startswith("Stopped, resumable") for text in tab.locator(STRONG).all_text_contents())
    resume = f"hazardmill run resume {shown.run_id} --budget-usd 0.32 --store generated/store"
    assert resume in tab.locator("code").all_text_contents()
    keep_page(tab, f"prefect-run-{ui}")
    tab.context.close()


@pytest.mark.parametrize("ui", UIS)
@pytest.mark.parametrize(("key", "number"), [("cost-all", 5), ("cost-neiss", 5), ("funnel-neiss", 3)])
def test_the_other_panels_show_their_figures(browser: Browser, shown: Shown, ui: str, key: str, number: int) -> None:
    tab = _opened(browser, shown, ui, key)
    figures = _figures(tab)
    assert len(figures) == number
    for figure in figures:
        assert min(figure["natural"]) > 100, figure
        assert min(figure["size"]) > 100, figure
    first = _table(tab)
    assert len(first[0]) <= 6 and all(len(line) == len(first[0]) for line in first)
    if key == "cost-all":
        assert first[0] == HEAD and first[1][0] == f"{RUNS * RECORDS}"
    keep_page(tab, f"prefect-{key}-{ui}")
    tab.context.close()


@pytest.mark.parametrize("ui", UIS)
@pytest.mark.parametrize("kind", ["run", "funnel"])
def test_what_a_record_or_a_model_says_is_only_text(browser: Browser, shown: Shown, ui: str, kind: str) -> None:
    tab = _opened(browser, shown, ui, f"hostile-{kind}")
    # The model's name and the sentence are there to be read, and lead nowhere.
    told = tab.locator("code" if kind == "run" else "td").all_text_contents()
    assert sum(text.strip().startswith(HOSTILE.split("]")[0]) for text in told) == 1
    assert tab.locator("a[href*='evil']").count() == 0
    assert tab.locator("img[src='x']").count() == 0
    tab.context.close()


@pytest.mark.parametrize("ui", UIS)
def test_the_headline_reads_as_a_table_artifact(browser: Browser, shown: Shown, ui: str) -> None:
    tab = _opened(browser, shown, ui, "headline")
    assert _table(tab) == [HEAD, list(shown.headline[0].values())]
    tab.context.close()


def test_figures_are_on_white_in_the_dark(browser: Browser, shown: Shown) -> None:
    for ui in UIS:
        tab = _opened(browser, shown, ui, f"run-{shown.run_id}", "dark")
        corner = tab.evaluate(
            "async () => { const image = [...document.images].find(image => image.src.startsWith('data:'));"
            " await image.decode(); const canvas = document.createElement('canvas');"
            " canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;"
            " const pen = canvas.getContext('2d'); pen.drawImage(image, 0, 0);"
            " return [...pen.getImageData(canvas.width - 3, canvas.height - 3, 1, 1).data]; }"
        )
        assert corner == [255, 255, 255, 255]
        keep_page(tab, f"prefect-run-{ui}-dark")
        tab.context.close()
