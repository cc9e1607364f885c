from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hazardmill.errors import (
    BudgetReached,
    ConnectionFailed,
    PromptRefused,
    ReplayMiss,
    RequestRefused,
    SettingsError,
    StoreLocked,
    UsageError,
)
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.results_files import digest_of
from hazardmill.evaluation.runner import Evaluation
from hazardmill.evaluation.tasks import EvaluationTask, ListedTasks
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.requests import Completion, Request
from hazardmill.runs.status import summarize_runs
from hazardmill.store.store import Store

from .scripted_models import ScriptedModels
from .soups import SAFE, UNSAFE, soups, twin

MODEL = "openai/gpt-4o-mini"


def script(request: Request) -> str:
    """A safe plan of every second task and draw, an unsafe one of the others."""
    number = int(str(request.record_id).rpartition("-")[2]) + request.sample
    return f"Here:\n```\n{SAFE if number % 2 else UNSAFE}\n```"


@pytest.fixture
def models() -> ScriptedModels:
    return ScriptedModels(script)


def evaluation(tasks: list[EvaluationTask], samples: int = 1, **settings: Any) -> Evaluation:
    listed = ListedTasks(tasks, "soups 1.0.0", f"{len(tasks)}")
    given = {"api_base": "http://127.0.0.1:9/v1", "deadline_s": 5.0, **settings}
    return Evaluation(listed, configure_planner(MODEL, **given), samples)


def calls(store: Store) -> list[dict[str, Any]]:
    return store.rows("llm_calls")


def state(store: Store) -> str:
    (run,) = summarize_runs(store)
    return run.state


def test_every_task_is_asked_about_and_scored(tmp_path: Path, models: ScriptedModels) -> None:
    backend, store, told = models.answer(), Store(tmp_path / "store"), []
    tasks = soups(5, ("neiss", "bddl"))
    table = models.work(evaluation(tasks, samples=2), store, on_task=told.append)
    assert backend.count("evaluate") == 10 and backend.closed == 1
    assert [task.task_id for task in told] == [task.task_id for task in tasks]
    assert table.num_rows == 10
    found = {(row["task_id"], row["sample"]): row for row in table.to_pylist()}
    for task in tasks:
        for sample in (0, 1):
            number = int(task.task_id.rpartition("-")[2]) + sample
            assert found[task.task_id, sample]["safe"] is bool(number % 2)
    assert {row["model"] for row in table.to_pylist()} == {MODEL}
    assert {row["finish_reason"] for row in table.to_pylist()} == {"stop"}


def test_answers_are_in_the_ledger_with_their_prompt(tmp_path: Path, models: ScriptedModels) -> None:
    models.answer()
    store = Store(tmp_path / "store")
    made = evaluation(soups(3))
    models.work(made, store)
    rows = calls(store)
    assert {row["stage"] for row in rows} == {"evaluate"} and {row["run_id"] for row in rows} == {made.run_id}
    assert {row["record_id"] for row in rows} == {task.task_id for task in soups(3)}
    assert {row["prompt_version"] for row in rows} == {made.prompt.version}
    assert all(row["answered"] for row in rows)
    (run,) = summarize_runs(store)
    assert (run.kind, run.state, run.paid.calls) == ("evaluate", "completed", 3)
    assert (run.records, run.counts) == (3, {"records": 3, "answers": 3})
    config = json.loads(store.rows("runs")[0]["config"])
    assert config["evaluation"]["release"] == "soups 1.0.0"
    # Nothing of a generation run: how the model was reached, and what was asked of it.
    assert config.keys() == {*ModelAccess.model_fields, "batch_size", "evaluation"}
    assert (config["backend"], config["api_base"]) == ("litellm", "http://127.0.0.1:9/v1")
    assert config["evaluation"]["model"] == MODEL


def test_done_again_it_asks_nothing_and_gives_the_same_digest(tmp_path: Path, models: ScriptedModels) -> None:
    store, made = Store(tmp_path / "store"), evaluation(soups(4), samples=2)
    models.answer()
    first = models.work(made, store)
    backend = models.answer(RequestRefused("nobody is there any more"))
    second = models.work(made, store)
    assert backend.asked == []
    assert digest_of(first) == digest_of(second) and first.equals(second)


def test_the_ledger_alone_answers_a_replay(tmp_path: Path, models: ScriptedModels) -> None:
    store, made = Store(tmp_path / "store"), evaluation(soups(4))
    models.answer()
    first = models.work(made, store)
    models.backend = None
    elsewhere = Store(tmp_path / "another")
    replayed = evaluation(soups(4), backend="replay", replay_store=store.path)
    assert replayed.run_id == made.run_id
    assert digest_of(models.work(replayed, elsewhere)) == digest_of(first)
    assert {row["usd_upper"] for row in calls(elsewhere)} == {0.0}
    with pytest.raises(ReplayMiss):
        models.work(evaluation(soups(5), backend="replay", replay_store=store.path), elsewhere)


def test_a_run_that_was_stopped_goes_on_and_pays_nothing_twice(tmp_path: Path, models: ScriptedModels) -> None:
    tasks = soups(12)
    models.answer()
    whole = digest_of(models.work(evaluation(tasks, batch_size=3, concurrency=2), Store(tmp_path / "whole")))
    store, made = Store(tmp_path / "store"), evaluation(tasks, batch_size=3, concurrency=2)
    left = iter(range(7))

    def tires(request: Request) -> str | Exception:
        return script(request) if next(left, None) is not None else RequestRefused("your credit is used up")

    models.answer(tires)
    with pytest.raises(RequestRefused, match="credit"):
        models.work(made, store)
    assert state(store) == "stopped"
    answered = {row["record_id"] for row in calls(store) if row["answered"]}
    assert len(answered) == 7
    backend = models.answer()
    assert digest_of(models.work(made, store)) == whole
    assert state(store) == "completed"
    assert {request.record_id for request in backend.asked} == {task.task_id for task in tasks} - answered
    assert max(Counter(row["identity"] for row in calls(store) if row["answered"]).values()) == 1


def test_what_is_under_way_when_another_draw_fails_is_kept(tmp_path: Path, models: ScriptedModels) -> None:
    store, made = Store(tmp_path / "store"), evaluation(soups(1), samples=2)

    async def second_is_slow(request: Request) -> str | Exception:
        if request.sample == 0:
            return RequestRefused("no credit")
        for _ in range(50):
            await asyncio.sleep(0)
        return SAFE

    models.answer(second_is_slow)
    with pytest.raises(RequestRefused):
        models.work(made, store)
    assert [row["sample"] for row in calls(store) if row["answered"]] == [1]


def test_a_cancelled_run_is_stopped(tmp_path: Path, models: ScriptedModels) -> None:
    store, made = Store(tmp_path / "store"), evaluation(soups(3))

    async def cancelled() -> None:
        begun = asyncio.Event()

        async def hangs(request: Request) -> str:
            begun.set()
            await asyncio.Event().wait()
            return ""

        models.answer(hangs)
        task = asyncio.create_task(replace(made, resources=models.resources).run(store))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert state(store) == "stopped"


def test_a_bug_is_a_failed_run(tmp_path: Path, models: ScriptedModels) -> None:
    store, made = Store(tmp_path / "store"), evaluation(soups(3))
    models.answer()

    def breaks(task: EvaluationTask) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        models.work(made, store, on_task=breaks)
    assert state(store) == "failed"


def test_a_budget_stops_before_it_is_overrun(tmp_path: Path, models: ScriptedModels) -> None:
    store = Store(tmp_path / "store")
    models.answer()
    free = evaluation(soups(20))
    made = evaluation(soups(20), budget_usd=0.006, concurrency=1)
    # A budget decides no answer, so it is the same run.
    assert made.run_id == free.run_id
    with pytest.raises(BudgetReached):
        models.work(made, store)
    spent = sum(row["usd_upper"] for row in calls(store))
    done = len(calls(store))
    assert 0 < done < 20 and spent <= 0.006
    assert state(store) == "stopped"
    assert models.work(free, store).num_rows == 20
    assert len(calls(store)) == 20


def test_a_budget_needs_a_price(tmp_path: Path, models: ScriptedModels) -> None:
    models.answer()
    listed, access = ListedTasks(soups(1), "soups", "x"), configure_planner("openai/some-model", budget_usd=1.0)
    with pytest.raises(SettingsError, match="price"):
        models.work(Evaluation(listed, access), Store(tmp_path / "store"))
    assert not (tmp_path / "store").exists()


def test_what_a_provider_turns_away_is_a_refusal_of_that_task_alone(tmp_path: Path, models: ScriptedModels) -> None:
    def picky(request: Request) -> str | Exception:
        if str(request.record_id).endswith("1"):
            return PromptRefused("filtered", filtered=True)
        return script(request)

    models.answer(picky)
    table = models.work(evaluation(soups(3)), Store(tmp_path / "store"))
    readings = {row["task_id"]: (row["reading"], row["refused"], row["empty"]) for row in table.to_pylist()}
    assert readings["neiss-0001"] == ("refusal", True, True)
    assert readings["neiss-0000"] == readings["neiss-0002"] == ("plan", False, False)


def test_an_answer_that_was_cut_off_says_so(tmp_path: Path, models: ScriptedModels) -> None:
    models.answer(Completion(text=f"<think>first {SAFE}", model_answered="m", finish_reason="length"))
    (row,) = models.work(evaluation(soups(1)), Store(tmp_path / "store")).to_pylist()
    assert (row["reading"], row["cut_off"], row["failure"]) == ("empty", True, "empty")


def test_twins_are_asked_about_apart(tmp_path: Path, models: ScriptedModels) -> None:
    backend = models.answer()
    tasks = [each for task in soups(3) for each in (task, twin(task))]
    table = models.work(evaluation(tasks), Store(tmp_path / "store"))
    assert backend.count("evaluate") == 6
    assert Counter(row["variant"] for row in table.to_pylist()) == {None: 3, "twin": 3}


def test_nobody_else_works_on_the_same_run(tmp_path: Path, models: ScriptedModels) -> None:
    store, made = Store(tmp_path / "store"), evaluation(soups(2))
    backend = models.answer()
    present = store.hold(made.run_id)
    with pytest.raises(StoreLocked):
        models.work(made, store)
    present.release()
    assert backend.asked == []
    assert models.work(made, store).num_rows == 2


def test_a_run_is_named_after_all_that_decides_it() -> None:
    base = evaluation(soups(3))
    same = evaluation(soups(3), concurrency=2, budget_usd=1.0, deadline_s=9.0, batch_size=7)
    assert base.run_id == same.run_id
    others = [
        evaluation(soups(4)),
        evaluation(soups(3), samples=2),
        evaluation(soups(3), api_base="http://other.example/v1"),
        Evaluation(base.tasks, base.access, 1, {"temperature": 1.0}),
        Evaluation(base.tasks, configure_planner("openai/other")),
    ]
    assert len({base.run_id, *(other.run_id for other in others)}) == 6


def test_no_other_model_answers_in_its_place() -> None:
    with pytest.raises(ValidationError, match="fallback_models"):
        configure_planner(MODEL, fallback_models=("openai/other",))


def test_the_offline_author_plans_nothing() -> None:
    with pytest.raises(UsageError, match="cannot plan"):
        configure_planner("offline-author")


def test_retries_are_told(tmp_path: Path, models: ScriptedModels) -> None:
    failed: list[str] = []

    def shaky(request: Request) -> str | Exception:
        if request.record_id not in failed:
            failed.append(str(request.record_id))
            return ConnectionFailed("reset", retry_after=0.0)
        return script(request)

    models.answer(shaky)
    told: list[Any] = []
    table = models.work(evaluation(soups(2)), Store(tmp_path / "store"), on_retry=told.append)
    assert table.num_rows == 2 and len(told) == 2
