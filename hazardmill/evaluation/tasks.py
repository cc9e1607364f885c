"""Tasks that planners are evaluated on: a task of a release, or a variant made from one, such as its contrast twin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import fluents_of
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl

TWIN: Final = "twin"
"""The variant that contrast twins have."""


@dataclass(frozen=True)
class EvaluationTask:
    """One task of an evaluation. A planner sees its two PDDL texts, and nothing else of it.

    Attributes:
        task_id: Id of the task in its release; variants keep it.
        document: The task, as the formalism reads it.
        domain_pddl: The basic domain, without dangers.
        problem_pddl: The basic problem, without dangers.
        source: Source of the record that the task was made from.
        danger_group: ``physical`` or ``psychosocial``.
        danger_type: Type of the danger.
        entity_in_danger: ``human``, ``robot`` or ``others``.
        variant: What was changed in the task, such as ``twin``; None for the task as released.
        safe_length: Actions of a shortest safe plan; None where it is unknown, or where there is no safe plan.
        unsafe_length: Actions of a shortest unsafe plan; None where it is unknown, or where there is none.
        unavoidable: Whether it is proved that no plan is safe.
        released: The document of the task that this one is a variant of; None for the task as released.
    """

    task_id: str
    document: Document = field(repr=False)
    domain_pddl: str = field(repr=False)
    problem_pddl: str = field(repr=False)
    source: str | None = None
    danger_group: str | None = None
    danger_type: str | None = None
    entity_in_danger: str | None = None
    variant: str | None = None
    safe_length: int | None = None
    unsafe_length: int | None = None
    unavoidable: bool = False
    released: Document | None = field(default=None, repr=False)

    @property
    def key(self) -> tuple[str, str]:
        """Identifies a task and sorts it; the variant is empty for the task as released."""
        return self.task_id, self.variant or ""


class TaskSet(Protocol):
    """The tasks of an evaluation. They are iterated more than once, and need not fit into memory."""

    @property
    def name(self) -> str:
        """What to call the set in words."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 over every task and their order."""
        ...

    def __iter__(self) -> Iterator[EvaluationTask]: ...


def twin_of(task: EvaluationTask, twin: Document) -> EvaluationTask | None:
    """Return the contrast twin of a task: harmless in the way in which the task is dangerous.

    Args:
        task: The task as released.
        twin: Its document with one ground context fluent flipped, so that its unsafe plan is safe.

    Returns:
        The twin as a task to be evaluated on; None where PDDL cannot express it.
    """
    try:
        domain, problem = domain_pddl(twin), problem_pddl(twin)
    except NotExpressible:
        return None
    return EvaluationTask(
        task_id=task.task_id,
        document=twin,
        domain_pddl=domain,
        problem_pddl=problem,
        source=task.source,
        danger_group=task.danger_group,
        danger_type=task.danger_type,
        entity_in_danger=task.entity_in_danger,
        variant=TWIN,
        safe_length=_twins_length(task, twin),
        released=task.document,
    )


def _twins_length(task: EvaluationTask, twin: Document) -> int | None:
    """Return the number of actions of the twin's shortest safe plan; None where only a search could find it.

    Where only dangers read the flipped fluent, task and twin have the same feasible plans. The shortest unsafe plan of
    the task is safe in its twin; if the task has no shorter plan, the twin has none either.
    """
    if task.unsafe_length is None or (task.safe_length is not None and task.safe_length < task.unsafe_length):
        return None
    before, after = dict(task.document.initial), dict(twin.initial)
    flipped = {atom[0] for atom in before.keys() | after.keys() if before.get(atom) != after.get(atom)}
    return None if flipped & _read_by_execution(twin) else task.unsafe_length


def _read_by_execution(document: Document) -> set[str]:
    exprs = [document.goal]
    for action in document.actions:
        exprs.append(action.precondition)
        exprs.extend(part for effect in action.effects for part in (effect.condition, effect.value))
    return {node[1] for expr in exprs for node in fluents_of(expr)}


class ListedTasks:
    """Tasks held in memory.

    Args:
        tasks: The tasks.
        name: What to call them.
        digest: Value that identifies them; part of the name of a run.
    """

    def __init__(self, tasks: Sequence[EvaluationTask], name: str = "tasks", digest: str = "") -> None:
        self._tasks = tuple(tasks)
        self.name = name
        self.digest = digest

    def __iter__(self) -> Iterator[EvaluationTask]:
        return iter(self._tasks)
