from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import BudgetReached, SettingsError, UsageError
from hazardmill.generation.models import Models
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.limits.shared_budget import SharedBudgetFile
from hazardmill.runs import budgets
from hazardmill.runs.budgets import FOLDER, bound_spending, suggest_budget
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.generation.support import APPROVED, FOUND, THINGS, fenced, soup
from tests.running import Use

MODEL = "openai/gpt-4o-mini"
USD = 0.00021
"""What an answer costs: 1,000 tokens in, 100 out."""


def backend() -> ScriptedBackend:
    return ScriptedBackend(
        extract=FOUND,
        author=lambda request: fenced(soup(THINGS[int(str(request.record_id).partition(":")[2]) - 1])),
        judge=APPROVED,
    )


@pytest.fixture(autouse=True)
def asked(use: Use) -> ScriptedBackend:
    return use(backend())


def config(notes: Path, **fields: Any) -> RunConfig:
    models = Models(extract=MODEL, author=MODEL, judge=MODEL)
    inputs = (RunInput(source="notes", path=notes),)
    return RunConfig.model_validate({"inputs": inputs, "models": models, "jail": "minimal", "concurrency": 1} | fields)


def worked(run: Run) -> Budget | None:
    async def work() -> Budget | None:
        async with run.session() as session:
            for batch in run.waves():
                await session.work_through([batch])
            return session.budget

    with run.under_way():
        return asyncio.run(work())


Begin = Callable[[Store, str, RunConfig], Run]


@pytest.fixture
def begun(use: Use) -> Begin:
    """Starts a run that asks the backend in use."""
    return lambda store, run_id, configured: Run.start(store, configured, run_id, resources=use.resources)[0]


def leases(store: Store, name: str = "team") -> dict[str, float]:
    content = json.loads((store.path / FOLDER / f"{name}.json").read_text())
    return {run_id: amount / 1e12 for run_id, amount in content["leases"].items()}


def test_without_a_limit_there_is_no_budget(store: Store, notes: Path, begun: Begin) -> None:
    assert worked(begun(store, "r", config(notes))) is None
    assert not (store.path / FOLDER).exists()


def test_a_budget_of_its_own_needs_no_purse(store: Store, notes: Path, begun: Begin) -> None:
    budget = worked(begun(store, "r", config(notes, budget_usd=1.0)))
    assert budget is not None
    assert budget.spent_usd == pytest.approx(18 * USD) == pytest.approx(bound_spending(store, "r"))
    assert not (store.path / FOLDER).exists()


def test_runs_that_name_a_budget_share_it(
    store: Store, notes: Path, tmp_path: Path, asked: ScriptedBackend, begun: Begin, use: Use
) -> None:
    shared = {"budget_usd": 0.005, "budget_id": "team"}
    with pytest.raises(BudgetReached):
        worked(begun(store, "a", config(notes, **shared)))
    first = bound_spending(store, "a")
    assert first is not None and 0 < first <= 0.005
    # What it leased and did not spend is back.
    assert leases(store) == {"a": pytest.approx(first)}
    # Another draw asks all anew, and what is left is too little for it, too.
    with pytest.raises(BudgetReached):
        worked(begun(store, "b", config(notes, sample=1, **shared)))
    assert sum(leases(store).values()) <= 0.005
    # One with a name of its own, or a larger size, goes on.
    worked(begun(store, "c", config(notes, sample=2, budget_usd=1.0, budget_id="mine")))
    resumed = Run.load(store, "a", use.resources).resume(config(notes, budget_usd=1.0, budget_id="team"))
    worked(resumed)
    assert resumed.counts()["pending"] == 0
    assert leases(store)["a"] == pytest.approx(18 * USD)


def test_what_a_dead_run_leased_and_did_not_spend_is_taken_back(store: Store, notes: Path, begun: Begin) -> None:
    worked(begun(store, "dead", config(notes, budget_usd=1.0, budget_id="team")))
    path = store.path / FOLDER / "team.json"
    content = json.loads(path.read_text())
    content["leases"]["dead"] = 10**12
    path.write_text(json.dumps(content))
    worked(begun(store, "next", config(notes, sample=1, budget_usd=1.0, budget_id="team")))
    assert leases(store)["dead"] == pytest.approx(18 * USD)


def test_nobody_who_spends_waits_while_the_ledger_of_the_dead_is_read(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch, begun: Begin
) -> None:
    shared = {"budget_usd": 1.0, "budget_id": "team"}
    worked(begun(store, "dead", config(notes, **shared)))
    read: list[str] = []

    def reading(at: Store, run_id: str) -> float | None:
        read.append(run_id)
        # Another worker comes and takes a slice meanwhile.
        with SharedBudgetFile(store.path / FOLDER, "team", "other", 1.0) as shared:
            assert shared.lease(1) == 1
        return bound_spending(at, run_id)

    monkeypatch.setattr(budgets, "bound_spending", reading)
    worked(begun(store, "next", config(notes, sample=1, **shared)))
    assert read == ["dead"]
    worked(begun(store, "last", config(notes, sample=2, **shared)))
    assert sorted(read) == ["dead", "next", "other"], "each once when it is gone"


def test_attempts_of_unknown_cost_let_no_budget_be_kept(store: Store, notes: Path, begun: Begin) -> None:
    run = begun(store, "r", config(notes))
    worked(run)
    row = store.rows("llm_calls")[0]
    with store.writer("r") as writer:
        writer.append_sync({"llm_calls": [{**row, "usd": None, "usd_upper": None}]})
    assert bound_spending(store, "r") is None
    with pytest.raises(SettingsError, match="the cost of attempts in run r is unknown"):
        worked(run.resume(config(notes, budget_usd=1.0)))
    assert max(store.rows("runs"), key=lambda row: row["sequence"])["state"] == "stopped"


def test_wrong_budgets_are_wrong_calls(store: Store, notes: Path, begun: Begin) -> None:
    with pytest.raises(UsageError, match="the size of the budget team is missing"):
        begun(store, "r", config(notes, budget_id="team"))
    with pytest.raises(UsageError, match="cannot name a budget"):
        begun(store, "r", config(notes, budget_usd=1.0, budget_id="../up"))


def test_enough_is_judged_by_what_finished_records_took(store: Store, notes: Path, begun: Begin) -> None:
    assert suggest_budget(store, "r", 0.02, 6) == 0.06
    run = begun(store, "r", config(notes))
    worked(run)
    # Six records took 18 answers: 60 more take 180, and a quarter to spare.
    assert suggest_budget(store, "r", 0.01, 66) == pytest.approx(0.058)
    assert suggest_budget(store, "r", 5.0, 6) == 7.5
