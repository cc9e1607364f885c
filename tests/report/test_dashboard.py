from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from operator import add
from pathlib import Path
from string import ascii_letters, ascii_lowercase, digits
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hazardmill.errors import InputError
from hazardmill.report.dashboard.links import PAGES, ReportPlace, artifact_key
from hazardmill.report.dashboard.panels import headline, panels
from hazardmill.report.dashboard.writing import DashboardPanel
from hazardmill.store.store import Store

from .support import Row, call, danger, draft, mill, outcome, row, task
from .test_with_store import by_run

HOSTILE = "<script>x</script> [a](https://evil.example) ![b](x) `c|d` # *e* _f_ www.evil.example g@evil.example\n# h"
HEAD = ["Records", "Accepted", "Yield", "USD", "USD per task", "Cached input"]
LIMIT = 300_000


def stored(folder: Path, tables: dict[str, list[Row]]) -> Store:
    store = Store.open(folder / "store", create=True)
    for run_id, groups in sorted(by_run(tables).items()):
        with store.writer(run_id) as writer:
            writer.append_sync(groups)
    return store


def single(state: str, config: dict[str, Any], calls: list[Row], records: int = 4) -> dict[str, list[Row]]:
    """A run of one source of which one record has its outcome."""
    ids = [f"neiss:{n}" for n in range(records)]
    known = {"run_id": "r", "kind": "generate", "config": json.dumps({"inputs": [{"source": "neiss"}], **config})}
    counts = json.dumps({"records": {"neiss": records}, "outcomes": {}})
    return {
        "runs": [
            row("runs", **known, sequence=0, state="running", counts=counts, selection=json.dumps(ids)),
            row("runs", **known, sequence=1, state=state, counts=counts),
        ],
        "outcomes": [outcome("neiss:0", "accepted")],
        "dangers": [danger("neiss:0")],
        "drafts": [draft("neiss:0")],
        "tasks": [task("neiss:0", "neiss-0", draft=1)],
        "llm_calls": calls,
    }


def by_key(store: Store, run_id: str = "r", **given: Any) -> dict[str, DashboardPanel]:
    return {panel.key: panel for panel in panels(store, run_id, **given)}


def reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark").enable("table")
    # By itself it shows no image that is an SVG; both pages do.
    reader.validateLink = lambda url: True  # type: ignore[method-assign]  # the documented way to allow more
    return reader


def parsed(markdown: str) -> list[Token]:
    """The tokens of a page, those inside paragraphs and cells too."""
    tokens = reader().parse(markdown)
    return [inner for token in tokens for inner in (token, *(token.children or ()))]


def grids(markdown: str) -> list[list[list[str]]]:
    """The tables of a page: rows of cells."""
    found: list[list[list[str]]] = []
    for token in reader().parse(markdown):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and found and token.level >= 4:
            found[-1][-1].append("".join(part.content for part in token.children or ()).replace("\u00a0", " "))
    return found


def pictures(markdown: str) -> list[ElementTree.Element]:
    """The figures of a page."""
    found = []
    for token in parsed(markdown):
        if token.type == "image":
            kind, data = str(token.attrs["src"]).split(",")
            assert kind == "data:image/svg+xml;base64"
            found.append(ElementTree.fromstring(base64.b64decode(data)))
    return found


@pytest.fixture(scope="module")
def milled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DashboardPanel]:
    return by_key(stored(tmp_path_factory.mktemp("mill"), mill()), report=ReportPlace(Path("out/report.html")))


def test_a_change_of_a_run_touches_these_artifacts(milled: dict[str, DashboardPanel]) -> None:
    assert list(milled) == ["run-r", "cost-bddl", "funnel-bddl", "cost-neiss", "funnel-neiss", "cost-all"]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in milled)
    assert milled["run-r"].description == "Run `r`: completed"


def test_the_headline_of_a_run_says_what_is_known(milled: dict[str, DashboardPanel]) -> None:
    # One attempt of unknown cost that nothing bounds: at least a sum, and no upper one.
    expected = ["10", "3", "37.5 %", "$0.100 + 1 unknown", "at least $0.0333", "25.0 %"]
    assert grids(milled["run-r"].markdown)[0] == [HEAD, expected]
    assert grids(milled["cost-all"].markdown)[0] == [HEAD, expected]
    # The records of neiss: 5, and its attempts but the judge's.
    expected = ["5", "2", "40.0 %", "$0.0600 + 1 unknown", "at least $0.0300", "33.3 %"]
    assert grids(milled["cost-neiss"].markdown)[0] == [HEAD, expected]


def test_sources_have_a_line_each(milled: dict[str, DashboardPanel]) -> None:
    for name in ("run-r", "cost-all"):
        assert grids(milled[name].markdown)[1] == [
            ["Source", "Records", "Accepted", "USD", "USD per task", "Cached input"],
            ["bddl", "5", "1 (33.3 %)", "$0.0400", "$0.0400", "0.0 %"],
            ["neiss", "5", "2 (40.0 %)", "$0.0600 + 1 unknown", "at least $0.0300", "33.3 %"],
            ["all", "10", "3 (37.5 %)", "$0.100 + 1 unknown", "at least $0.0333", "25.0 %"],
        ]


def test_the_funnel_of_a_source_is_that_of_its_records(milled: dict[str, DashboardPanel]) -> None:
    way, losses, failures = grids(milled["funnel-bddl"].markdown)
    assert way[1] == ["bddl", "5", "3", "4", "1 (33.3 %)", "2"]
    assert losses[1:] == [
        ["extraction failed", "unusable answer", "1", "20.0 %"],
        ["quality failed", "judge entity", "1", "20.0 %"],
        ["all losses", "", "2", "40.0 %"],
    ]
    assert failures[1:] == [["judge", "entity", "2"], ["policy", "syntax", "1"]]


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("run-r", ("Cost by stage", "Cumulative cost", "Yield by draft", "Cache-hit share", "USD per validated task")),
        (
            "cost-all",
            ("Cost by stage", "USD per validated task", "Cache-hit share", "Cumulative cost", "Yield by draft"),
        ),
        ("cost-neiss", ("Cost by stage", "USD per validated task", "Cache-hit share", "Cumulative cost", "Yield")),
        ("funnel-bddl", ("Where the records went", "Losses by stage and reason", "Yield by draft")),
    ],
)
def test_figures_have_titles_with_n_and_a_size(
    milled: dict[str, DashboardPanel], name: str, titles: tuple[str, ...]
) -> None:
    figures = pictures(milled[name].markdown)
    said = ["".join(figure.itertext()) for figure in figures]
    assert len(said) == len(titles)
    for text, title in zip(said, titles, strict=True):
        assert re.search(rf"{title}[^\n]*\(n = [\d,]+", text)
    for figure in figures:
        assert float(str(figure.get("width")).removesuffix("pt")) > 300
        assert float(str(figure.get("height")).removesuffix("pt")) > 90


def test_figures_count_each_attempt_once(milled: dict[str, DashboardPanel]) -> None:
    said = ["".join(figure.itertext()) for figure in pictures(milled["run-r"].markdown)]
    assert "Cost by stage in USD, by source (n = 5 attempts)" in said[0]
    assert "Cache-hit share of input, this run (n = 400 tokens)" in said[3]
    assert "The price of 1 attempt is unknown and not in any bar." in milled["run-r"].markdown


def test_what_was_asked_for_no_record_is_in_a_bar(tmp_path: Path) -> None:
    calls = [call("a", "neiss:0", "author", usd=1.0, usd_upper=1.0), call("b", None, "judge", usd=0.5, usd_upper=0.5)]
    run = by_key(stored(tmp_path, single("stopped", {}, calls)))["run-r"].markdown
    assert "Bars of USD, divided by stage: all $1.50." in run


def test_pages_lead_to_the_report_and_to_one_another(milled: dict[str, DashboardPanel]) -> None:
    assert all("`out/report.html`" in panel.markdown for panel in milled.values())
    run = milled["run-r"].markdown
    assert all(f"[{name}](../../artifacts/key/{name})" in run for name in milled if name != "run-r")
    assert all(f"(../../artifacts/key/{page})" in panel.markdown for panel in milled.values() for page in PAGES)
    assert all("(../../artifacts/key/run-r)" in panel.markdown for name, panel in milled.items() if name != "run-r")


def test_with_an_address_of_pages_they_lead_to_the_report_and_the_tasks_there(tmp_path: Path) -> None:
    place = ReportPlace(Path("/srv/reports/r.html"), "https://pages.example/mill/")
    for panel in by_key(stored(tmp_path, single("completed", {}, [])), report=place).values():
        assert "/srv/reports" not in panel.markdown
        led = [str(token.attrs["href"]) for token in parsed(panel.markdown) if token.type == "link_open"]
        assert {"https://pages.example/mill/reports/r.html", "https://pages.example/mill/#?run=r"} <= {*led}


def test_an_upper_bound_is_shown_as_one(tmp_path: Path) -> None:
    calls = [
        call("a", "neiss:0", "author", usd=1.0, usd_upper=1.0),
        call("b", "neiss:0", "author", answered=False, error="in_flight", usd=None, usd_upper=0.25),
    ]
    store = stored(tmp_path, single("stopped", {}, calls))
    assert headline(store, "r") == [
        dict(zip(HEAD, ["4", "1", "100.0 %", "$1.00 to $1.25", "at least $1.00", "unknown"], strict=True))
    ]
    assert "The cost of 1 attempt is not known" in by_key(store)["run-r"].markdown


def test_nothing_known_is_never_nought(tmp_path: Path) -> None:
    tables = single("running", {}, [call("a", "neiss:1", "extract", usd=None, usd_upper=None)])
    del tables["outcomes"], tables["tasks"]
    expected = ["4", "0", "none yet", "unknown", "none yet", "unknown"]
    assert headline(stored(tmp_path, tables), "r") == [dict(zip(HEAD, expected, strict=True))]


def test_a_run_that_has_only_begun_has_all_its_pages(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    with store.writer("r") as writer:
        # In the journal alone, and held by its writer.
        writer.append_sync({"runs": [single("running", {"budget_usd": 2.0}, [])["runs"][0]]})
        found = by_key(store)
    assert list(found) == ["run-r", "cost-neiss", "funnel-neiss", "cost-all"]
    run = found["run-r"].markdown
    assert "**Under way.**" in run and "4 of 4 records left" in run
    assert "Budget $2.00: at most $0.00, 0.0 % of it spent by this run." in run
    assert "run resume" not in run


@pytest.mark.parametrize(
    ("state", "said", "resumable"),
    [
        ("running", "Killed, resumable", True),
        ("stopped", "Stopped, resumable", True),
        ("failed", "Failed, resumable once", True),
        ("completed", "Completed, but rows were lost since", True),
    ],
)
def test_a_page_says_how_the_run_stands_and_how_to_go_on(
    tmp_path: Path, state: str, said: str, resumable: bool
) -> None:
    store = stored(tmp_path, single(state, {}, []))
    run = by_key(store)["run-r"].markdown
    assert f"**{said}" in run
    assert (f"`hazardmill run resume r --store {tmp_path / 'store'}`" in run) is resumable


def test_a_completed_run_needs_no_command(tmp_path: Path) -> None:
    run = by_key(stored(tmp_path, single("completed", {}, [], records=1)))["run-r"].markdown
    assert "**Completed: every record has its outcome.**" in run
    assert "run resume" not in run


def test_somebody_at_work_is_not_told_to_resume(tmp_path: Path) -> None:
    store = stored(tmp_path, single("running", {}, []))
    held = store.hold("r")
    assert held is not None
    try:
        assert "**Under way.**" in by_key(store)["run-r"].markdown
    finally:
        held.release()


@pytest.mark.parametrize(("spent", "larger"), [(0.95, " --budget-usd 4.6"), (0.5, "")])
def test_a_spent_budget_comes_with_a_larger_one(tmp_path: Path, spent: float, larger: str) -> None:
    calls = [call("a", "neiss:0", "author", usd=spent, usd_upper=spent)]
    config = {"budget_usd": 1.0, "budget_id": "winter"}
    run = by_key(stored(tmp_path, single("stopped", config, calls)))["run-r"].markdown
    assert f"hazardmill run resume r{larger} --store" in run
    assert f"Budget $1.00 (shared: `winter`): at most ${spent:.3f}, {100 * spent:.1f} % of it" in run


def test_an_offline_run_says_so_in_the_first_line_of_every_page(tmp_path: Path) -> None:
    tables = single("completed", {}, [])
    tables["drafts"] = [draft("neiss:0", model_answered="offline-author")]
    for panel in by_key(stored(tmp_path, tables)).values():
        assert panel.markdown.startswith("**This run has answers of the offline author**")
        assert "nothing was paid" not in panel.markdown.splitlines()[0]
    (tmp_path / "other").mkdir()
    for panel in by_key(stored(tmp_path / "other", single("completed", {}, []))).values():
        assert "offline author" not in panel.markdown


def test_text_from_outside_is_only_text(tmp_path: Path) -> None:
    tables = single("failed", {"models": {"author": HOSTILE}, "budget_usd": 1.0, "budget_id": HOSTILE}, [])
    tables["outcomes"].append(outcome("neiss:1", "no_danger", "declined", message=HOSTILE))
    tables["outcomes"].append(outcome("neiss:2", "execution_failed", HOSTILE))
    tables["dangers"].append(danger("neiss:1", None, no_danger=HOSTILE))
    tables["drafts"].append(draft("neiss:2", 1, (HOSTILE, HOSTILE)))
    store = stored(tmp_path, tables)
    for panel in by_key(store, report=ReportPlace(Path(HOSTILE))).values():
        tokens = parsed(panel.markdown)
        assert not {"html_inline", "html_block"} & {token.type for token in tokens}
        led = [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]
        assert all(re.fullmatch(r"\.\./\.\./artifacts/key/[a-z0-9-]+", address) for address in led)
        assert all(str(token.attrs["src"]).startswith("data:") for token in tokens if token.type == "image")
        # Outside code, both pages make links of what merely looks like an address.
        shown = " ".join(token.content for token in tokens if token.type == "text")
        assert not re.search(r"https?://|www\.|\w@\w", shown)
        assert not any(token.content == "h" for token in tokens)
        for grid in grids(panel.markdown):
            assert {len(line) for line in grid} == {len(grid[0])} and len(grid[0]) <= 6
    cells = [cell for grid in grids(by_key(store)["funnel-neiss"].markdown) for line in grid for cell in line]
    # It is still there to be read, but for signs that nobody sees, and those that end a line.
    assert " ".join(HOSTILE.split()) in {cell.replace("\u2060", "") for cell in cells}


def many(number: int) -> dict[str, list[Row]]:
    """So many runs of two sources, a day between them."""
    tables: dict[str, list[Row]] = {"runs": [], "outcomes": [], "llm_calls": [], "tasks": []}
    for n in range(number):
        run_id, at = f"run-{n:02d}", datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=n)
        ids = ["neiss:1", "bddl:1"]
        tables["runs"].append(
            row("runs", run_id=run_id, sequence=0, kind="generate", state="completed", config="{}", at=at)
            | {"selection": json.dumps(ids)}
        )
        for record in ids:
            tables["outcomes"].append(outcome(record, "accepted", run_id=run_id))
            tables["tasks"].append(task(record, f"{record[:4]}-{n}", run_id=run_id, draft=1))
            tables["llm_calls"] += [
                call(f"{n} {record} {stage}", record, stage, run_id=run_id, usd=0.25, usd_upper=0.25, at=at)
                | {"prompt_tokens": 100, "cached_tokens": n, "completion_tokens": 5}
                for stage in ("extract", "author", "judge")
            ]
    return tables


@pytest.mark.full
def test_the_last_twenty_runs_are_told_and_pages_stay_small(tmp_path: Path) -> None:
    found = by_key(stored(tmp_path, many(23)), "run-22")
    assert list(found) == ["run-run-22", "cost-bddl", "funnel-bddl", "cost-neiss", "funnel-neiss", "cost-all"]
    for name in ("cost-all", "cost-neiss"):
        told = grids(found[name].markdown)[-1]
        assert [line[0].split(",")[0] for line in told[1:]] == [f"run-{n:02d}" for n in range(22, 2, -1)]
        titles = ["".join(figure.itertext()) for figure in pictures(found[name].markdown)]
        assert sum("the last 20 runs" in title for title in titles) == 3
    # Of all runs, not of the last ones.
    assert grids(found["cost-all"].markdown)[0][1] == ["46", "46", "100.0 %", "$34.50", "$0.750", "11.0 %"]
    assert grids(found["cost-neiss"].markdown)[0][1] == ["23", "23", "100.0 %", "$17.25", "$0.750", "11.0 %"]
    assert max(len(panel.markdown.encode()) for panel in found.values()) < LIMIT


@pytest.mark.parametrize("asked", [panels, headline])
def test_a_run_that_is_not_there_is_refused(tmp_path: Path, asked: Callable[[Store, str], object]) -> None:
    tables = {"runs": [row("runs", run_id="ingest-1", sequence=0, kind="ingest", state="completed", config="{}")]}
    store = stored(tmp_path, tables)
    for run_id in ("nobody", "ingest-1"):
        with pytest.raises(InputError, match=f"no generation run {run_id} in this store"):
            asked(store, run_id)


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("run", "generate-20260131-235959-1a2b3c", "run-generate-20260131-235959-1a2b3c"),
        ("cost", "neiss", "cost-neiss"),
        ("funnel", "my_source", "funnel-my-source"),
    ],
)
def test_keys_are_the_names(kind: str, name: str, expected: str) -> None:
    assert artifact_key(kind, name) == expected


def test_no_source_takes_the_key_of_all() -> None:
    assert artifact_key("cost", "all").startswith("cost-all-")


# Of the letters that they may have; a regular expression takes ten times as long to draw.
names = st.builds(add, st.sampled_from(ascii_letters + digits), st.text(f"{ascii_letters}{digits}._-", max_size=99))
sources = st.builds(add, st.sampled_from(ascii_lowercase), st.text(f"{ascii_lowercase}{digits}_", max_size=150))


@given(names, names)
def test_runs_have_keys_that_prefect_takes_and_no_two_the_same(first: str, second: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", artifact_key("run", first))
    assert (artifact_key("run", first) == artifact_key("run", second)) is (first == second)
    assert (artifact_key("run", first) == artifact_key("run", first.swapcase())) is (first == first.swapcase())
    assert (artifact_key("run", first) == artifact_key("run", first.replace("_", "-"))) is ("_" not in first)


@given(sources, sources)
def test_so_have_sources(first: str, second: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", artifact_key("cost", first))
    assert (artifact_key("cost", first) == artifact_key("cost", second)) is (first == second)
