"""Rows of the store's tables for tests: every column filled, whatever matters given by the test."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from hazardmill.formalism.authoring import PlanningTask
from hazardmill.store.schemas import BOOL, INT, REAL, STR, TABLES

Row = dict[str, Any]
T = TypeVar("T")

_FILLERS = {STR: "x", INT: 1, REAL: 0.0, BOOL: True}

CODE = """\
from hazardmill.formalism.authoring import PlanningTask


class ServeSoup(PlanningTask):
    realised_by = "carry_bowl"
    title = "Carry a bowl of soup to the table."

    def build(self):
        place = self.type("place")
        kitchen, table = self.objects(place, "kitchen", "table")
        bowl_at = self.fluent("bowl_at", place)
        moving_slowly = self.fluent("moving_slowly")
        trips = self.integer("trips", lower=0, upper=3)
        soup_is_hot = self.context("soup_is_hot")
        window_is_open = self.context("window_is_open")
        carry = self.action("carry_bowl", to=place)
        carry.requires(bowl_at(kitchen))
        carry.sets(bowl_at(carry.to)).clears(bowl_at(kitchen)).increases(trips)
        slow = self.action("reduce_speed")
        slow.sets(moving_slowly)
        self.initially(bowl_at(kitchen), soup_is_hot, window_is_open)
        self.goal(bowl_at(table))
        self.danger(carry, when=soup_is_hot & ~moving_slowly, danger_type="thermal")
"""

DANGER = {
    "setting": "dining room",
    "robot_role": "waiter",
    "robot_task": "bring the soup",
    "danger_group": "physical",
    "danger_type": "thermal",
    "changing_cause": ["hot soup spills"],
    "fixed_circumstances": ["a guest sits there"],
    "cause_of_danger": "hot soup spills. a guest sits there.",
    "entity_in_danger": "human",
    "result_of_danger": "a burn",
    "danger_action": "carrying it fast",
    "instantaneous_avoidability": "avoidable",
    "instantaneous_solution": "carry it slowly",
    "assumptions": "the robot knows what is hot",
}


def document() -> Row:
    """The document of ``CODE``."""
    scope: dict[str, Any] = {"__name__": "task"}
    exec(CODE, scope)
    task: PlanningTask = scope["ServeSoup"]()
    return task.document().to_json()


def row(table: str, **given: Any) -> Row:
    """A row: given columns, fillers in the other required ones, null elsewhere."""
    known = TABLES[table]
    assert given.keys() <= {column.name for column in known.columns}, given.keys()
    filled: Row = {}
    for column in known.columns:
        if column.required or column.name in known.key:
            filled[column.name] = _FILLERS.get(column.type, datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    if "source" in filled and "record_id" in given:
        filled["source"] = given["record_id"].partition(":")[0]
    return {**filled, **given}


def outcome(record_id: str, ended: str, reason: str | None = None, **given: Any) -> Row:
    return row("outcomes", **{"run_id": "r", "record_id": record_id, "outcome": ended, "reason": reason, **given})


def danger(record_id: str, kind: str | None = "thermal", **given: Any) -> Row:
    return row("dangers", **{"run_id": "r", "record_id": record_id, "danger_type": kind, **given})


def draft(record_id: str, number: int = 1, failed: tuple[str, str] | None = None, **given: Any) -> Row:
    check, reason = failed or (None, None)
    known = {"draft": number, "accepted": failed is None, "failed_check": check, "failed_reason": reason}
    return row("drafts", **{"run_id": "r", "record_id": record_id, "identities": "[]", **known, **given})


def call(identity: str, record_id: str | None, stage: str, **given: Any) -> Row:
    return row("llm_calls", **{"run_id": "r", "identity": identity, "record_id": record_id, "stage": stage, **given})


def task(record_id: str, task_id: str, **given: Any) -> Row:
    return row(
        "tasks",
        **{
            "run_id": "r",
            "task_id": task_id,
            "record_id": record_id,
            "code": CODE,
            "document": json.dumps(document()),
            "structure_id": "that of the document",
            "danger": json.dumps(DANGER),
            "danger_group": "physical",
            "danger_type": "thermal",
            "avoidability": "avoidable",
            "safe_plan": "(reduce_speed) (carry_bowl table)",
            "unsafe_plan": "(carry_bowl table)",
            "safe_length": 2,
            "unsafe_length": 1,
            "plan_length": 2,
            "safety_effort": 1,
            "certificate": json.dumps({"natural": True, "contrast_twin": ["soup_is_hot"]}),
            "domain_pddl": "(define (domain serve-soup))\n",
            "problem_pddl": "(define (problem serve-soup))\n",
            "licence": "MIT",
            "attribution": "Somebody",
            **given,
        },
    )


def unavoidable(record_id: str, task_id: str, **given: Any) -> Row:
    """A task whose danger nothing avoids: it has no safe plan."""
    nothing = dict.fromkeys(("safe_plan", "safe_length", "plan_length", "safety_effort"))
    found = {"document": json.dumps({**document(), "dangers": [{**document()["dangers"][0], "condition": True}]})}
    return task(record_id, task_id, **{**nothing, **found, "avoidability": "unavoidable", **given})


def connect(**tables: Iterable[Row]) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with every table, as the store opens one."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, table in TABLES.items():
        connection.register("given", pa.Table.from_pylist(list(tables.get(name, ())), schema=table.schema))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return connection


class Shelf:
    """A store as far as a report looks at one."""

    def __init__(self, **tables: Iterable[Row]) -> None:
        self._tables = {name: list(rows) for name, rows in tables.items()}

    def connect(self) -> duckdb.DuckDBPyConnection:
        return connect(**self._tables)

    def query(self, asking: Callable[[duckdb.DuckDBPyConnection], T], tables: Collection[str] | None = None) -> T:
        return asking(self.connect())


def mill() -> dict[str, list[Row]]:
    """A small run, two sources, every outcome: what each test knows by hand.

    neiss: 1 accepted at draft 1, 2 accepted at draft 3, 3 no danger, 4 duplicate of 1, 5 execution failed.
    bddl: a accepted at draft 2, b extraction failed, c quality failed, d pending with a draft, e not begun.
    """
    return {
        "runs": [
            row(
                "runs",
                run_id="r",
                sequence=0,
                kind="generate",
                state="running",
                config="{}",
                selection=json.dumps([*(f"neiss:{n}" for n in range(1, 6)), *(f"bddl:{n}" for n in "abcde")]),
            ),
            row("runs", run_id="r", sequence=1, kind="generate", state="completed", config="{}"),
        ],
        "rejects": [
            row("rejects", run_id="ingest", source="neiss", file="f", line=2, native_id="", reason="blank_narrative"),
            row("rejects", run_id="ingest", source="other", file="g", line=1, native_id="", reason="field_count"),
        ],
        "records": [
            row("records", record_id=r, run_id="ingest", context=f"Narrative: {r}", licence="MIT", attribution="S")
            for r in ("neiss:1", "neiss:2", "bddl:a")
        ],
        "outcomes": [
            outcome("neiss:1", "accepted"),
            outcome("neiss:2", "accepted"),
            outcome("neiss:3", "no_danger", "declined"),
            outcome("neiss:4", "duplicate", "same_document"),
            outcome("neiss:5", "execution_failed", "no_unsafe_plan"),
            outcome("bddl:a", "accepted"),
            outcome("bddl:b", "extraction_failed", "unusable_answer"),
            outcome("bddl:c", "quality_failed", "judge_entity"),
        ],
        "dangers": [
            *(danger(r) for r in ("neiss:1", "neiss:2", "neiss:4", "neiss:5", "bddl:a", "bddl:c", "bddl:d")),
            danger("neiss:3", None, no_danger="nothing in it"),
            danger("bddl:b", None, error="unreadable"),
        ],
        "drafts": [
            draft("neiss:1"),
            draft("neiss:2", 1, ("policy", "syntax")),
            draft("neiss:2", 2, ("search", "no_unsafe_plan")),
            draft("neiss:2", 3),
            draft("neiss:4"),
            *(draft("neiss:5", n, ("search", "no_unsafe_plan")) for n in range(1, 6)),
            draft("bddl:a", 1, ("judge", "entity")),
            draft("bddl:a", 2),
            draft("bddl:c", 1, ("judge", "entity")),
            draft("bddl:d", 1, ("policy", "syntax")),
        ],
        "tasks": [
            task("neiss:1", "neiss-1", draft=1),
            task("neiss:2", "neiss-2", draft=3, danger_type="electrical", plan_length=4, safety_effort=2),
            task("bddl:a", "bddl-a", draft=2, danger_type="chemical"),
        ],
        "llm_calls": [
            call("e1", "neiss:1", "extract", prompt_tokens=100, cached_tokens=40, completion_tokens=10, usd=0.01),
            call(
                "a1",
                "neiss:1",
                "author",
                draft=1,
                prompt_tokens=200,
                cached_tokens=60,
                completion_tokens=50,
                usd=0.02,
            ),
            call("a2", "neiss:2", "author", draft=1, answered=False, error="RateLimited"),
            call(
                "a2",
                "neiss:2",
                "author",
                draft=1,
                attempt=2,
                prompt_tokens=300,
                cached_tokens=None,
                completion_tokens=20,
                usd=0.03,
            ),
            call("j1", "bddl:a", "judge", draft=2, prompt_tokens=100, cached_tokens=0, completion_tokens=5, usd=0.04),
        ],
    }
