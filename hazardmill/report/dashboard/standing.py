"""How a generation run stands, and the command that resumes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hazardmill.store.store import Store

_NEARLY_SPENT: Final = 0.9
"""Share of the budget from which on the command to resume a stopped run has a larger one."""


@dataclass(frozen=True)
class RunStanding:
    """The state of a generation run, and the place of its store.

    Attributes:
        run_id: The run.
        state: Its state for display.
        config: Its configuration, as stored.
        resume: The command that resumes the run; null if nothing is left, or a process works on it.
        larger_budget: A budget in USD with which the run could finish, if its own is nearly spent; else null.
        store: The address of the store, for people.
    """

    run_id: str
    state: str
    config: Mapping[str, Any]
    resume: str | None
    larger_budget: float | None
    store: str

    @classmethod
    def of(cls, store: Store, run_id: str) -> RunStanding:
        """Return the state of a run.

        Raises:
            InputError: The store has no generation run with that id.
            StoreError: The store cannot be read.
        """  # noqa: DOC501  # the helper makes an UnknownName
        from hazardmill.runs.status import KILLED, RETRACTED, name_state
        from hazardmill.store.address import display_name
        from hazardmill.store.maintenance.findings import command
        from hazardmill.store.run_ids import known_runs, unknown_run

        rows = store.rows(
            "runs", {"run_id": run_id, "kind": "generate"}, ["run_id", "sequence", "state", "config", "counts"]
        )
        if not rows:
            raise unknown_run(run_id, known_runs(store, "generate"), store.address, kind="generation run")
        row = max(rows, key=lambda row: row["sequence"])
        state, resume, larger = name_state(store, row), None, None
        if state == "completed" and _has_lost_records(store, row):
            state = RETRACTED
        config = json.loads(row["config"])
        if state in ("stopped", "failed", KILLED, RETRACTED):
            larger = _larger_budget(store, row, config)
            option = "" if larger is None else f" --budget-usd {larger:g}"
            resume = command(f"run resume {run_id}{option}", store.path)
        return cls(run_id, state, config, resume, larger, display_name(store.path))


def _has_lost_records(store: Store, row: Mapping[str, Any]) -> bool:
    """Whether a rebuild of the store left records of a completed run without an outcome."""
    records = json.loads(row["counts"] or "{}").get("records")
    return records is not None and store.count("outcomes", {"run_id": row["run_id"]}) < sum(records.values())


def _larger_budget(store: Store, row: Mapping[str, Any], config: Mapping[str, Any]) -> float | None:
    """Return a larger budget in USD if that of the run is nearly spent, else null."""
    from hazardmill.runs.budgets import bound_spending, suggest_budget

    budget, records = config.get("budget_usd"), json.loads(row["counts"] or "{}").get("records")
    if budget is None or records is None:
        return None
    spent = bound_spending(store, row["run_id"])
    if spent is None or spent < _NEARLY_SPENT * budget:
        return None
    return suggest_budget(store, row["run_id"], budget, sum(records.values()))
