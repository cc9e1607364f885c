from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hazardmill.report.cost import cost
from hazardmill.report.dangers import danger_groups, danger_types, length_by_effort
from hazardmill.report.figures import REASONS, cost_by_stage, losses_by_reason
from hazardmill.report.funnel import funnel
from hazardmill.report.html import render_report
from hazardmill.report.markdown import render_markdown
from hazardmill.report.report_data import gather
from hazardmill.reporting.svg.drawing import Figure

from .support import call, connect, mill, outcome, unavoidable

pytestmark = pytest.mark.usefixtures("drawn_anew")

SVG = "{http://www.w3.org/2000/svg}"

DRAW = """
import hashlib
from figures_once import _draw_once
from report.support import connect, mill
from hazardmill.report.html import render_report
from hazardmill.report.markdown import render_markdown
from hazardmill.reporting.svg import drawing
drawing._draw_svg = _draw_once
text, figures = render_markdown(connect(**mill()), ["r"])
page = render_report(connect(**mill()), ["r"])
print(hashlib.sha256("".join([page, text, *figures.values()]).encode()).hexdigest())
"""


def nodes(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    return {figure.name: figure for figure in gather(connect(**mill()), ["r"]).figures}


def texts(figure: Figure) -> list[str]:
    return nodes(figure.standalone)


def test_every_figure_says_what_it_counts_and_n_in_text(figures: dict[str, Figure]) -> None:
    wanted = {
        "funnel": ("n = 10 records", "records"),
        "drafts": ("n = 14 drafts", "drafts"),
        "cost": ("n = 5 attempts", "USD"),
        "effort": ("n = 3 tasks", "plan length (actions)"),
        "types": ("n = 3 tasks", "tasks"),
        "groups": ("n = 3 tasks", "tasks"),
        "losses": ("n = 5 records lost", "records"),
        "flows": ("n = 3 tasks", "entity in danger"),
        "published": ("n = 6 records, 14 drafts of ours", "lost (%)"),
    }
    assert figures.keys() == wanted.keys()
    for name, (n, unit) in wanted.items():
        assert n in figures[name].title
        assert figures[name].title in texts(figures[name])
        assert unit in texts(figures[name])


def test_the_words_of_a_figure_hold_its_figures(figures: dict[str, Figure]) -> None:
    assert "no danger in it 1" in figures["funnel"].alt and "accepted 3" in figures["funnel"].alt
    assert "draft 1: 2 of 7 passed" in figures["drafts"].alt
    assert "author $0.0500 + 1 unknown" in figures["cost"].alt
    assert "effort 1, length 2: 2; effort 2, length 4: 1" in figures["effort"].alt
    assert "thermal 1, chemical 1, electrical 1. By source: bddl 1, neiss 2." in figures["types"].alt
    assert "bddl: 1 physical, 0 psychosocial; neiss: 2 physical, 0 psychosocial" in figures["groups"].alt
    assert "execution, no unsafe plan: 1" in figures["losses"].alt
    assert "source: neiss 2, bddl 1; setting: dining room 3; danger group: physical 3" in figures["flows"].alt
    assert (
        "all sources: DESPITE 46.0 %, ours 16.7 % (1 of 6) by record, 57.1 % (8 of 14) by draft"
        in figures["published"].alt
    )
    for figure in figures.values():
        assert ElementTree.fromstring(figure.standalone).get("aria-label") == figure.alt


def test_figures_on_one_page_share_no_id_and_load_nothing(figures: dict[str, Figure]) -> None:
    page = "".join(figure.svg for figure in figures.values())
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', page)) <= set(ids)
    assert "://" not in page and "<style" not in page


def test_standalone_figures_have_fixed_colours_on_white(figures: dict[str, Figure]) -> None:
    for figure in figures.values():
        assert "var(" in figure.svg and "var(" not in figure.standalone
        assert "fill: #ffffff" in figure.standalone
        kind, data = figure.data_address.split(",")
        assert kind == "data:image/svg+xml;base64"
        assert base64.b64decode(data).decode() == figure.standalone


@pytest.mark.full
def test_the_bytes_do_not_depend_on_hash_seed_or_on_the_readers_style(project: Path, tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 30\naxes.grid: True\n")
    text, drawn = render_markdown(connect(**mill()), ["r"])
    page = render_report(connect(**mill()), ["r"])
    here = hashlib.sha256("".join([page, text, *drawn.values()]).encode()).hexdigest()
    path = os.pathsep.join([str(project), str(project / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", DRAW],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == here


def test_tasks_without_a_safe_plan_are_left_out_of_length_by_effort_and_counted() -> None:
    tasks = [*mill()["tasks"], unavoidable("neiss:8", "neiss-8")]
    drawn = length_by_effort(tasks)
    assert drawn.title == "Plan length by safety effort (n = 3 tasks)"
    assert "1 task without a safe plan left out" in drawn.alt
    assert drawn.note is not None and "1 task without a safe plan left out" in drawn.note
    assert "left out" not in length_by_effort(tasks[:3]).alt
    assert "no accepted task has a safe plan" in length_by_effort(tasks[3:]).alt
    assert "n = 4 tasks" in danger_types(tasks).title


def test_without_prices_the_cost_is_shown_in_tokens() -> None:
    calls = [call("a", "neiss:1", "author", prompt_tokens=100, completion_tokens=20, usd=None)]
    drawn = cost_by_stage(cost(connect(llm_calls=calls), ["r"]))
    assert drawn.title == "Cost by stage in tokens (n = 1 attempt)"
    assert "author 120" in drawn.alt


def test_nothing_to_show_is_said() -> None:
    drawn = gather(connect(), ["r"]).figures
    assert len(drawn) == 9
    for figure in drawn:
        assert "n = 0" in figure.title
        assert len(texts(figure)) == 2


def test_a_stage_of_which_nothing_is_known_has_no_bar_and_says_so() -> None:
    calls = [
        call("a", "neiss:1", "author", usd=0.25, prompt_tokens=1, completion_tokens=1),
        call("e", "neiss:1", "extract", usd=None, prompt_tokens=None, completion_tokens=None),
    ]
    drawn = cost_by_stage(cost(connect(llm_calls=calls), ["r"]))
    assert {"unknown", "$0.250"} <= set(texts(drawn))
    assert drawn.note == "The price of 1 attempt is unknown and not in any bar."
    assert drawn.grid.rows[0] == ("extract", "1", "0", "0", "unknown", "unknown", "unknown")
    assert drawn.grid.rows[2] == ("all", "2", "0", "0", "1 + 1 unknown", "1 + 1 unknown", "$0.250 + 1 unknown")
    drawn = cost_by_stage(cost(connect(llm_calls=calls[1:]), ["r"]))
    assert drawn.title == "Cost by stage in tokens (n = 1 attempt)" and "unknown" in texts(drawn)


def test_what_is_in_flight_is_told_apart_from_what_failed() -> None:
    unanswered = {"answered": False, "usd": None, "usd_upper": 0.5}
    calls = [
        call("a", "neiss:1", "author", usd=0.25),
        call("b", "neiss:1", "author", **unanswered, error="in_flight"),
        call("c", "neiss:1", "author", **unanswered, error="ProviderDown"),
    ]
    drawn = cost_by_stage(cost(connect(llm_calls=calls), ["r"]))
    assert dict(zip(drawn.grid.head, drawn.grid.rows[0], strict=True))["In flight"] == "1"
    assert drawn.grid.rows[0][:4] == ("author", "3", "1", "1")


def test_many_reasons_are_folded_by_stage_and_told_in_the_table() -> None:
    tables = mill()
    tables["outcomes"] = [
        outcome(f"neiss:{kind}{n}-{i}", kind, f"{kind[:4]}_reason_{n}")
        for kind in ("execution_failed", "quality_failed")
        for n in range(10)
        for i in range(10 - n)
    ]
    drawn = losses_by_reason(funnel(connect(**tables), ["r"]))
    assert len(drawn.grid.rows) == 20 and sum(int(row[2]) for row in drawn.grid.rows) == 110
    shown = [text for text in texts(drawn) if "reason" in text]
    assert shown.count("other reasons") == 2 and len(shown) == REASONS + 2 + 1
    assert drawn.note == "8 rarer reasons combined by stage as other reasons."
    assert drawn.alt.count("other reasons: 10;") + drawn.alt.count("other reasons: 10.") == 2


def test_one_reason_too_many_is_shown_itself() -> None:
    tables = mill()
    tables["outcomes"] = [outcome(f"neiss:{n}", "execution_failed", f"reason_{n}") for n in range(REASONS + 1)]
    drawn = losses_by_reason(funnel(connect(**tables), ["r"]))
    assert drawn.note is None and "other reasons" not in drawn.alt


def test_two_reasons_that_read_alike_stay_two_bars() -> None:
    said = "Nothing that anybody does in this record, of whatever kind it may be, could harm anybody, in case"
    tables = mill()
    tables["outcomes"] = [outcome(f"neiss:{n}", "no_danger", "x", message=f"{said} {n % 2}") for n in range(5)]
    drawn = losses_by_reason(funnel(connect(**tables), ["r"]))
    assert [row[2] for row in drawn.grid.rows] == ["3", "2"]
    assert any(text.startswith("3 ") for text in texts(drawn)) and any(text.startswith("2 ") for text in texts(drawn))


def test_signs_that_no_svg_may_hold_and_no_font_has_are_harmless() -> None:
    tables = mill()
    tables["outcomes"] = [
        outcome("neiss:3", "no_danger", "x", message="bad \x1b[31m \x00 sign, $\\frac{1}{2}$ \u53a8\u623f <b>")
    ]
    drawn = losses_by_reason(funnel(connect(**tables), ["r"]))
    shown = " ".join(texts(drawn))
    assert "\x1b" not in drawn.svg and "\u53a8\u623f" in shown and "<b>" in shown and "frac" in shown


def test_names_of_series_hold_no_such_signs_either() -> None:
    drawn = danger_groups([{"source": "neiss", "danger_type": "thermal", "danger_group": "odd \x1b[31m"}])
    assert "\x1b" not in drawn.standalone and "odd  [31m" in texts(drawn)


def test_many_sources_are_folded_so_that_colours_stay_apart() -> None:
    kind = {"danger_type": "thermal", "danger_group": "physical"}
    tasks = [{"source": f"s{n}", **kind} for n in range(9) for _ in range(9 - n)]
    drawn = danger_types(tasks)
    assert [text for text in texts(drawn) if text in ("s0", "s4", "s5", "others")] == ["s0", "s4", "others"]
    assert "45" in texts(drawn)
    assert drawn.grid.head == ("Danger type", *(f"s{n}" for n in range(9)), "Tasks")
    assert drawn.note is not None and drawn.note.startswith("No task has one of these types: mechanical, chemical")
    assert [row[-1] for row in danger_groups(tasks).grid.rows] == [*(str(9 - n) for n in range(9)), "45"]
