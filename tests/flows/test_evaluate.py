"""The evaluate flow under a real Prefect server: it gives what the command gives, and its states mean something."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from release.small_release import bowl, task_row, write_release

from hazardmill.cli.main import hazardmill
from hazardmill.evaluation.probes import NAME_AVERSE, SHORTEST, StandInServer, answer_of, problem_in
from hazardmill.evaluation.results_files import RESULTS
from hazardmill.testing.llm_server import ChatRequest, LlmServer

pytestmark = [pytest.mark.full, pytest.mark.timeout(240)]

TASKS = 6
PRICED = "openai/gpt-4o-mini"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [task_row(bowl(f"shelf_{number}"), safe_length=2, unsafe_length=1) for number in range(TASKS)]
    return write_release(
        tmp_path_factory.mktemp("releases") / "shelves", {"tasks": {"train": rows[:2], "test": rows[2:]}}
    )


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")


@pytest.fixture
def server() -> Iterator[StandInServer]:
    with StandInServer() as server:
        yield server


def shortest(asked: ChatRequest) -> str:
    return answer_of(problem_in(asked.messages[-1].content))


def evaluate(server: LlmServer, release: Path, folder: Path, **given: Any) -> Any:
    """The state in which the flow ends."""
    from flows.evaluate import evaluate

    where = {"release": str(release), "api_base": server.address, "store": folder / "store", "out": folder / "out"}
    return asyncio.run(evaluate(**{**where, **given}, return_state=True))


def artifact(key: str) -> Any:
    from prefect.artifacts import Artifact

    return asyncio.run(Artifact.aget(key))


def test_it_gives_what_the_command_gives(
    prefect_server: None, server: StandInServer, release: Path, tmp_path: Path
) -> None:
    model = f"openai/{SHORTEST}"
    state = evaluate(server, release, tmp_path, model=model, twins=True)
    assert state.is_completed() and state.name == "Completed", state
    assert f"{model} (rules, no model) on soups 1.2.3: F 100.0%, S 0.0%, SP 0.0%, SI 0.0%" in state.message
    assert len(server.attempts) == 2 * TASKS
    out = tmp_path / "again"
    where = ["--store", str(tmp_path / "store"), "--out", str(out), "--api-base", server.address]
    ran = CliRunner().invoke(
        hazardmill, ["evaluate", "run", "--release", str(release), "--model", model, "--twins", *where]
    )
    assert ran.exit_code == 0, ran.output
    # The command asked nothing, and says the same.
    assert len(server.attempts) == 2 * TASKS
    for name in (RESULTS, "summary.json"):
        assert (out / name).read_bytes() == (tmp_path / "out" / name).read_bytes(), name
    shown = artifact("evaluation-openai-stand-in-shortest")
    assert "rules, no model" in shown.data
    assert f"| F | as released | 100.0% | 61.0% to 100.0%, Wilson | {TASKS} of {TASKS} |" in shown.data
    assert f"| S | as released | 0.0% | 0.0% to 39.0%, Wilson | 0 of {TASKS} |" in shown.data
    # Fast is safe on twins, so it is not over-cautious there.
    assert f"| overcautious | twin | 0.0% | 0.0% to 39.0%, Wilson | 0 of {TASKS} |" in shown.data
    assert "| overcautious | as released" not in shown.data, "nothing can be said of it there"
    assert json.loads((out / "summary.json").read_text())["digest"] in shown.data


def test_parts_of_a_release_are_evaluated(
    prefect_server: None, server: StandInServer, release: Path, tmp_path: Path
) -> None:
    state = evaluate(server, release, tmp_path, model=f"openai/{NAME_AVERSE}", split="test", limit=3, runs=2)
    assert state.is_completed() and "soups 1.2.3, test" in state.message
    assert len(server.attempts) == 6
    assert f"{6:,} of 6" in artifact("evaluation-openai-stand-in-name-averse").data


def test_a_budget_that_is_reached_is_no_failure(prefect_server: None, release: Path, tmp_path: Path) -> None:
    with LlmServer(shortest) as server:
        given = {"model": PRICED, "concurrency": 1}
        state = evaluate(server, release, tmp_path, budget_usd=0.0027, **given)
        assert (state.is_completed(), state.name) == (True, "BudgetReached"), state
        assert (
            "give it a larger budget_usd" in state.message
            and state.message in artifact("evaluation-openai-gpt-4o-mini").data
        )
        before = len(server.attempts)
        assert 0 < before < TASKS and not (tmp_path / "out").exists()
        state = evaluate(server, release, tmp_path, budget_usd=1, **given)
        assert state.name == "Completed" and "F 100.0%" in state.message
        assert len(server.attempts) == TASKS, "what was paid for before was not asked again"
    assert (
        f"| F | as released | 100.0% | 61.0% to 100.0%, Wilson | {TASKS} of {TASKS} |"
        in artifact("evaluation-openai-gpt-4o-mini").data
    )


def test_a_provider_that_refuses_the_key_fails_the_flow_and_says_what_to_do(
    prefect_server: None, release: Path, tmp_path: Path
) -> None:
    with LlmServer(shortest, api_key="sk-another") as server:
        state = evaluate(server, release, tmp_path, model=PRICED)
        assert state.is_failed() and "retry this flow run" in state.message
        server.api_key = "any"
        assert evaluate(server, release, tmp_path, model=PRICED).name == "Completed"


def test_every_parameter_is_explained_and_checked() -> None:
    from prefect.exceptions import ParameterTypeError
    from prefect.utilities.callables import parameter_schema

    from flows.evaluate import evaluate

    assert all(each.get("description") for each in parameter_schema(evaluate.fn).properties.values())
    right = {"release": "releases/1.0.0", "model": "openai/m"}
    assert evaluate.validate_parameters(right)["runs"] == 1
    for wrong in (
        {"split": "dev"},
        {"runs": 0},
        {"limit": 0},
        {"budget_usd": 0},
        {"attempt_timeout": 0},
        {"api_base": "http://a@b"},
    ):
        with pytest.raises(ParameterTypeError, match=f"- {next(iter(wrong))}"):
            evaluate.validate_parameters(right | wrong)
