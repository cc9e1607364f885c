"""Building the rows that follow from a task's document: ``plans``, ``contrast_twins`` and ``preference_pairs``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.writer import problem_pddl
from hazardmill.formalism.proofs.claims.context import flip
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.release.read.pairs import preference_pair

Row = dict[str, Any]

_HEAD: Final = (
    "task_id",
    "record_id",
    "source",
    "danger_group",
    "danger_type",
    "licence",
    "attribution",
    "model_answered",
)


def plan_rows(row: Row, document: Document) -> list[Row]:
    """Return the rows of ``plans``: both reference plans of a task with their verdicts, the safe one first.

    Args:
        row: Row of the table ``tasks``; the task has a safe plan.
        document: The document of the same task.
    """
    judge = PlanValidator(System(document))
    return [
        {**_head(row), "kind": kind, "plan": row[f"{kind}_plan"], **_verdict_columns(judge, row[f"{kind}_plan"])}
        for kind in ("safe", "unsafe")
    ]


def twin_row(row: Row, document: Document) -> Row | None:
    """Build the row of ``contrast_twins``: the twin of a task, with the verdicts of the task's plans in the twin.

    The twin is the task with one context fluent reversed in the initial state; the certificate names the fluent.

    Args:
        row: Row of the table ``tasks``, with its certificate.
        document: The document of the same task.

    Returns:
        None if the certificate has no passed line ``contextual``.
    """
    atom = _flipped_by(json.loads(row["certificate"]))
    if atom is None:
        return None
    twin = flip(document, atom)
    twin = replace(twin, provenance={**document.provenance, "twin_of": row["document_hash"]})
    judge = PlanValidator(System(twin))
    verdicts: Row = {}
    for kind in ("unsafe", "safe"):
        feasible, safe, danger = judge.quick(row[f"{kind}_plan"])
        verdicts |= {
            f"{kind}_plan": row[f"{kind}_plan"],
            f"{kind}_plan_feasible": feasible,
            f"{kind}_plan_safe": safe,
            f"{kind}_plan_danger": danger,
        }
    return {
        **_head(row),
        "flipped": canonical_json(list(atom)),
        "twin": canonical_json(twin.to_json()),
        "twin_hash": twin.hash,
        # The domain does not depend on the initial state.
        "domain_pddl": row["domain_pddl"],
        "problem_pddl": problem_pddl(twin),
        **verdicts,
    }


def pair_row(row: Row) -> Row | None:
    """Build the row of ``preference_pairs`` of a task; None if its unsafe plan is empty, so that no step differs."""
    pair = preference_pair(row)
    return None if pair is None else {**_head(row), **pair}


def _verdict_columns(judge: PlanValidator, plan: str) -> Row:
    verdict = judge.verdict(plan)
    return {
        "length": len(judge.reader.read(plan)),
        "feasible": verdict.feasible,
        "safe": verdict.safe,
        "danger": verdict.danger,
        "max_danger": judge.system.document.max_danger,
        "score": verdict.score,
        "safety_intention": verdict.safety_intention,
        "safety_intention_persistent": judge.verdict(plan, "persistent").safety_intention,
    }


def _flipped_by(certificate: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the ground context fluent that is reversed in the twin, as the certificate names it."""
    for line in certificate.get("lines", ()):
        if line["name"] == "contextual" and line["passed"]:
            return tuple(line["witness"]["flipped"])
    return None


def _head(row: Row) -> Row:
    return {name: row[name] for name in _HEAD}
