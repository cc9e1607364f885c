"""Proofs found again from documents alone, here and in worker processes."""

from __future__ import annotations

import errno
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from hazardmill.errors import SandboxError, SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.release.gates import proofs
from hazardmill.release.gates.proofs import Examiners, TaskExamination, examine
from release.shown import Release, Row, document_of, remade, ten_of


@pytest.fixture(scope="module")
def ten(every: Release) -> Release:
    """Some of them."""
    return ten_of(every)


@pytest.fixture
def release(ten: Release) -> Release:
    """Some of them, to be changed."""
    return ten.copy()


# The proofs


def changed_document(row: Row) -> Row:
    plain = json.loads(row["document"])
    plain["max_danger"] += 1
    return {"document": canonical_json(plain)}


def other_line(row: Row) -> Row:
    certificate = json.loads(row["certificate"])
    certificate["lines"][2]["witness"]["before"]["danger"] += 1
    return {"certificate": canonical_json(certificate)}


def missing_line(row: Row) -> Row:
    certificate = json.loads(row["certificate"])
    del certificate["lines"][-1]
    return {"certificate": canonical_json(certificate)}


def claimed_more(row: Row) -> Row:
    certificate = json.loads(row["certificate"])
    certificate["expanded"] += 1
    return {"certificate": canonical_json(certificate)}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (changed_document, ["its document has the hash"]),
        (lambda row: {"document_hash": "0" * 64}, ["its document has the hash"]),
        (lambda row: {"task_id": "alfred-000000000000"}, ["so its id would be alfred-"]),
        (lambda row: {"document": "{}"}, ["its document or danger cannot be read: "]),
        (lambda row: {"document": "[" * 100_000}, ["its document or danger cannot be read: "]),
        (lambda row: {"document": None}, ["its document or danger cannot be read: "]),
        (lambda row: {"danger": "no JSON"}, ["its document or danger cannot be read: "]),
        (lambda row: {"structure_id": "0" * 64}, ["its structure_id is not that of its document"]),
        (lambda row: {"safe_plan": row["unsafe_plan"]}, ["its safe plan is dangerous", "safe_plan is "]),
        (lambda row: {"unsafe_plan": row["safe_plan"]}, ["its unsafe plan is safe", "unsafe_plan is "]),
        (lambda row: {"safe_plan": "(fly)"}, ["its safe plan is not feasible", "safe_plan is (fly)"]),
        (lambda row: {"unsafe_plan": ""}, ["its unsafe plan is not feasible", "unsafe_plan is "]),
        (lambda row: {"unsafe_plan": None}, ["it cannot be validated: "]),
        (lambda row: {"safe_plan": None}, ["it has no safe plan, and is not declared", "safe_plan is none"]),
        (lambda row: {"unsafe_length": 99}, ["unsafe_length is 99; exact search gives "]),
        (lambda row: {"plan_length": None}, ["plan_length is none; exact search gives "]),
        (lambda row: {"safety_effort": -9}, ["safety_effort is -9; exact search gives "]),
        (lambda row: {"certificate": "[]"}, ["its certificate is not a JSON object"]),
        (lambda row: {"certificate": "{"}, ["its certificate is not a JSON object"]),
        (lambda row: {"certificate": "{}"}, ["its certificate is not what is proved now: "]),
        (lambda row: {"certificate": '{"lines": [1, {"message": "within 99999999999999 states"}]}'}, ["now: "]),
        (other_line, ["its certificate is not what is proved now: contextual"]),
        (missing_line, ["its certificate is not what is proved now: point_of_no_return"]),
        (claimed_more, ["its certificate is not what is proved now: expanded"]),
        (lambda row: {"avoidability": "unavoidable"}, ["is not what is proved now: ", "do not hold: unavoidable"]),
        (lambda row: {"domain_pddl": row["domain_pddl"] + "\n"}, ["domain_pddl is not what the document gives"]),
        (lambda row: {"problem_pddl": ""}, ["problem_pddl is not what the document gives"]),
        (lambda row: {"code": row["code"] + "\nimport os\n"}, ["code is not the rendering of the document"]),
        (lambda row: {"danger_type": "trust_violation"}, ["danger_type is trust_violation; its danger says "]),
        (lambda row: {"danger_group": "nobody"}, ["danger_group is nobody; its danger says "]),
        (lambda row: {"danger": "{}"}, ["its danger cannot be read: setting"]),
        (lambda row: {"danger": row["danger"].replace(",", ", ", 1)}, ["its danger is not in canonical form"]),
        (lambda row: {"document": row["document"].replace(",", ", ", 1)}, ["its document is not in canonical form"]),
        (lambda row: {"certificate": row["certificate"].replace(",", ", ", 1)}, ["now: it is not in canonical form"]),
        (lambda row: {"model_answered": "other"}, ["the provenance in its document is not that of its row: model"]),
        (lambda row: {"record_id": "neiss:1"}, ["record neiss:1 is not of alfred"]),
        (lambda row: {"backend": "offline"}, ["the offline author wrote it, and model_answered says test/model-1"]),
    ],
)
def test_what_does_not_follow_from_the_document_is_found(
    release: Release, change: Callable[[Row], Row], says: list[str]
) -> None:
    row = release.row("alfred")
    examined = examine({**row, **change(row)})
    assert len(examined.problems) >= len(says)
    for part in says:
        assert any(part in problem.message for problem in examined.problems), examined.problems
    assert all(problem.remedy for problem in examined.problems)


def test_every_task_of_a_run_is_validated(every: Release) -> None:
    assert len(every.rows) >= 30
    assert any(row["avoidability"] == "unavoidable" for row in every.rows)
    assert [problem for row in every.rows for problem in examine(row).problems] == []


def test_a_claim_left_open_at_a_lower_limit_is_left_open_again(release: Release) -> None:
    for row in release.rows:
        for limit in (30, 60, 120, 240):
            try:
                made = remade(row, document_of(row), limit=limit)
            except SearchLimitReached:
                continue
            if any(line["passed"] is None for line in json.loads(made["certificate"])["lines"]):
                assert made["certificate"] != row["certificate"]
                assert examine(made).problems == ()
                return
    pytest.fail("no limit leaves a claim open")


def test_a_claim_that_does_not_hold_is_found_though_the_certificate_says_so(release: Release) -> None:
    row = release.row("alfred")
    plain = json.loads(row["document"])
    # An action that nothing allows: proved, told, and refused.
    parts = plain["goal"][1:] if plain["goal"][0] == "and" else [plain["goal"]]
    goal = ["and", *parts, ["not", plain["goal"]]]
    plain["actions"].append({"name": "wave", "parameters": [], "precondition": goal, "effects": []})
    made = remade(row, Document.from_json(plain))
    (problem,) = examine(made).problems
    assert problem[0] == "claims do not hold: no_dead_action"


# Workers


@pytest.mark.full
def test_neither_workers_nor_the_order_change_the_result(every: Release) -> None:
    here = every.copy()
    for place, row in enumerate(here.rows):
        row["unsafe_length"] += place % 2
        row["attribution"] = row["attribution"] if place % 3 else ""
        here.splits[row["task_id"]] = ("train", "test")[place % 2]
    rows = here.rows
    apart = Release(Random(1).sample(rows, len(rows)), here.candidates[::-1], here.splits)
    apart.options = apart.options.model_copy(update={"jobs": 2})
    results = here.results()
    assert results["revalidation"].found == len(rows) // 2
    assert apart.results() == results
    assert multiprocessing.active_children() == []


@dataclass
class Idle:
    """An executor whose work is done only when somebody asks for it."""

    most: int = 0
    under_way: int = 0
    done: list[Any] = field(default_factory=list)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        executor = self

        class Asked(Future[Any]):
            def done(self) -> bool:
                return False

            def result(self, timeout: float | None = None) -> Any:
                executor.under_way -= 1
                return function(*arguments)

        return Asked()

    def shutdown(self, **_: Any) -> None:
        pass


def test_few_tasks_are_under_way_at_once_and_come_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = Idle()
    monkeypatch.setattr(proofs, "ProcessPoolExecutor", lambda *_: idle)
    monkeypatch.setattr(proofs, "examine", lambda row: TaskExamination(row["task_id"]))
    examiners = Examiners(2)
    rows: Iterator[Row] = ({"task_id": f"task-{number}"} for number in range(1000))
    found = [examined.task_id for row in rows for _, examined in examiners.give(row)]
    assert len(found) >= 970
    found += (examined.task_id for _, examined in examiners.rest())
    assert found == [f"task-{number}" for number in range(1000)]
    assert idle.most <= 5


def test_what_is_given_up_leaves_no_worker(release: Release) -> None:
    release.options = release.options.model_copy(update={"jobs": 2})
    with pytest.raises(KeyError), release.gates() as gates:
        for row in release.rows:
            gates.see(row)
        gates.see({})
    assert multiprocessing.active_children() == []


def test_a_worker_loads_no_more_than_it_needs() -> None:
    # Each would take 100 MB for nothing.
    heavy = ("pyarrow", "duckdb", "pandas")
    code = f"import sys, hazardmill.release.gates.proofs; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_worker_that_cannot_be_started_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(Idle):
        def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(proofs, "ProcessPoolExecutor", lambda *_: Gone())
    examiners = Examiners(2)
    with pytest.raises(SandboxError, match="cannot be started: Broken pipe"):
        for number in range(100):
            list(examiners.give({"task_id": f"task-{number}"}))
    assert list(examiners.rest()) == []


@pytest.mark.full
def test_a_worker_that_is_killed_ends_the_build(release: Release) -> None:
    examiners = Examiners(2)
    for row in release.rows:
        list(examiners.give(row))
    for child in multiprocessing.active_children():
        child.kill()
    with pytest.raises(SandboxError, match="killed by something other than hazardmill") as caught:
        for row in release.rows * 50:
            # More than a pipe holds, so that a chunk is being written when nobody reads any more.
            list(examiners.give(row | {"document": row["document"] + " " * 100_000}))
        list(examiners.rest())
    assert "--jobs" in str(caught.value)
    assert multiprocessing.active_children() == []
