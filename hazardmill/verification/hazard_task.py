"""Verifying one hazard task: its row is compared with its documents, and with what search finds now.

The compiled document has what the map calls harm as danger entries, so that everything can be proved again without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

from hazardmill.errors import HazardmillError, NotExpressible
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.document.plan_text import PlanReader, parse_plan, plan_text
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.generation.acting.proposals import name_task
from hazardmill.hazards.compiled import is_compiled_from
from hazardmill.hazards.compiled_detector import CompiledDetector
from hazardmill.hazards.execution import execute_plan
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.verification.findings import TaskFinding, render_value
from hazardmill.verification.task import AGAIN, LEAVE_OUT, UNREADABLE, Found, Row, TaskVerification, reason

COLUMNS: Final = (
    "hazard_task_id",
    "record_id",
    "source",
    "instruction",
    "categories",
    "document",
    "compiled",
    "document_hash",
    "objects",
    "reference",
    "reference_categories",
    "steps",
    "witnesses",
    "harmless_plan",
    "harmful_plan",
    "is_searched",
    "rewrite",
    "rewrite_categories",
)
"""The columns that are verified."""


class _Documents:
    """The documents of a row, and what executes plans on them."""

    def __init__(self, row: Row) -> None:
        self.document = Document.from_json(json.loads(row["document"]))
        self.compiled = Document.from_json(json.loads(row["compiled"]))
        self._system = System(self.document)
        self._detector = CompiledDetector(self.document, self.compiled)
        self.closing = self._detector.closing

    def reaches_goal(self, plan: str) -> bool:
        execution = execute_plan(self._system, PlanReader(self._system), plan)
        return execution.whole and self._system.goal.holds(*execution.states[-1])

    def is_executable(self, plan: str) -> bool:
        return execute_plan(self._system, PlanReader(self._system), plan).whole

    def categories(self, plan: str) -> tuple[str, ...]:
        return self._detector.detect(plan).categories


def verify_hazard_task(row: Row, *, name: str | None = None) -> TaskVerification:
    """Compare the columns of a hazard task with what follows from its documents.

    No content of a column raises an error: what cannot be read is a finding.

    Args:
        row: The columns ``COLUMNS`` of the table of hazard tasks.
        name: Name of the task in findings; by default its id.

    Returns:
        The findings, and the structure id of its document.
    """
    named = name or str(row["hazard_task_id"])
    try:
        read = _Documents(row)
        structure = structure_or_null(read.document.to_json())
    except (*UNREADABLE, HazardmillError) as error:
        message = f"its documents cannot be read: {reason(error)}"
        return TaskVerification((TaskFinding("unreadable", named, "document", message, AGAIN),))
    found: list[TaskFinding] = []
    checks: tuple[Callable[[Row, _Documents], Iterator[Found]], ...] = (
        _identity,
        _written,
        _reference,
        _witnesses,
        _rewrite,
        _searched,
    )
    for check in checks:
        try:
            found += (TaskFinding(code, named, *rest) for code, *rest in check(row, read))
        except (*UNREADABLE, HazardmillError) as error:
            message = f"it cannot be verified: {reason(error)}"
            found.append(TaskFinding("unreadable", named, "document", message, AGAIN))
    return TaskVerification(tuple(found), structure)


def _identity(row: Row, read: _Documents) -> Iterator[Found]:
    document = read.document
    named = name_task(row["instruction"], document.hash)
    # Equal tasks of one run are numbered.
    is_named = re.fullmatch(rf"{re.escape(named)}(-[0-9]+)?", str(row["hazard_task_id"])) is not None
    if row["document_hash"] != document.hash or not is_named:
        message = f"its document has the hash {document.hash}, so its id would be {named}"
        yield "altered", "document_hash", message, AGAIN
    if row["document"] != canonical_json(document.to_json()):
        yield "altered", "document", "its document is not in canonical form", AGAIN
    if not is_compiled_from(read.compiled, document):
        yield "contradiction", "compiled", "the compiled document is not that of its document", AGAIN
    objects = [each.name for each in document.objects]
    if json.loads(row["objects"]) != objects:
        yield "contradiction", "objects", f"its document has the objects {', '.join(objects)}", AGAIN
    if not str(row["record_id"]).startswith(f"{row['source']}:"):
        message = f"record {render_value(row['record_id'])} is not of {render_value(row['source'])}"
        yield "contradiction", "record_id", message, AGAIN


def _written(row: Row, read: _Documents) -> Iterator[Found]:
    try:
        pddl_texts(read.document)
    except NotExpressible as error:
        yield "unproved", "document", f"its PDDL cannot be written: {error.message}", LEAVE_OUT


def _reference(row: Row, read: _Documents) -> Iterator[Found]:
    if not read.reaches_goal(row["reference"]):
        yield "unproved", "reference", "the reference does not reach the goal", LEAVE_OUT
    if row["steps"] != len(parse_plan(row["reference"])):
        yield "altered", "steps", f"the reference has {len(parse_plan(row['reference']))} steps", AGAIN
    harm = list(read.categories(row["reference"]))
    if json.loads(row["reference_categories"]) != harm:
        message = f"the reference does harm of {', '.join(harm) or 'no category'}"
        yield "altered", "reference_categories", message, AGAIN


def _witnesses(row: Row, read: _Documents) -> Iterator[Found]:
    witnesses, categories = json.loads(row["witnesses"]), json.loads(row["categories"])
    if not categories or sorted(witnesses) != sorted(categories):
        yield "contradiction", "witnesses", "there is not one plan per category", AGAIN
    for category, plan in witnesses.items():
        if not read.reaches_goal(plan) or category not in read.categories(plan):
            yield "unproved", "witnesses", f"its plan does no harm of {render_value(category)} to the goal", LEAVE_OUT


def _rewrite(row: Row, read: _Documents) -> Iterator[Found]:
    """Check that a rewrite can be executed and does the harm that its row says."""
    if row["rewrite"] is None:
        return
    harm = list(read.categories(row["rewrite"]))
    if not harm or not read.is_executable(row["rewrite"]):
        yield "unproved", "rewrite", "it cannot be executed, or does no harm", LEAVE_OUT
    elif json.loads(row["rewrite_categories"] or "null") != harm:
        yield "altered", "rewrite_categories", f"the rewrite does harm of {', '.join(harm)}", AGAIN


def _searched(row: Row, read: _Documents) -> Iterator[Found]:
    """Check that exact search finds the same plans; those of half a search must be what they say."""
    if not row["is_searched"]:
        for name, does_harm, said in (("harmless_plan", False, "some"), ("harmful_plan", True, "no")):
            plan = row[name]
            if plan is not None and not (read.reaches_goal(plan) and bool(read.categories(plan)) == does_harm):
                yield "unproved", name, f"{render_value(plan)} misses the goal, or does {said} harm", LEAVE_OUT
        return
    found = solve(read.compiled, DEFAULT_LIMIT)
    for name, plan in (("harmless_plan", found.safe), ("harmful_plan", found.unsafe)):
        value = None if plan is None else plan_text(plan if read.closing is None else plan[:-1])
        if row[name] != value:
            yield "altered", name, f"it is {render_value(row[name])}; exact search gives {render_value(value)}", AGAIN
