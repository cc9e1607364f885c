"""Stand-ins in all layers, over HTTP, against a server with faults: they are told apart, and labelled as no models."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from pathlib import Path

import pytest
from report.pages import Tables, markdown_tables

from hazardmill.evaluation.episodes.figures import episode_figures
from hazardmill.evaluation.episodes.options import AGENTS, CONSTRAINTS, EpisodeOptions
from hazardmill.evaluation.episodes.run import EpisodeRun
from hazardmill.evaluation.episodes.summary import write_episodes
from hazardmill.evaluation.episodes.task_set import read_tasks
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.probes.episodes import CARELESS, COMPLIANT, serve_stand_ins
from hazardmill.household.task import HouseholdTask
from hazardmill.llm.client import Client
from hazardmill.runs.resources import RunResources
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import SeededFaults
from tests.cli.conftest import Hazardmill
from tests.cli.conftest import empty_folder as empty_folder
from tests.cli.conftest import hazardmill as hazardmill
from tests.household.rooms import LAYERS
from tests.household.small_tasks import FIRE, OBJECT_DAMAGE, TASKS, write_small_tasks
from tests.runs.faulty_batches import at_once

RESOURCES = RunResources(client=partial(Client, sleep=at_once))
FAULTS = SeededFaults(seed=7, kinds=("500", "429", "reset"), rate=0.3, most=2)
TWO = (FIRE, OBJECT_DAMAGE)
BROKEN = {
    "fire": "0 of 1, 1 left open",
    "fluid": "0 of 1, 1 left open",
    "injury": "0 of 1, 1 left open",
    "object damage": "1 of 1",
    "pollution": "1 of 1",
}
"""What becomes of the rule of each hazard if an agent is careless: violated, or left open."""


@pytest.mark.parametrize("used", [TWO, pytest.param(TASKS, marks=pytest.mark.full)], ids=len)
def test_stand_ins_are_told_apart_in_all_layers(used: tuple[HouseholdTask, ...], hazardmill: Hazardmill) -> None:
    folder = write_small_tasks(Path("tasks"), *used)
    plans = [task.plans for task in used if task.plans is not None]
    requests = {
        COMPLIANT: sum(len(each.compliant) + 1 for each in plans),
        CARELESS: sum(len(each.careless) + 1 for each in plans),
    }
    rates: dict[str, set[str]] = {COMPLIANT: set(), CARELESS: set()}
    store = Store.open(Path("store"), create=True)
    with serve_stand_ins(used, faults=FAULTS) as server:
        for number, (observe, hands) in enumerate(LAYERS):
            tasks = read_tasks(folder, observe, hands)
            options = EpisodeOptions(AGENTS[number % 3], CONSTRAINTS[number % 2], observe, hands)
            for rule, found in rates.items():
                access = configure_planner(f"openai/{rule}", api_base=server.address, concurrency=8)
                run = EpisodeRun(tasks, options, access, resources=RESOURCES)
                before = store.count("llm_calls", {"answered": True})
                table = asyncio.run(run.run(store))
                assert store.count("llm_calls", {"answered": True}) - before == requests[rule]
                (figures,) = episode_figures(table, resamples=100)
                found.add(figures.rates["CSR"].text)
                assert figures.endings == {"done": len(used)} and not figures.rejections
                write_episodes(table, Path(f"{rule}-{number}"), run.name, "paper", {"missing": 0, "tasks_digest": "x"})
        # Some attempts failed, and none of that shows.
        assert len(server.attempts) > store.count("llm_calls", {"answered": True})
    assert rates == {COMPLIANT: {"100.00 ± 0.00"}, CARELESS: {"0.00 ± 0.00"}}
    check_report(hazardmill, {task.name.replace("_", " ") for task in used})


def check_report(hazardmill: Hazardmill, hazards: set[str]) -> None:
    folders = [f"{rule}-{number}" for rule in (COMPLIANT, CARELESS) for number in range(len(LAYERS))]
    ended = hazardmill("evaluate", "report", *folders, "--resamples", 100, "--out", "report")
    assert ended.code == 0, ended.err
    board = json.loads(Path("report/leaderboard.json").read_text())
    assert board["rows"] == [] and len(board["episodes"]) == 8
    assert all(row["rule_based"] and "rank" not in row for row in board["episodes"])
    assert {row["CSR"]["text"] for row in board["episodes"]} == {"100.00 ± 0.00", "0.00 ± 0.00"}
    page = Tables(Path("report/report.html").read_text()).found
    for tables in (markdown_tables(Path("report/report.md").read_text()), page):
        rows = tables["Household episodes by agent"]
        cells = {line[0]: dict(zip(rows[0], line, strict=True)) for line in rows[1:]}
        assert len(cells) == 8 and all("(rules, no model)" in name for name in cells)
        careful = cells["openai/stand-in/compliant (rules, no model), stateact, explicit, any hands"]
        assert careful["CSR, %"] == "100.00 ± 0.00"
        assert careful["Beyond the shortest"] == "0.00"
        head, *lines = tables["Episodes that violate the rule, by hazard"]
        assert {*head[1:]} == hazards and len(lines) == 8
        for name, *violations in lines:
            broken = [BROKEN[hazard] if "careless" in name else "0 of 1" for hazard in head[1:]]
            assert violations == broken
        stated = tables["What agents expected and stated, against the world"]
        # Agreement on all tasks does not make it certain: Wilson's interval, over the few tasks.
        said = {cell for line in stated[1:] for cell in line[1:]} - {"-"}
        assert said and all(re.fullmatch(r"100\.0 % \([35]\d\.\d to 100\.0, Wilson\)", cell) for cell in said)
    whole = json.loads(Path("report/episodes.json").read_text())
    assert {row["constraint"] for row in whole["rows"]} == {"explicit", "implicit"}
    assert "They are no models, and are not ranked." in Path("report/report.md").read_text()
