"""Building the rows of ``tasks``, ``unavoidable``, ``dangers`` and ``drafts`` from rows of the store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.records import DANGER_LISTS
from hazardmill.release.build.candidates import Candidate
from hazardmill.release.build.configs import CONFIGS, DANGER_FIELDS
from hazardmill.release.build.rows_reviews import Votes, reviewed_columns

Row = dict[str, Any]


def is_unavoidable(task: Mapping[str, Any] | Candidate) -> bool:
    """Check whether a task is declared unavoidable, so that it has no safe plan."""
    said = task.avoidability if isinstance(task, Candidate) else task["avoidability"]
    return bool(said == "unavoidable")


def task_row(
    row: Row,
    candidate: Candidate,
    document: Document,
    *,
    group: str,
    drafts: int,
    policy: str,
    votes: Votes | None,
) -> Row:
    """Return the row of a task in ``tasks`` or, if no plan is safe, in ``unavoidable``.

    Args:
        row: Row of the table ``tasks``, with ``context``, the text of its record.
        candidate: The candidate of the same task.
        document: The document of the same task.
        group: Its structural group.
        drafts: Number of drafts that its record took.
        policy: The policy of the review.
        votes: How reviewers voted on it; None under the policy ``none``.

    Raises:
        DocumentError: The danger or the certificate is not a JSON object, or the certificate of an unavoidable task
            does not prove that no plan is safe.
    """
    filled = {
        **row,
        **_danger(row),
        # Never the code in the store: it may be a model's. A release contains only code rendered from the document.
        "code": task_code(document),
        "group": group,
        "drafts": drafts,
        **reviewed_columns(policy, votes),
        "answered_by": canonical_json(sorted(candidate.answered_by)),
    }
    if not is_unavoidable(row):
        return _cut("tasks", filled)
    return _cut("unavoidable", {**filled, "proof": _proof(row)})


def danger_row(row: Row, danger: Mapping[str, Any]) -> Row:
    """Return the row of ``dangers``: the danger formalization of a task's record, and the model that extracted it.

    Args:
        row: Row of the table ``tasks``, with ``context``, the text of its record.
        danger: Row of the table ``dangers`` of the same run and record.
    """
    return _cut("dangers", {**danger, **_of_task(row), "context": row["context"]})


def draft_rows(row: Row, drafts: Iterable[Mapping[str, Any]], *, with_answers: bool) -> list[Row]:
    """Return the rows of ``drafts`` of one task.

    Args:
        row: Row of the table ``tasks``.
        drafts: Rows of the table ``drafts`` of the same run and record, sorted by number.
        with_answers: Whether to include what models wrote, unchanged: their answers, and code that nobody should run.
            Otherwise both columns are null.
    """
    made = [_cut("drafts", {**draft, **_of_task(row)}) for draft in drafts]
    return made if with_answers else [{**draft, "answer": None, "code": None} for draft in made]


def _of_task(row: Row) -> Row:
    return {name: row[name] for name in ("task_id", "licence", "attribution")}


def _danger(row: Row) -> Row:
    danger = _object(row, "danger")
    lists = {name: canonical_json(danger[name]) for name in DANGER_LISTS if name in danger}
    return {name: (danger | lists).get(name) for name in DANGER_FIELDS}


def _proof(row: Row) -> str:
    lines = _object(row, "certificate").get("lines", [])
    proof = next((line for line in lines if line["name"] == "unavoidable" and line["passed"]), None)
    if proof is None:
        raise DocumentError(
            "the task is declared unavoidable, but its certificate does not prove it", record_id=row["record_id"]
        )
    return canonical_json(proof)


def _object(row: Row, column: str) -> dict[str, Any]:
    try:
        value = json.loads(row[column])
    except ValueError as error:
        raise DocumentError(f"{column} of {row['task_id']} is not JSON: {error}", record_id=row["record_id"]) from error
    if not isinstance(value, dict):
        raise DocumentError(f"{column} of {row['task_id']} is not a JSON object", record_id=row["record_id"])
    return value


def _cut(config: str, filled: Mapping[str, Any]) -> Row:
    return {column.name: filled.get(column.name) for column in CONFIGS[config].columns}
