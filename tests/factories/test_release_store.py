from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from factories.release_store import HOST, MODEL, by_model, multiplied, rewritten, with_unavoidable
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.quality.structure import structure_id
from hazardmill.sandbox.check import check
from hazardmill.sandbox.jail import Jail
from hazardmill.store.schemas import TABLES
from hazardmill.store.store import Store
from tests.once import offline_run

Row = dict[str, Any]
TASKS = 60


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return offline_run(tmp_path_factory, 2)


@pytest.fixture(scope="module")
def model(offline: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return rewritten(offline, tmp_path_factory.mktemp("model") / "store", by_model)


@pytest.fixture(scope="module")
def large(model: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return multiplied(model, tmp_path_factory.mktemp("large") / "store", TASKS)


def test_a_copy_of_a_store_has_the_same_digest(offline: Store, tmp_path: Path) -> None:
    copied = rewritten(offline, tmp_path / "store", lambda table, row: row)
    assert copied.digest() == offline.digest() and copied.verify() == []


def test_no_row_says_any_more_that_our_rules_wrote_it(offline: Store, model: Store) -> None:
    for name, table in TABLES.items():
        rows = model.rows(name)
        assert len(rows) == offline.count(name)
        if "model_answered" in {column.name for column in table.columns}:
            assert OFFLINE_MODEL not in {row["model_answered"] for row in rows}
    assert {row["host"] for row in model.rows("llm_calls")} == {HOST}
    for row in model.rows("tasks"):
        assert (row["model_answered"], row["backend"]) == (MODEL, "litellm")
        assert json.loads(row["document"])["provenance"]["label"] is None


def test_each_of_the_many_is_a_real_task_of_its_own(large: Store) -> None:
    rows = large.rows("tasks")
    assert len({row["task_id"] for row in rows}) == len({row["record_id"] for row in rows}) == TASKS
    for row in rows:
        document = Document.from_json(json.loads(row["document"]))
        bare = Document.from_json({**document.to_json(), "provenance": {}})
        certificate = certify(bare)
        assert row["task_id"] == f"{row['source']}-{document.hash[:12]}" and not certificate.refusals
        assert json.loads(row["certificate"]) == json.loads(json.dumps(certificate.to_json()))
        assert (row["domain_pddl"], row["problem_pddl"]) == (domain_pddl(document), problem_pddl(document))
        assert row["structure_id"] == structure_id(document.to_json())
        assert (row["safe_plan"], row["unsafe_plan"]) == (
            certificate.solution.safe_text,
            certificate.solution.unsafe_text,
        )


def test_their_code_gives_their_document(large: Store) -> None:
    with Jail("minimal") as jail:
        for row in large.rows("tasks")[:5]:
            found = check(row["code"], jail)
            assert isinstance(found, Document) and found.hash == row["document_hash"]


def test_every_row_hangs_together(large: Store) -> None:
    tasks = {row["record_id"]: row for row in large.rows("tasks")}
    selection = json.loads(large.rows("runs", {"sequence": 0})[0]["selection"])
    assert selection == {row["record_id"]: row["content_hash"] for row in large.rows("records")}
    identities = {row["identity"] for row in large.rows("llm_calls")}
    for name in ("dangers", "drafts"):
        for row in large.rows(name):
            assert set(json.loads(row["identities"])) <= identities and row["record_id"] in tasks
    assert {row["task_id"] for row in large.rows("outcomes")} == {row["task_id"] for row in tasks.values()}
    assert all(row["input_hash"] == selection[record] for record, row in tasks.items())


def test_structures_come_several_times_once_circumstances_do(model: Store, tmp_path: Path) -> None:
    record = min(row["record_id"] for row in model.rows("tasks", {"avoidability": "avoidable"}))
    one = rewritten(model, tmp_path / "one", lambda table, row: row if row.get("record_id", record) == record else None)
    rows = multiplied(one, tmp_path / "store", 70).rows("tasks", None, ["structure_id"])
    assert len(rows) == 70
    assert len({row["structure_id"] for row in rows}) == 64


def test_the_same_arguments_give_the_same_rows(model: Store, large: Store, tmp_path: Path) -> None:
    again = multiplied(model, tmp_path / "again", TASKS)
    other = multiplied(model, tmp_path / "other", TASKS, seed=1)
    assert again.digest() == large.digest() != other.digest()


def test_a_task_without_a_safe_plan_can_be_added(model: Store, tmp_path: Path) -> None:
    store = with_unavoidable(rewritten(model, tmp_path / "store", lambda table, row: row))
    (row,) = store.rows("tasks", {"avoidability": "unavoidable"})
    assert row["safe_plan"] is None and store.count("tasks") == model.count("tasks") + 1
    lines = {line["name"]: line["passed"] for line in json.loads(row["certificate"])["lines"]}
    assert lines["unavoidable"] is True
