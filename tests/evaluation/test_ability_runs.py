from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import ReplayMiss, RequestRefused
from hazardmill.evaluation.abilities.rows import SCHEMA
from hazardmill.evaluation.abilities.run import AbilityRun, ability_prompts
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.results_files import digest_of
from hazardmill.evaluation.runner import Evaluation
from hazardmill.evaluation.tasks import EvaluationTask, ListedTasks
from hazardmill.llm.requests import Request
from hazardmill.runs.status import summarize_runs
from hazardmill.store.store import Store

from .ability_answers import ABILITIES, ability_of, right, wrong
from .scripted_models import ScriptedModels
from .soups import SAFE, UNSAFE, soups

MODEL = "openai/gpt-4o-mini"


class Planned(ListedTasks):
    """Soups with their plans."""

    def tasks_with_plans(self) -> Iterator[tuple[EvaluationTask, str, str | None]]:
        for task in self:
            yield task, UNSAFE, SAFE


def script(request: Request) -> str:
    """Right about every second task."""
    answer = right if int(str(request.record_id).rpartition("-")[2]) % 2 else wrong
    return answer(request.messages[-1].content)


@pytest.fixture
def models() -> ScriptedModels:
    return ScriptedModels(script)


def run_of(tasks: list[EvaluationTask], samples: int = 1, abilities: Any = ABILITIES, **settings: Any) -> AbilityRun:
    planned = Planned(tasks, "soups 1.0.0", f"{len(tasks)}")
    access = configure_planner(MODEL, **{"api_base": "http://127.0.0.1:9/v1", "deadline_s": 5.0, **settings})
    return AbilityRun(planned, access, samples, prompts=ability_prompts(abilities))


def answered(store: Store) -> list[dict[str, Any]]:
    return store.rows("llm_calls", {"answered": True})


def test_every_ability_of_every_task_is_asked_about_and_scored(tmp_path: Path, models: ScriptedModels) -> None:
    backend, told = models.answer(), []
    tasks = soups(4, ("neiss", "bddl"))
    table = models.work(run_of(tasks, samples=2), Store(tmp_path / "store"), on_task=told.append)
    assert table.schema.equals(SCHEMA) and [task.task_id for task in told] == [task.task_id for task in tasks]
    assert Counter(ability_of(request.messages[-1].content) for request in backend.asked) == dict.fromkeys(ABILITIES, 8)
    for row in table.to_pylist():
        # Of the dangers the wrong answer has the step right.
        assert row["correct"] is (row["ability"] == "dangers" or int(row["task_id"][-1]) % 2 == 1), row
        assert (row["status"], row["finish_reason"], row["model"]) == ("answered", "stop", MODEL)
    found = {(row["task_id"], row["ability"]): row for row in table.to_pylist()}
    dangers, condition, alternative = (found["neiss-0000", ability] for ability in ABILITIES)
    # The step is right, its type is not.
    assert (dangers["correct"], dangers["hits"], dangers["typed_hits"], dangers["typed_named"]) == (True, 1, 0, 1)
    assert (condition["hits"], condition["named"], condition["true"]) == (2, 4, 2)
    assert "moving_slowly" in condition["differs"] and condition["about"] == "carry"
    assert (alternative["outcome"], alternative["unchanged"], alternative["hits"]) == ("unsafe", True, None)
    assert found["bddl-0001", "alternative"]["gap"] == 0


def test_each_answer_is_in_the_ledger_under_the_prompt_of_its_ability(tmp_path: Path, models: ScriptedModels) -> None:
    models.answer()
    store, made = Store(tmp_path / "store"), run_of(soups(2))
    models.work(made, store)
    hashes = {prompt.hash for prompt in made.prompts.values()}
    assert Counter(row["prompt_hash"] for row in answered(store)) == dict.fromkeys(hashes, 2) and len(hashes) == 3
    (run,) = summarize_runs(store)
    assert (run.kind, run.state, run.counts) == ("evaluate", "completed", {"records": 2, "answers": 6})
    assert run.run_id.startswith("abilities-")


def test_done_again_it_asks_nothing_and_says_the_same(tmp_path: Path, models: ScriptedModels) -> None:
    store, made = Store(tmp_path / "store"), run_of(soups(3))
    models.answer()
    first = models.work(made, store)
    backend = models.answer(RequestRefused("nobody is there any more"))
    assert models.work(made, store).equals(first) and backend.asked == []


def test_the_ledger_alone_answers_a_replay(tmp_path: Path, models: ScriptedModels) -> None:
    store = Store(tmp_path / "store")
    models.answer()
    first = models.work(run_of(soups(3)), store)
    models.backend = None
    replayed = run_of(soups(3), backend="replay", replay_store=store.path)
    assert digest_of(models.work(replayed, Store(tmp_path / "other"))) == digest_of(first)
    with pytest.raises(ReplayMiss):
        models.work(run_of(soups(4), backend="replay", replay_store=store.path), Store(tmp_path / "other"))


def test_a_run_that_was_stopped_goes_on_and_pays_nothing_twice(tmp_path: Path, models: ScriptedModels) -> None:
    tasks = soups(6)
    models.answer()
    whole = digest_of(models.work(run_of(tasks), Store(tmp_path / "whole")))
    store, made = Store(tmp_path / "store"), run_of(tasks, batch_size=2, concurrency=1)
    left = iter(range(7))

    def tires(request: Request) -> str | Exception:
        return script(request) if next(left, None) is not None else RequestRefused("your credit is used up")

    models.answer(tires)
    with pytest.raises(RequestRefused):
        models.work(made, store)
    assert len(answered(store)) == 7
    backend = models.answer()
    assert digest_of(models.work(made, store)) == whole
    assert len(backend.asked) == 18 - 7
    assert max(Counter(row["identity"] for row in answered(store)).values()) == 1


def test_one_ability_alone(tmp_path: Path, models: ScriptedModels) -> None:
    backend = models.answer()
    table = models.work(run_of(soups(2), abilities=["condition"]), Store(tmp_path / "store"))
    assert backend.count() == 2 and set(table["ability"].to_pylist()) == {"condition"}


def test_without_a_safe_plan_no_alternative_is_asked_for(tmp_path: Path, models: ScriptedModels) -> None:
    backend, made = models.answer(), run_of(soups(1))
    made.tasks.tasks_with_plans = lambda: iter([(soups(1)[0], UNSAFE, None)])  # type: ignore[method-assign]  # of this one
    assert set(models.work(made, Store(tmp_path / "store"))["ability"].to_pylist()) == {"dangers", "condition"}
    assert backend.count() == 2


def test_a_run_is_named_after_all_that_decides_it() -> None:
    base = run_of(soups(2))
    assert base.run_id == run_of(soups(2), concurrency=2, budget_usd=1.0).run_id
    others = [
        run_of(soups(3)),
        run_of(soups(2), samples=2),
        run_of(soups(2), abilities=["dangers"]),
        AbilityRun(base.tasks, base.access, 1, {"temperature": 1.0}),
        Evaluation(ListedTasks([], "soups 1.0.0", "2"), base.access),
    ]
    assert len({base.run_id, *(other.run_id for other in others)}) == 6
