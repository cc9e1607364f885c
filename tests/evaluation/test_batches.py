"""Evaluations whose requests travel together have the rows of the ordinary way."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from factories.batch_answers import answer_line
from release.small_release import bowl, task_row, write_release

from hazardmill.errors import RunWaiting
from hazardmill.evaluation.abilities.run import AbilityRun
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.released_tasks import ReleasedTasks
from hazardmill.evaluation.results_files import digest_of
from hazardmill.evaluation.runner import Evaluation
from hazardmill.release.read.release import load_release
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ChatRequest, LlmServer
from hazardmill.testing.llm_server.chat_request import read_chat_request
from tests.runs.faulty_batches import RESOURCES
from tests.sizes import sized

TASKS = sized(60, 200)
MODEL = "openai/gpt-4o-mini"


def hasty(asked: ChatRequest) -> str:
    """Carry to every shelf as it is."""
    (number,) = set(re.findall(r"shelf_(\d+)", asked.messages[-1].content))
    return f"```\n(carry kitchen shelf_{number})\n```"


def careful(asked: ChatRequest) -> str:
    """Slow down before two of three shelves."""
    (number,) = set(re.findall(r"shelf_(\d+)", asked.messages[-1].content))
    return hasty(asked).replace("(carry", "(slow_down)\n(carry") if int(number) % 3 else "I would rather not."


STAND_INS: dict[str, Callable[[ChatRequest], str]] = {"hasty": hasty, "careful": careful}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> ReleasedTasks:
    rows = [task_row(bowl(f"shelf_{number}"), safe_length=2, unsafe_length=1) for number in range(TASKS)]
    folder = write_release(tmp_path_factory.mktemp("releases") / "shelves", {"tasks": {"test": rows}})
    return ReleasedTasks(load_release(str(folder)))


def digest(evaluation: Evaluation, store: Store, *, wait: bool = True) -> str:
    return digest_of(asyncio.run(evaluation.run(store, wait=wait)))


def answer_files(folder: Path, plan: Callable[[ChatRequest], str]) -> None:
    """Answer every file of requests as whoever has it would: by the model's own words, backwards."""
    for asked in folder.glob("requests-*.jsonl"):
        lines = []
        for line in map(json.loads, reversed(asked.read_text().splitlines())):
            said = plan(read_chat_request(json.dumps(line["body"]).encode(), None))
            lines.append(answer_line(line["custom_id"], said, line["body"]["model"]))
        (folder / asked.name.replace("requests", "answers")).write_text("".join(lines))


@pytest.mark.parametrize("name", ["hasty", pytest.param("careful", marks=pytest.mark.full)])
def test_every_way_gives_the_same_rows(
    tasks: ReleasedTasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan, found = STAND_INS[name], {}
    with LlmServer(plan) as server:
        for way, settings in {
            "single": {"concurrency": 32},
            "batch": {"batch": True},
            "exchange": {"exchange": tmp_path / "exchange"},
        }.items():
            access = configure_planner(MODEL, api_base=server.address, **settings)
            evaluation = Evaluation(tasks, access, resources=RESOURCES)
            store = Store.open(tmp_path / way, create=True)
            if way == "exchange":
                with pytest.raises(RunWaiting, match=rf"exchange requests-0001.jsonl in .* \(0 of {TASKS} requests"):
                    digest(evaluation, store, wait=False)
                answer_files(tmp_path / "exchange", plan)
            before = len(server.attempts)
            found[way] = digest(evaluation, store)
            assert len(server.attempts) - before == (0 if way == "exchange" else TASKS)
            assert digest(evaluation, store) == found[way]
            assert len(server.attempts) - before == (0 if way == "exchange" else TASKS)
            assert {row["channel"] for row in store.rows("llm_calls")} == {way}
    assert len(set(found.values())) == 1


def test_abilities_are_asked_in_batches_too(
    tasks: ReleasedTasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    few, rows = ReleasedTasks(tasks._release, limit=3), {}
    with LlmServer(lambda asked: "yes") as server:
        for batch in (False, True):
            access = configure_planner(MODEL, api_base=server.address, batch=batch)
            run = AbilityRun(few, access, resources=RESOURCES)
            store = Store.open(tmp_path / str(batch), create=True)
            rows[batch] = asyncio.run(run.run(store, wait=True)).to_pylist()
            assert {row["channel"] for row in store.rows("llm_calls")} == {"batch" if batch else "single"}
    assert rows[True] == rows[False] and rows[True]
