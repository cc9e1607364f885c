from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.search.engines import external as engines
from hazardmill.formalism.search.engines.external import EngineAnswer
from hazardmill.generation.execute import Execution, execute
from hazardmill.runs import cross_check
from hazardmill.runs.cross_check import run_cross_check, wants_cross_check
from hazardmill.sandbox.jail import Jail
from tests.generation.support import SOUP, faulty, renamed


@pytest.fixture(scope="module")
def executions(jail: Jail) -> list[Execution]:
    things = ["bowl", *(f"thing_{number}" for number in range(15))]
    return [asyncio.run(execute(renamed(thing), jail, DEFAULT_LIMIT)) for thing in things]


def test_the_sample_grows_with_the_share_and_depends_on_nothing_else(executions: list[Execution]) -> None:
    documents = [execution.document for execution in executions]
    chosen = [{d.hash for d in documents if wants_cross_check(d, share)} for share in (0.0, 0.3, 0.7, 1.0)]
    assert chosen[0] == set() and chosen[3] == {document.hash for document in documents}
    assert chosen[0] < chosen[1] < chosen[2] < chosen[3]


def test_an_engines_plan_is_judged_by_our_verdict_and_equal_runs_get_equal_rows(
    executions: list[Execution], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"safe": "(reduce_speed) (carry_bowl)", "unsafe": "(reduce_speed) (carry_bowl)"}
    seconds = iter(range(100))

    def ask(document: object, *, safe_length: int, unsafe_length: int, engines: Any, timeout_s: float) -> Any:
        assert (safe_length, unsafe_length, timeout_s) == (2, 1, cross_check.TIMEOUT_S)
        answers = {"solved": said, "timeout": dict.fromkeys(said)}
        return {
            "agrees": True,
            "engines": {
                engine: {
                    goal: {
                        "status": status,
                        "plan": plan,
                        "agrees": plan and True,
                        "seconds": next(seconds),
                        "message": None if plan else f"no answer in /somewhere/{next(seconds)}/problem.pddl",
                    }
                    for goal, plan in answers[status].items()
                }
                for engine, status in zip(engines, ("solved", "timeout"), strict=True)
            },
        }

    monkeypatch.setattr(cross_check, "cross_check", ask)
    execution = executions[0]
    first, second = (run_cross_check(execution.document, execution.certificate.solution) for _ in range(2))
    assert first == second
    solved, silent = first["engines"].values()
    assert solved["safe"]["verdict"] == solved["unsafe"]["verdict"] == {"feasible": True, "safe": True}
    assert (solved["safe"]["agrees"], solved["unsafe"]["agrees"]) == (True, False)
    assert silent["safe"]["verdict"] is None and silent["safe"]["agrees"] is None
    assert first["agrees"] is False
    assert silent["safe"]["message"] == "no answer in (file)"


def test_an_engine_that_finds_no_safe_plan_either_agrees(jail: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(engine: str, document: object, goal: str, timeout_s: float) -> EngineAnswer:
        return EngineAnswer("unsolvable") if goal == "safe" else EngineAnswer("solved", (("carry_bowl", ()),))

    monkeypatch.setattr(engines, "solve_with", ask)
    execution = asyncio.run(execute(faulty("no_safe_plan"), jail, DEFAULT_LIMIT, unavoidable=True))
    said = run_cross_check(execution.document, execution.certificate.solution)
    assert said["agrees"] is True
    assert {answers["safe"]["expected_length"] for answers in said["engines"].values()} == {None}


@pytest.mark.full
def test_real_engines_agree_with_search(jail: Jail) -> None:
    execution = asyncio.run(execute(SOUP, jail, DEFAULT_LIMIT))
    said = run_cross_check(execution.document, execution.certificate.solution)
    assert said["agrees"] is True, json.dumps(said)
    assert {answer["status"] for answers in said["engines"].values() for answer in answers.values()} == {"solved"}
