"""Stores whose rows were altered after they were written, with checksums to match."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factories.release_store import rewritten

from hazardmill.store.schemas import TASKS
from hazardmill.store.store import Store
from hazardmill.verification.stored import verify_store

Row = dict[str, Any]


def altered(store: Store, folder: Path, table: str, change: Callable[[Row], Row | None]) -> Store:
    """The store with other rows in a table, whole again as far as checksums go."""
    made = rewritten(store, folder, lambda name, row: change(row) if name == table else row)
    assert made.verify_files() == []
    return made


def found(store: Store) -> list[tuple[str, str]]:
    return [(finding.code, finding.where) for finding in verify_store(store).findings]


def test_nothing_is_found_where_nothing_was_altered(offline_store: Store, model_store: Store, one_task: Store) -> None:
    for store in (offline_store, model_store, one_task):
        verified = verify_store(store)
        assert verified.tasks == store.count("tasks") > 0
        assert verified.findings == ()


def another(row: Row, name: str) -> object:
    value = row[name]
    if isinstance(value, int):
        return value + 1
    return "another" if value is None else f"{value}x"


@pytest.mark.parametrize("name", [column.name for column in TASKS.columns])
def test_every_column_of_a_task_is_held_against_something(one_task: Store, tmp_path: Path, name: str) -> None:
    store = altered(one_task, tmp_path / "store", "tasks", lambda row: {**row, name: another(row, name)})
    verified = verify_store(store)
    assert verified.tasks == 1
    assert verified.findings
    # A task that is of no record, run or draft misses its rows; all else is told of by its column.
    if name not in ("run_id", "record_id", "draft"):
        assert name in {finding.where for finding in verified.findings}
    said = f" --store {store.path}"
    assert all(
        finding.message and "hazardmill " in finding.remedy and said in finding.remedy for finding in verified.findings
    )


def document(**changes: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, "document": canonical({**json.loads(row["document"]), **changes})}


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def unlabelled(row: Row) -> Row:
    value = json.loads(row["document"])
    return {**row, "document": canonical({**value, "provenance": {**value["provenance"], "label": None}})}


def witness(row: Row) -> Row:
    value = json.loads(row["certificate"])
    (line,) = (line for line in value["lines"] if line["name"] == "contextual")
    line["witness"]["twin"]["texts"]["title"] = "Another one."
    return {**row, "certificate": canonical(value)}


def danger(row: Row) -> Row:
    return {**row, "danger": canonical({**json.loads(row["danger"]), "setting": "Another one."})}


def agreement(row: Row) -> Row:
    return {**row, "cross_check": canonical({**json.loads(row["cross_check"]), "agrees": None})}


def engine(row: Row) -> Row:
    value = json.loads(row["cross_check"])
    value["engines"]["enhsp"]["safe"]["plan"] = row["unsafe_plan"]
    return {**row, "cross_check": canonical(value)}


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        (lambda row: {**row, "code": "import os\n"}, "altered", "code"),
        (lambda row: {**row, "code": row["code"].replace("self.goal(", "self.goal(True, ", 1)}, "altered", "code"),
        (lambda row: {**row, "code": f"# -*- coding: unicode_escape -*-\n{row['code']}"}, "altered", "code"),
        (document(name="Other"), "altered", "code"),
        (document(name="Other"), "contradiction", "document"),
        (document(texts={}), "contradiction", "document"),
        (document(realised_by=None), "altered", "certificate"),
        (document(max_danger=7), "altered", "document_hash"),
        (document(format="hazardmill-task/0"), "unreadable", "document"),
        (unlabelled, "unlabelled", "document"),
        (lambda row: {**row, "model_answered": "gpt-x"}, "unlabelled", "model_answered"),
        (lambda row: {**row, "structure_id": "0" * 64}, "altered", "structure_id"),
        (lambda row: {**row, "safe_plan": row["unsafe_plan"]}, "altered", "safe_plan"),
        (lambda row: {**row, "safe_plan": None}, "missing", "safe_plan"),
        (lambda row: {**row, "unsafe_plan": f"{row['unsafe_plan']} (fly)"}, "altered", "unsafe_plan"),
        (lambda row: {**row, "plan_length": None}, "altered", "plan_length"),
        (lambda row: {**row, "avoidability": "unavoidable"}, "contradiction", "avoidability"),
        (lambda row: {**row, "certificate": "{}"}, "missing", "certificate"),
        (witness, "altered", "certificate"),
        (danger, "contradiction", "danger"),
        (agreement, "contradiction", "cross_check"),
        (engine, "altered", "cross_check"),
        (lambda row: {**row, "licence": "MIT-0"}, "contradiction", "licence"),
        (lambda row: {**row, "attribution": "Somebody"}, "contradiction", "attribution"),
        (lambda row: {**row, "draft": row["draft"] + 1}, "missing", "drafts"),
    ],
)
def test_an_edit_of_a_task_is_told_by_its_kind(
    one_task: Store, tmp_path: Path, change: Callable[[Row], Row], code: str, where: str
) -> None:
    assert (code, where) in found(altered(one_task, tmp_path / "store", "tasks", change))


@pytest.mark.parametrize(
    ("table", "change", "code", "where"),
    [
        ("drafts", lambda row: {**row, "accepted": False}, "contradiction", "draft"),
        ("drafts", lambda row: {**row, "document": None}, "contradiction", "document"),
        ("drafts", lambda row: {**row, "model_answered": "gpt-x"}, "contradiction", "model_answered"),
        ("drafts", lambda row: None, "missing", "drafts"),
        ("dangers", lambda row: {**row, "robot_task": "Another one."}, "contradiction", "danger"),
        ("dangers", lambda row: None, "missing", "dangers"),
        ("outcomes", lambda row: {**row, "outcome": "quality_failed"}, "contradiction", "run_id"),
        ("outcomes", lambda row: {**row, "task_id": "neiss-000000000000"}, "contradiction", "task_id"),
        ("outcomes", lambda row: None, "missing", "outcomes"),
        ("records", lambda row: {**row, "licence": "MIT-0"}, "contradiction", "licence"),
        ("records", lambda row: None, "missing", "records"),
    ],
)
def test_an_edit_of_what_a_task_was_made_of_is_found(
    one_task: Store, tmp_path: Path, table: str, change: Callable[[Row], Row | None], code: str, where: str
) -> None:
    assert (code, where) in found(altered(one_task, tmp_path / "store", table, change))


def test_a_record_that_says_something_else_by_now_is_no_fault(one_task: Store, tmp_path: Path) -> None:
    store = altered(
        one_task, tmp_path / "store", "records", lambda row: {**row, "content_hash": "0" * 64, "licence": "MIT-0"}
    )
    assert found(store) == []


def test_one_bad_task_does_not_hide_the_others(offline_store: Store, tmp_path: Path) -> None:
    first, *_, last = sorted(row["task_id"] for row in offline_store.rows("tasks"))
    bad = {first: {"document": "[" * 100_000}, last: {"code": ""}}
    store = altered(offline_store, tmp_path / "store", "tasks", lambda row: {**row, **bad.get(row["task_id"], {})})
    findings = verify_store(store).findings
    assert {finding.task.split()[0] for finding in findings} == {first, last}
    assert ("altered", "code") in {(finding.code, finding.where) for finding in findings if last in finding.task}
