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
from hazardmill.report.drawing import Figure
from hazardmill.report.figures import all_figures, cost_by_stage, danger_types, length_by_effort
from hazardmill.report.funnel import funnel

from .support import call, connect, mill, unavoidable

SVG = "{http://www.w3.org/2000/svg}"

DRAW = """
import hashlib
from report.support import connect, mill
from hazardmill.report.cost import cost
from hazardmill.report.figures import all_figures
from hazardmill.report.funnel import funnel
connection = connect(**mill())
figures = all_figures(funnel(connection, ["r"]), cost(connection, ["r"]), mill()["tasks"])
print(hashlib.sha256("".join(figure.svg for figure in figures).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    connection = connect(**mill())
    drawn = all_figures(funnel(connection, ["r"]), cost(connection, ["r"]), mill()["tasks"])
    return {figure.name: figure for figure in drawn}


def texts(figure: Figure) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(figure.standalone).iter(f"{SVG}text")]


def test_every_figure_says_what_it_counts_and_n_in_text(figures: dict[str, Figure]) -> None:
    wanted = {
        "funnel": ("n = 10 records", "records"),
        "drafts": ("n = 14 drafts", "drafts"),
        "cost": ("n = 5 attempts", "USD"),
        "effort": ("n = 3 tasks", "plan length (actions)"),
        "types": ("n = 3 tasks", "tasks"),
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


def test_the_bytes_do_not_depend_on_hash_seed_or_on_the_readers_style(
    figures: dict[str, Figure], project: Path, tmp_path: Path
) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 30\naxes.grid: True\n")
    here = hashlib.sha256("".join(figure.svg for figure in figures.values()).encode()).hexdigest()
    path = os.pathsep.join([str(project), str(project / "tests")])
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", DRAW],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
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
    assert any("1 task without a safe plan left out" in text for text in texts(drawn))
    assert "left out" not in length_by_effort(tasks[:3]).alt
    assert "no accepted task has a safe plan" in length_by_effort(tasks[3:]).alt
    assert "n = 4 tasks" in danger_types(tasks).title


def test_without_prices_the_cost_is_shown_in_tokens() -> None:
    calls = [call("a", "neiss:1", "author", prompt_tokens=100, completion_tokens=20, usd=None)]
    drawn = cost_by_stage(cost(connect(llm_calls=calls), ["r"]))
    assert drawn.title == "Cost by stage in tokens (n = 1 attempt)"
    assert "author 120" in drawn.alt


def test_nothing_to_show_is_said(figures: dict[str, Figure]) -> None:
    connection = connect()
    for figure in all_figures(funnel(connection, ["r"]), cost(connection, ["r"]), []):
        assert "n = 0" in figure.title
        assert len(texts(figure)) == 2


def test_many_sources_are_folded_so_that_colours_stay_apart() -> None:
    tasks = [{"source": f"s{n}", "danger_type": "thermal"} for n in range(9) for _ in range(9 - n)]
    drawn = danger_types(tasks)
    assert [text for text in texts(drawn) if text in ("s0", "s4", "s5", "others")] == ["s0", "s4", "others"]
    assert "45" in texts(drawn)
