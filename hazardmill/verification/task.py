"""Verifying one task: its row is compared with its document, and its columns with one another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from hazardmill.errors import HazardmillError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.proofs.claim import Certificate
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.generation.rows import provenance
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.records import Danger
from hazardmill.verification.findings import Code, TaskFinding, render_value
from hazardmill.verification.proofs import plain, prove, proved_columns, written_columns

Row: TypeAlias = Mapping[str, Any]
Found: TypeAlias = tuple[Code, str, str, str]
"""Code, column, message, remedy."""

AGAIN: Final = "check the store (hazardmill store verify), or generate the task again with this version"
LEAVE_OUT: Final = "leave the task out: reject it in the review"

COLUMNS: Final = (
    "task_id",
    "record_id",
    "source",
    "code",
    "document",
    "document_hash",
    "structure_id",
    "danger",
    "danger_group",
    "danger_type",
    "avoidability",
    "safe_plan",
    "unsafe_plan",
    "safe_length",
    "unsafe_length",
    "plan_length",
    "safety_effort",
    "certificate",
    "domain_pddl",
    "problem_pddl",
    "cross_check",
    "model_answered",
    "backend",
)
"""The columns that are verified. No other part of a task repeats the remaining columns."""

UNREADABLE: Final = (HazardmillError, ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""Errors that the content of a row may raise if no version of hazardmill wrote it."""

_HAVE_A_GATE: Final = frozenset({"neutral_names"})
"""Claims that another gate of a release checks."""


@dataclass(frozen=True, slots=True)
class TaskVerification:
    """The result of verifying a task.

    Attributes:
        findings: What is wrong with it; empty if all is well.
        structure: Structure id of its document; None if the document is too regular to have one, or cannot be read.
    """

    findings: tuple[TaskFinding, ...]
    structure: str | None = None


def verify_task(row: Row, document: Document | None = None, *, name: str | None = None) -> TaskVerification:
    """Compare the columns of a task with what follows from its document.

    No content of a column raises an error: what cannot be read is a finding.

    Args:
        row: The columns ``COLUMNS`` of the table of tasks.
        document: Its document, if the caller has read it already.
        name: Name of the task in findings; by default its id.

    Returns:
        The findings, and the structure id of the document, computed anew.
    """
    task = name or str(row["task_id"])
    if document is None:
        try:
            document = Document.from_json(json.loads(row["document"]))
        except UNREADABLE as error:
            message = f"its document cannot be read: {reason(error)}"
            return TaskVerification((TaskFinding("unreadable", task, "document", message, AGAIN),))
    structure = structure_or_null(plain(document).to_json())
    found: list[TaskFinding] = []
    checks: tuple[Callable[[Row, Document], Iterator[Found]], ...] = (
        _identity,
        _document_text,
        _code_and_pddl,
        consistency,
        _verdicts,
        _proofs,
        cross_check,
    )
    for check in checks:
        try:
            found += (TaskFinding(code, task, *rest) for code, *rest in check(row, document))
        except UNREADABLE as error:
            found.append(TaskFinding("unreadable", task, "document", f"it cannot be validated: {reason(error)}", AGAIN))
    # A row without a structure id claims nothing.
    if row["structure_id"] not in (None, structure):
        found.append(
            TaskFinding("altered", task, "structure_id", "its structure_id is not that of its document", AGAIN)
        )
    return TaskVerification(tuple(found), structure)


def reason(error: Exception) -> str:
    """Render an error about unreadable content for a message: the message of ours, type and text of others."""
    return error.message if isinstance(error, HazardmillError) else f"{type(error).__name__}: {error}"


def _identity(row: Row, document: Document) -> Iterator[Found]:
    named = task_id(row["source"], document)
    for name, value in (("document_hash", document.hash), ("task_id", named)):
        if row[name] != value:
            message = f"its document has the hash {document.hash}, so its id would be {named}"
            yield "altered", name, message, AGAIN
            return


def task_id(source: object, document: Document) -> str:
    """Return the id that a task has by its source and its document: ``SOURCE-`` and 12 digits of the document hash."""
    return f"{source}-{document.hash[:12]}"


def _document_text(row: Row, document: Document) -> Iterator[Found]:
    made_by = provenance(row)
    said = document.provenance
    if said != made_by:
        differing = [name for name in sorted({*said, *made_by}) if said.get(name, ...) != made_by.get(name, ...)]
        code: Code = "unlabelled" if made_by["label"] is not None and "label" in differing else "contradiction"
        message = f"the provenance in its document is not that of its row: {', '.join(differing)}"
        yield code, "document", message, AGAIN
    elif row["document"] != canonical_json(document.to_json()):
        yield "altered", "document", "its document is not in canonical form", AGAIN


def _code_and_pddl(row: Row, document: Document) -> Iterator[Found]:
    for name, written in written_columns(document):
        if isinstance(written, HazardmillError):
            what = "code" if name == "code" else "PDDL"
            yield "unproved", name, f"its {what} cannot be written: {written.message}", written.remedy or AGAIN
        elif row[name] != written:
            yield "altered", name, not_written(name), AGAIN


def not_written(name: str) -> str:
    """Render the message for a column that is not what the document gives."""
    return "code is not the rendering of the document" if name == "code" else f"{name} is not what the document gives"


def consistency(row: Row, document: Document) -> Iterator[Found]:
    """Check that columns agree that do not follow from the document: record, backend, model and danger.

    Args:
        row: The columns; ``danger_group``, ``danger_type`` and ``avoidability`` may be missing.
        document: Not used; all checks have the same parameters.

    Yields:
        Code, column, message and remedy of each finding.
    """
    if not str(row["record_id"]).startswith(f"{row['source']}:"):
        yield (
            "contradiction",
            "record_id",
            f"record {render_value(row['record_id'])} is not of {render_value(row['source'])}",
            AGAIN,
        )
    if row["backend"] == "offline" and row["model_answered"] != OFFLINE_MODEL:
        message = f"the offline author wrote it, and model_answered says {render_value(row['model_answered'])}"
        yield "unlabelled", "model_answered", message, AGAIN
    try:
        danger = Danger.model_validate_json(row["danger"])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "danger"
        yield "unreadable", "danger", f"its danger cannot be read: {place}: {first['msg']}", AGAIN
        return
    if row["danger"] != canonical_json(danger.model_dump(mode="json")):
        yield "altered", "danger", "its danger is not in canonical form", AGAIN
    for name, value in (
        ("danger_group", danger.danger_group.value),
        ("danger_type", danger.danger_type.value),
        ("avoidability", danger.instantaneous_avoidability),
    ):
        if name in row and row[name] != value:
            yield "contradiction", name, f"{name} is {render_value(row[name])}; its danger says {value}", AGAIN


def _verdicts(row: Row, document: Document) -> Iterator[Found]:
    """Check that the unsafe plan is feasible and unsafe, and that the safe plan is safe."""
    judge = PlanValidator(System(document))
    feasible, safe, _ = judge.quick(row["unsafe_plan"])
    if not feasible or safe:
        yield "altered", "unsafe_plan", f"its unsafe plan is {'safe' if safe else 'not feasible'}", AGAIN
    if row["safe_plan"] is None:
        if row["avoidability"] != "unavoidable":
            yield "missing", "safe_plan", "it has no safe plan, and is not declared unavoidable", AGAIN
        return
    feasible, safe, _ = judge.quick(row["safe_plan"])
    if not safe:
        yield "altered", "safe_plan", f"its safe plan is {'dangerous' if feasible else 'not feasible'}", AGAIN


def _proofs(row: Row, document: Document) -> Iterator[Found]:
    """Check that exact search finds the same plans, and that proving the claims gives the same certificate."""
    stored = json_object(row["certificate"])
    if stored is None:
        yield "unreadable", "certificate", "its certificate is not a JSON object", AGAIN
        stored = {}
    try:
        certificate = prove(document, stored, row["avoidability"] == "unavoidable")
    except HazardmillError as error:
        yield unprovable(error)
        return
    proved = proved_columns(certificate)
    text = proved.pop("certificate")
    for name, value in proved.items():
        if row[name] != value:
            yield (
                "altered",
                name,
                f"{name} is {render_value(row[name])}; exact search gives {render_value(value)}",
                AGAIN,
            )
    if stored and row["certificate"] != text:
        message = f"its certificate is not what is proved now: {_difference(certificate.to_json(), stored)}"
        yield "altered", "certificate", message, AGAIN
    elif row["certificate"] == "{}":
        yield "missing", "certificate", "its certificate is not what is proved now: it is empty", AGAIN
    yield from refused_claims(certificate)


def cross_check(row: Row, document: Document) -> Iterator[Found]:
    """Check the verdicts on plans of external planners, and whether they agree with the exact search.

    Args:
        row: The column ``cross_check`` is verified, if there is one.
        document: The document of the task.

    Yields:
        Code, column, message and remedy of each finding.
    """
    if row.get("cross_check") is None:
        return
    checked = json_object(row["cross_check"])
    if checked is None or row["cross_check"] != canonical_json(checked):
        yield "unreadable", "cross_check", "its cross_check is not a JSON object in canonical form", AGAIN
        return
    judge = PlanValidator(System(document))
    known: list[bool] = []
    for engine, by_goal in checked["engines"].items():
        for goal, answer in by_goal.items():
            if isinstance(answer["agrees"], bool):
                known.append(answer["agrees"])
            elif answer["agrees"] is not None:
                message = f"cross_check: agrees of the {goal} plan of {engine} is {render_value(answer['agrees'])}"
                yield "unreadable", "cross_check", message, AGAIN
            if answer["plan"] is None:
                continue
            feasible, safe, _ = judge.quick(answer["plan"])
            verdict = {"feasible": feasible, "safe": safe}
            is_such = feasible and safe == (goal == "safe")
            if answer["verdict"] != verdict or (answer["agrees"] and not is_such):
                message = f"cross_check: the {goal} plan of {engine} has the verdict {canonical_json(verdict)}"
                yield "altered", "cross_check", message, AGAIN
    if checked["agrees"] is not (all(known) if known else None):
        yield "contradiction", "cross_check", f"cross_check: agrees is {render_value(checked['agrees'])}", AGAIN


def unprovable(error: HazardmillError) -> Found:
    """Return the finding about a task that cannot be proved."""
    return "unproved", "certificate", f"it cannot be proved again: {error.message}", LEAVE_OUT


def refused_claims(certificate: Certificate) -> Iterator[Found]:
    """Yield a finding if required claims do not hold, apart from those that another gate of a release checks."""
    names = [line.name for line in certificate.refusals if line.name not in _HAVE_A_GATE]
    if names:
        yield "unproved", "certificate", f"claims do not hold: {', '.join(names)}", LEAVE_OUT


def json_object(text: str) -> dict[str, Any] | None:
    """Parse the JSON object in a column; None if it is not one."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _difference(proved: Mapping[str, Any], stored: Mapping[str, Any]) -> str:
    """Name the parts of a certificate that differ; for its lines, name the claims."""
    parts = [name for name in sorted({*proved, *stored}) if proved.get(name) != stored.get(name)]
    if not parts:
        return "it is not in canonical form"
    if parts != ["lines"]:
        return ", ".join(parts)
    there = stored["lines"] if isinstance(stored["lines"], list) else []
    differing = [line["name"] for line in proved["lines"] if line not in there]
    return ", ".join(differing or ["the order of the claims"])
