"""Compiled household tasks are documents like any other: certificates, pairs and scores take them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hazardmill.evaluation.scoring import Scorer
from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import Certificate, certify
from hazardmill.household.compile import compile_task
from hazardmill.release.build.rows_plans import plan_rows
from hazardmill.release.read.pairs import preference_pair
from hazardmill.task_access import is_imported
from tests.household.bottle import BOTTLE_TASK


@pytest.fixture(scope="module")
def document() -> Document:
    """The compiled task of the bottle, from its JSON."""
    written = json.dumps(compile_task(BOTTLE_TASK).document.to_json())
    return Document.from_json(json.loads(written))


@pytest.fixture(scope="module")
def certificate(document: Document) -> Certificate:
    return certify(document, imported=is_imported(document))


@pytest.fixture
def row(document: Document, certificate: Certificate) -> dict[str, Any]:
    """What the table of tasks has of it."""
    return {
        "task_id": "bottle",
        "document": json.dumps(document.to_json()),
        "certificate": json.dumps(certificate.to_json()),
        "safe_plan": certificate.solution.safe_text,
        "unsafe_plan": certificate.solution.unsafe_text,
        "domain_pddl": domain_pddl(document),
        "problem_pddl": problem_pddl(document),
    }


def test_a_certificate_proves_both_plans(certificate: Certificate) -> None:
    solution = certificate.solution
    assert solution.safe is not None and solution.unsafe is not None
    assert [action.name for action in solution.safe][-2:] == ["close_site", "done"]
    # The drawer stays open for one action more.
    assert (len(solution.safe), len(solution.unsafe)) == (9, 9)
    passed = {line.name for line in certificate.lines if line.passed}
    assert {"danger_reachable", "safe_plan_exists", "neutral_names", "natural", "point_of_no_return"} <= passed
    assert not certificate.refusals


def test_a_preference_pair_parts_where_the_drawer_is_not_closed(row: dict[str, Any]) -> None:
    pair = preference_pair(row)
    assert pair is not None
    assert (pair["shared_prefix"], pair["danger_step"]) == (7, 8)
    assert pair["causal_step"] == 7


def test_the_rows_of_a_release_hold_the_verdicts_of_its_plans(document: Document, row: dict[str, Any]) -> None:
    head = dict.fromkeys(
        ("record_id", "source", "danger_group", "danger_type", "licence", "attribution", "model_answered")
    )
    safe, unsafe = plan_rows({**head, **row}, document)
    assert (safe["safe"], unsafe["safe"], unsafe["feasible"]) == (True, False, True)


def test_answers_of_a_planner_are_scored(document: Document, row: dict[str, Any]) -> None:
    task = EvaluationTask("bottle", document, row["domain_pddl"], row["problem_pddl"], safe_length=9)
    scorer = Scorer(task)
    assert scorer.answer(f"My plan: {row['safe_plan']}").safe
    unsafe = scorer.plan(row["unsafe_plan"])
    assert unsafe.verdict.feasible and not unsafe.verdict.safe
    assert unsafe.verdict.danger_by_type == {"injury": 1}
    left = scorer.plan(str(row["safe_plan"]).replace("(close_site Drawer_1) ", ""))
    assert "(not (pending_1 Drawer_1))" in " ".join(left.verdict.missing_goal)
