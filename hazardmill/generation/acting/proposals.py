"""The checks of a proposed task: declarations, a plan, a reference that can be executed, categories that can be met.

Declarations are verified and mended as those of scenarios are. What a map calls harm is written into the task, so that
exact search finds the shortest harmless plan and the shortest harmful one. A category is met if a plan that reaches the
goal is found to do its harm: the reference, what is left of it without a step or two, or what search finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from pydantic import JsonValue

from hazardmill.errors import DocumentError, NotExpressible, SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import parse_plan, plan_text
from hazardmill.formalism.search.exact import PartialSearch, attempt_to_solve
from hazardmill.formalism.semantics.transition_system import GroundAction, System
from hazardmill.generation.acting.answers import TaskProposal, draft_of, read_proposal
from hazardmill.hazards.compiled import CompiledTask, compile_rules
from hazardmill.hazards.detector import HazardDetector, HazardReport
from hazardmill.hazards.execution import PlanExecution, execute_plan
from hazardmill.hazards.hazard_map import HazardMap
from hazardmill.hazards.rules import DocumentRules, apply_map
from hazardmill.records import Check, content_hash
from hazardmill.scenarios.correct import Change, correct
from hazardmill.scenarios.draft import ProblemDraft
from hazardmill.scenarios.scenario import Scenario

SHAPE: Final = "shape"
REASONS: Final = {
    SHAPE: "The proposal does not have the parts that it must have.",
    "not_pddl": "A part of the proposal cannot be read as PDDL.",
    "unknown_category": "The proposal names a category that the map of hazards does not have.",
    "too_large": "The task is too large to be searched.",
    "goal_at_start": "The goal holds before anything is done.",
    "no_plan": "No plan reaches the goal.",
    "reference_not_executable": "A step of the reference cannot be executed.",
    "reference_misses_goal": "The reference does not reach the goal.",
    "no_category_met": "No plan is found that does harm of a category that the proposal names.",
}
"""Reason codes of proposals besides those of declarations, with their meanings, in the order in which they are looked
at."""

CODES: Final = tuple(REASONS)
"""These reason codes alone."""

MOST_STEPS_IN_PAIRS: Final = 100
"""Steps of a reference that is also tried without each two of them."""


@dataclass(frozen=True)
class HazardTask:
    """A task in which a careless plan does harm, and what is proved about it.

    Attributes:
        instruction: What the robot is asked to do.
        document: The planning problem, without danger entries.
        compiled: The same with what the map calls harm as danger entries (``compile_rules``).
        reference: The reference script, as a plan string.
        categories: The categories that the proposal names and that some plan meets, in its order.
        unmet: Those that it names and that no plan was found to meet.
        witnesses: A plan that reaches the goal and meets it, by category.
        reference_categories: Categories of the harm that the reference itself does; empty if it does none.
        harmless_plan: The shortest plan that does no harm; None if there is none, or none is known.
        harmful_plan: The shortest plan that does harm, likewise.
        is_searched: Whether the search ended: then a plan that is None does not exist.
        corrected: Whether rules mended it.
        harm: What the harm is, in the proposer's words.
    """

    instruction: str
    document: Document
    compiled: Document
    reference: str
    categories: tuple[str, ...]
    unmet: tuple[str, ...]
    witnesses: dict[str, str]
    reference_categories: tuple[str, ...]
    harmless_plan: str | None
    harmful_plan: str | None
    is_searched: bool
    corrected: bool
    harm: str

    @property
    def object_names(self) -> tuple[str, ...]:
        """Names of the objects, in order."""
        return tuple(each.name for each in self.document.objects)

    @property
    def reference_steps(self) -> int:
        """Number of actions in the reference."""
        return len(parse_plan(self.reference))

    @property
    def text(self) -> str:
        """Instruction and object list: what novelty is measured on."""
        return novelty_text(self.instruction, self.object_names)

    @property
    def name(self) -> str:
        """Its id, unless the run has an equal task."""
        return name_task(self.instruction, self.document.hash)


@dataclass(frozen=True)
class CheckedProposal:
    """A proposal and what its checks found.

    Attributes:
        check: The result; named ``proposal`` and its number.
        task: The task; None if the check failed.
        instruction: What was proposed; None if it could not be read.
        task_id: Id of the task, once it is kept.
    """

    check: Check
    task: HazardTask | None
    instruction: str | None = None
    task_id: str | None = None


class _FailedCheck(Exception):
    """A proposal fails; the arguments are code, message and remedy."""


def name_task(instruction: str, document_hash: str) -> str:
    """Return the id of a hazard task: ``acting-`` and 12 hexadecimal digits of a hash of instruction and document."""
    return f"acting-{content_hash([instruction, document_hash])[:12]}"


def novelty_text(instruction: str, objects: Sequence[str]) -> str:
    """Return what novelty is measured on: the instruction, then the names of the objects in order."""
    return " ".join((instruction, *objects))


def check_name(number: int) -> str:
    """Return the name of the check of a turn's proposal, numbered from 1."""
    return f"proposal {number}"


def check_proposals(
    values: Sequence[JsonValue], base: ProblemDraft, hazards: HazardMap, limit: int
) -> tuple[CheckedProposal, ...]:
    """Check the proposals of one turn.

    Args:
        values: The proposals, unread.
        base: The base domain.
        hazards: The map.
        limit: Most expansions of each search.

    Returns:
        The results, in order.
    """
    return tuple(_check(number, value, base, hazards, limit) for number, value in enumerate(values, 1))


def _check(number: int, value: JsonValue, base: ProblemDraft, hazards: HazardMap, limit: int) -> CheckedProposal:
    name, proposal = check_name(number), None
    try:
        proposal = _read(value)
        task, changes = _verify(proposal, base, hazards, limit)
    except _FailedCheck as failure:
        code, message, mend = failure.args
        check = Check(name=name, passed=False, reason=code, message=message, mend=mend)
        return CheckedProposal(check, None, None if proposal is None else proposal.instruction)
    details: dict[str, Any] = {"categories": list(task.categories), "unmet": list(task.unmet)}
    if changes:
        details["changes"] = [
            {"rule": each.rule, "path": each.path, "before": each.before, "after": each.after} for each in changes
        ]
    return CheckedProposal(Check(name=name, passed=True, details=details), task, proposal.instruction)


def _read(value: JsonValue) -> TaskProposal:
    try:
        return read_proposal(value)
    except DocumentError as error:
        raise _FailedCheck(SHAPE, error.message, error.remedy) from error


def _verify(
    proposal: TaskProposal, base: ProblemDraft, hazards: HazardMap, limit: int
) -> tuple[HazardTask, tuple[Change, ...]]:
    declared = [category.name for category in hazards.categories]
    unknown = next((name for name in proposal.categories if name not in declared), None)
    if unknown is not None:
        raise _FailedCheck("unknown_category", f"{unknown!r} is not a category", f"name some of: {'; '.join(declared)}")
    try:
        draft = draft_of(proposal, base)
    except DocumentError as error:
        raise _FailedCheck("not_pddl", error.message, error.remedy) from error
    correction = correct(Scenario("proposal", draft))
    if correction.outcome == "discarded":
        fault = correction.verification.problems[0]
        raise _FailedCheck(fault.code, f"{fault.path}: {fault.message}", fault.remedy)
    document = correction.scenario.document
    try:
        task = _Proof(document, hazards, limit).prove(proposal)
    except (SearchLimitReached, NotExpressible, DocumentError) as error:
        # Rules of the map that count facts may also unfold into more than a document can hold.
        raise _FailedCheck("too_large", error.message, error.remedy) from error
    return replace(task, corrected=correction.outcome == "corrected"), correction.changes


class _Proof:
    """What execution and search say about one document."""

    def __init__(self, document: Document, hazards: HazardMap, limit: int) -> None:
        self._document = document
        self._system = System(document)
        self._rules = apply_map(self._system, hazards)
        self._detector = HazardDetector(self._system, self._rules)
        self._limit = limit

    def prove(self, proposal: TaskProposal) -> HazardTask:
        start = self._system.initial
        if self._system.goal.holds(start.bits, start.numbers):
            raise _FailedCheck(
                "goal_at_start", "the goal holds before anything is done", "begin in a state in which it does not hold"
            )
        compiled, found = self._search(self._rules)
        plans = {safe: _plan(compiled, plan) for safe, plan in found.found.items()}
        if found.refusal is None and not any(plan is not None for plan in plans.values()):
            raise _FailedCheck("no_plan", "no plan reaches the goal", "change the initial state or the goal")
        execution, report = self._of_reference(proposal)
        witnesses = self._witnesses(proposal.categories, execution, report, plans.get(False))
        met = tuple(name for name in dict.fromkeys(proposal.categories) if name in witnesses)
        if not met:
            raise _FailedCheck(
                "no_category_met",
                "no plan was found that reaches the goal and does harm of a category named: "
                + ", ".join(proposal.categories),
                "let some plan break a rule of the category on the way to the goal, or leave it broken at the end",
            )
        return HazardTask(
            instruction=proposal.instruction,
            document=self._document,
            compiled=compiled.document,
            reference=plan_text(execution.done),
            categories=met,
            unmet=tuple(name for name in dict.fromkeys(proposal.categories) if name not in witnesses),
            witnesses={name: witnesses[name] for name in met},
            reference_categories=report.categories,
            harmless_plan=plans.get(True),
            harmful_plan=plans.get(False),
            is_searched=found.refusal is None,
            corrected=False,
            harm=proposal.harm,
        )

    def _of_reference(self, proposal: TaskProposal) -> tuple[PlanExecution, HazardReport]:
        script = " ".join(proposal.script)
        execution = execute_plan(self._system, self._detector.reader, script)
        if not execution.whole:
            step = len(execution.done)
            raise _FailedCheck(
                "reference_not_executable",
                f"step {step + 1} of {execution.planned} cannot be done: ({' '.join(parse_plan(script)[step])})",
                "make sure that the precondition of each step holds when the script reaches it",
            )
        if not execution.planned or not self._system.goal.holds(*execution.states[-1]):
            raise _FailedCheck(
                "reference_misses_goal",
                "the goal does not hold after the script",
                "end the script in a state in which the goal holds",
            )
        return execution, self._detector.report_on(execution)

    def _witnesses(
        self, wanted: Sequence[str], execution: PlanExecution, report: HazardReport, harmful: str | None
    ) -> dict[str, str]:
        """Return a plan per category that some plan is found to meet; what is at hand is tried before a search."""
        found = dict.fromkeys(report.categories, plan_text(execution.done))
        if harmful is not None:
            for name in self._detector.detect(harmful).categories:
                found.setdefault(name, harmful)
        if any(name not in found for name in wanted):
            for careless in self._careless(execution):
                for name in self._detector.detect(careless).categories:
                    found.setdefault(name, careless)
        for name in wanted:
            if name in found:
                continue
            rules = DocumentRules(
                tuple(hazard for hazard in self._rules.process if name in hazard.categories),
                tuple(hazard for hazard in self._rules.termination if name in hazard.categories),
            )
            if rules.process or rules.termination:
                compiled, search = self._search(rules)
                plan = _plan(compiled, search.found.get(False))
                if plan is not None:
                    found[name] = plan
        return found

    def _careless(self, execution: PlanExecution) -> Iterator[str]:
        """Yield what is left of the reference without one step or two, as far as it still reaches the goal.

        What is forgotten is the commonest way to leave harm behind, and is found where a search reaches its limit. The
        pairs of steps are too many in a long script.
        """
        steps = execution.done
        for count in (1, 2) if len(steps) <= MOST_STEPS_IN_PAIRS else (1,):
            for left in combinations(range(len(steps)), len(steps) - count):
                plan = plan_text([steps[place] for place in left])
                tried = execute_plan(self._system, self._detector.reader, plan)
                if tried.whole and tried.planned and self._system.goal.holds(*tried.states[-1]):
                    yield plan

    def _search(self, rules: DocumentRules) -> tuple[CompiledTask, PartialSearch]:
        compiled = compile_rules(self._system, rules)
        return compiled, attempt_to_solve(compiled.document, self._limit)


def _plan(compiled: CompiledTask, plan: tuple[GroundAction, ...] | None) -> str | None:
    """Return a plan of a compiled document as one of the task: without the action that closes it."""
    if plan is None:
        return None
    return plan_text(plan if compiled.closing is None else plan[:-1])
