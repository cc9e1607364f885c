"""Proving household tasks anew before they are released.

A task is read from its file, linted and compiled. Both plans in the file are replayed and judged on the compiled
document, and search then says whether they are shortest. Nobody reviews household tasks: rules and plans are proved,
and their words come from hazardmill's templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from hazardmill.errors import HazardmillError, PlanningInputError
from hazardmill.household.compile import CompiledHouseholdTask, compile_task
from hazardmill.household.generation.prover import DRAWN_LIMIT
from hazardmill.household.lint.scene_lint import lint_with_scene
from hazardmill.household.plan_words import contradict_plans, judge_words
from hazardmill.household.proof import MOST_ACTIONS, PlanProof, prove_task
from hazardmill.household.task import HouseholdTask, ProvedPlans
from hazardmill.release.gates.findings import GateProblem

ReadHouseholdTask: TypeAlias = tuple[Path, HouseholdTask | PlanningInputError]
"""A file with its task, or with what is wrong with it, as ``read_household_tasks`` yields them."""

_GENERATE: Final = "name a folder as hazardmill household generate wrote it"
_AGAIN: Final = "generate the task again with this version, or delete its file"
_LINT: Final = "see: hazardmill household lint; delete the file"


@dataclass(frozen=True, slots=True)
class ExaminedHouseholdTask:
    """What was found of the household task in a file.

    Attributes:
        file: Name of the file.
        task: The task; None if it cannot be read.
        document_hash: Hash of its document, compiled under partial sight and with one hand; None if it could not be
            compiled.
        are_shortest: Whether search proved that both plans are shortest; False if it reached its limit.
        problems: What is wrong with the task; it can be released if there is nothing.
    """

    file: str
    task: HouseholdTask | None
    document_hash: str | None = None
    are_shortest: bool = False
    problems: tuple[GateProblem, ...] = ()


def examine_household_tasks(
    read: Iterable[ReadHouseholdTask], limit: int = DRAWN_LIMIT
) -> Iterator[ExaminedHouseholdTask]:
    """Examine household tasks, one by one and as equals of one another.

    Args:
        read: The files.
        limit: The limit of each search, as for ``prove_task``.

    Yields:
        What was found, file by file.
    """
    files: dict[str, str] = {}
    for path, task in read:
        if isinstance(task, PlanningInputError):
            problem = GateProblem(task.message, task.remedy or _GENERATE)
            yield ExaminedHouseholdTask(path.name, None, problems=(problem,))
            continue
        found = examine_household_task(task, path.name, limit)
        first = files.setdefault(found.document_hash or path.name, path.name)
        if first != path.name:
            problem = GateProblem(
                f"its compiled document is that of {first}", "delete one of the two files", "same document", True
            )
            found = ExaminedHouseholdTask(path.name, task, problems=(*found.problems, problem))
        yield found


def examine_household_task(task: HouseholdTask, file: str, limit: int = DRAWN_LIMIT) -> ExaminedHouseholdTask:
    """Examine one household task, under partial sight and with one hand.

    Args:
        task: The task.
        file: Name of its file.
        limit: The limit of each search, as for ``prove_task``.

    Returns:
        What was found. No task raises an error: what cannot be judged is a problem.
    """
    if task.hazard is None or task.plans is None or not task.plans.careless:
        missing = "the hazard" if task.hazard is None else "a compliant and a careless plan"
        problem = GateProblem(f"the file lacks {missing}, as generated tasks have them", _GENERATE)
        return ExaminedHouseholdTask(file, task, problems=(problem,))
    try:
        task.to_json()  # The row holds what it returns; not every task can be said so.
        compiled = compile_task(task)
        found = [GateProblem(f"{it.rule}: {it.message}", _LINT, it.rule) for it in lint_with_scene(task, file).findings]
        found += [GateProblem(message, _AGAIN) for message in _replay(compiled, task.plans)]
        are_shortest = False
        # Search is asked last: the lengths of plans that do not work mean nothing.
        if not found:
            are_shortest, longer = _search(compiled, task.plans, limit)
            found += [GateProblem(message, _AGAIN) for message in longer]
        return ExaminedHouseholdTask(file, task, compiled.document.hash, are_shortest, tuple(found))
    except HazardmillError as error:
        # The task cannot be compiled, or is too large for that.
        problem = GateProblem(f"it cannot be judged: {error.message}", error.remedy or _AGAIN)
        return ExaminedHouseholdTask(file, task, problems=(problem,))


def _replay(compiled: CompiledHouseholdTask, plans: ProvedPlans) -> Iterator[str]:
    """Yield what contradicts that the compliant plan is safe, and that the careless one does the errand unsafely."""
    if len(plans.compliant) > MOST_ACTIONS:
        yield f"its compliant plan has {len(plans.compliant)} actions, more than {MOST_ACTIONS}"
    contradictions = [*contradict_plans(compiled, plans)]
    yield from contradictions
    for name, plan in () if contradictions else (("compliant", plans.compliant), ("careless", plans.careless)):
        judged = judge_words(compiled, plan)
        if judged.verdict.safe is not (name == "compliant"):
            yield f"its {name} plan is {judged.text} on the compiled document"


def _search(compiled: CompiledHouseholdTask, plans: ProvedPlans, limit: int) -> tuple[bool, list[str]]:
    """Return whether both plans are proved to be shortest, and what contradicts it."""
    proof = prove_task(compiled, limit=limit)
    wrong = []
    pairs = (("compliant", plans.compliant, proof.compliant), ("careless", plans.careless, proof.for_goals))
    for name, plan, proved in pairs:
        if proved.outcome != "limit" and proved.length != len(plan):
            wrong.append(f"its {name} plan has {len(plan)} actions, and a shortest one has {_length(proved)}")
    return all(proved.outcome == "found" for _, _, proved in pairs) and not wrong, wrong


def _length(proved: PlanProof) -> str:
    return "none" if proved.length is None else str(proved.length)
