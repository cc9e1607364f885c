"""Verifying one generated scenario: its row is compared with the scenario in it, and with what search finds now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

from hazardmill.errors import HazardmillError, NotExpressible
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.generation.scenario_rows import name_scenario
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.scenarios.scenario import Scenario
from hazardmill.scenarios.verify import verify
from hazardmill.verification.findings import TaskFinding, render_value
from hazardmill.verification.task import AGAIN, LEAVE_OUT, UNREADABLE, Found, Row, TaskVerification, reason

COLUMNS: Final = (
    "scenario_id",
    "record_id",
    "source",
    "kind",
    "instruction",
    "target",
    "hazard",
    "scenario",
    "document_hash",
    "plan",
    "careless_plan",
    "steps",
    "shortest_plans",
    "licence",
    "attribution",
)
"""The columns that are verified."""


def verify_scenario(row: Row, scenario: Scenario | None = None, *, name: str | None = None) -> TaskVerification:
    """Compare the columns of a scenario with what follows from the scenario itself.

    Its checks run anew: declarations, plans by exact search, and its risk. No content of a column raises an error: what
    cannot be read is a finding.

    Args:
        row: The columns ``COLUMNS`` of the table of scenarios.
        scenario: The scenario, if the caller has read it already.
        name: Name of the scenario in findings; by default its id.

    Returns:
        The findings, and the structure id of its document.
    """
    named = name or str(row["scenario_id"])
    try:
        read = scenario or Scenario.from_json(json.loads(row["scenario"]))
        structure = structure_or_null(read.document.to_json())
    except UNREADABLE as error:
        message = f"its scenario cannot be read: {reason(error)}"
        return TaskVerification((TaskFinding("unreadable", named, "scenario", message, AGAIN),))
    found: list[TaskFinding] = []
    checks: tuple[Callable[[Row, Scenario], Iterator[Found]], ...] = (_identity, _repeated, _written, _searched)
    for check in checks:
        try:
            found += (TaskFinding(code, named, *rest) for code, *rest in check(row, read))
        except UNREADABLE as error:
            message = f"it cannot be verified: {reason(error)}"
            found.append(TaskFinding("unreadable", named, "scenario", message, AGAIN))
    return TaskVerification(tuple(found), structure)


def _identity(row: Row, scenario: Scenario) -> Iterator[Found]:
    document = scenario.document
    named = name_scenario(row["source"], row["kind"], document.hash)
    if (row["document_hash"], row["scenario_id"]) != (document.hash, named):
        message = f"its document has the hash {document.hash}, so its id would be {named}"
        yield "altered", "document_hash", message, AGAIN
    if scenario.id != row["scenario_id"]:
        yield "contradiction", "scenario", f"the scenario calls itself {render_value(scenario.id)}", AGAIN
    if row["scenario"] != canonical_json(scenario.to_json()):
        yield "altered", "scenario", "its scenario is not in canonical form", AGAIN
    if not str(row["record_id"]).startswith(f"{row['source']}:"):
        message = f"record {render_value(row['record_id'])} is not of {render_value(row['source'])}"
        yield "contradiction", "record_id", message, AGAIN


def _repeated(row: Row, scenario: Scenario) -> Iterator[Found]:
    """Check the columns that repeat a part of the scenario."""
    risk = scenario.risk
    if risk is None:
        yield "missing", "scenario", "it says nothing about its risk", AGAIN
        return
    for name, value in (
        ("kind", risk.kind),
        ("instruction", risk.instruction),
        ("target", risk.target),
        ("hazard", risk.hazard),
        *((name, scenario.origin.get(name)) for name in ("record_id", "licence", "attribution")),
    ):
        if row[name] != value:
            message = f"{name} is {render_value(row[name])}; its scenario says {render_value(value)}"
            yield "contradiction", name, message, AGAIN


def _written(row: Row, scenario: Scenario) -> Iterator[Found]:
    try:
        pddl_texts(scenario.document)
    except NotExpressible as error:
        yield "unproved", "scenario", f"its PDDL cannot be written: {error.message}", LEAVE_OUT


def _searched(row: Row, scenario: Scenario) -> Iterator[Found]:
    """Check that the scenario passes all its checks, and that exact search finds the same plans."""
    try:
        verified = verify(scenario, limit=DEFAULT_LIMIT)
    except HazardmillError as error:
        yield "unproved", "scenario", f"it cannot be verified: {error.message}", error.remedy or AGAIN
        return
    for problem in verified.problems:
        yield "unproved", "scenario", f"{problem.path}: {problem.message} ({problem.code})", LEAVE_OUT
    if verified.problems:
        return
    for name, value in (
        ("plan", verified.plan),
        ("careless_plan", verified.careless_plan),
        ("steps", verified.steps),
        ("shortest_plans", verified.shortest_plans),
    ):
        if row[name] != value:
            message = f"{name} is {render_value(row[name])}; exact search gives {render_value(value)}"
            yield "altered", name, message, AGAIN
