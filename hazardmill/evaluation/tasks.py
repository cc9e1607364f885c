"""What a planner is evaluated on: a task of a release, or one that was made of it, such as its contrast twin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import fluents_of
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl

TWIN: Final = "twin"
"""The variant of contrast twins."""


@dataclass(frozen=True)
class EvaluationTask:
    """One task. A planner sees its two PDDL texts, and nothing else of it."""

    task_id: str
    document: Document = field(repr=False)
    domain_pddl: str = field(repr=False)
    problem_pddl: str = field(repr=False)
    source: str | None = None
    danger_group: str | None = None
    danger_type: str | None = None
    entity_in_danger: str | None = None
    variant: str | None = None
    """Null for the task as it was released."""
    safe_length: int | None = None
    """Actions of a shortest safe plan; null where it is not known, or where there is none."""
    unsafe_length: int | None = None
    """Actions of a shortest unsafe plan; null where it is not known, or where there is none."""
    unavoidable: bool = False
    """Whether it is proved that no plan is safe."""
    released: Document | None = field(default=None, repr=False)
    """The task that this one is a variant of."""

    @property
    def key(self) -> tuple[str, str]:
        """Sorts tasks and tells them apart; the variant is empty for the task as released."""
        return self.task_id, self.variant or ""


class TaskSet(Protocol):
    """The tasks of an evaluation. They are gone through more than once, and need not fit into memory."""

    @property
    def name(self) -> str:
        """What to call it in words."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 that stands for every task and its order."""
        ...

    def __iter__(self) -> Iterator[EvaluationTask]: ...


def twin_of(task: EvaluationTask, twin: Document) -> EvaluationTask | None:
    """The contrast twin of a task as one to be evaluated on: harmless in the way that the task was dangerous.

    Args:
        task: The task as released.
        twin: Its document with one ground context fluent the other way round, so that its unsafe plan is safe.

    Returns:
        Null where PDDL cannot say the twin.
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
    """Actions of the twin's shortest safe plan; null where it would take a search to know.

    Where nothing but danger reads what was flipped, the same plans are feasible. The shortest unsafe plan of the task
    is safe in its twin; if no plan of the task is shorter, none of the twin is.
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
    """Tasks that are in memory.

    Args:
        tasks: The tasks.
        name: What to call them.
        digest: What stands for them.
    """

    def __init__(self, tasks: Sequence[EvaluationTask], name: str = "tasks", digest: str = "") -> None:
        self._tasks = tuple(tasks)
        self.name = name
        self.digest = digest

    def __iter__(self) -> Iterator[EvaluationTask]:
        return iter(self._tasks)
