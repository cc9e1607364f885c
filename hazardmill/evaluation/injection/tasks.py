"""Tasks of a release, each followed by copies of itself with distractors.

An injection that cannot be proved is left out and counted; the evaluation continues without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, Protocol

from hazardmill.errors import UsageError
from hazardmill.evaluation.injection.injection import ARMS, CONFIRM_LIMIT, LEVELS, Arm, InjectedTask, inject
from hazardmill.evaluation.injection.proof import InjectionRefused
from hazardmill.evaluation.tasks import EvaluationTask, TaskSet
from hazardmill.records import content_hash

MOST_EXAMPLES: Final = 20
"""Number of refusals that are listed one by one; all are counted."""


class CountedTasks(TaskSet, Protocol):
    """Tasks whose number is known."""

    @property
    def released(self) -> int:
        """Number of tasks, not counting variants."""
        ...


class InjectedTasks:
    """Tasks, each as released and then with distractors, in the order of arms, levels and seeds.

    The counts (``injected``, ``confirmed``, ``refused``, ``examples``) are those of the latest iteration.

    Args:
        tasks: The tasks. Variants among them, such as contrast twins, are passed on unchanged.
        arms: What to add.
        levels: Numbers of distractors.
        seeds: Number of draws of each arm and level, with the seeds 0, 1, 2...
        limit: Maximum number of expansions of each exact search that confirms a proof.

    Raises:
        UsageError: A level does not exist, or there is nothing to inject.
    """

    def __init__(
        self,
        tasks: CountedTasks,
        arms: Sequence[Arm],
        *,
        levels: Sequence[int] = LEVELS,
        seeds: int = 3,
        limit: int = CONFIRM_LIMIT,
    ) -> None:
        unknown = sorted(set(levels) - set(LEVELS))
        if unknown or not (arms and levels and seeds):
            raise UsageError(
                f"cannot inject {', '.join(map(str, unknown)) or 'nothing'}",
                remedy=f"give levels from {', '.join(map(str, LEVELS))}",
            )
        self._tasks = tasks
        self._arms = tuple(arm for arm in ARMS if arm in arms)
        self._levels = tuple(sorted(set(levels)))
        self._seeds = seeds
        self._limit = limit
        self._clear()

    @property
    def name(self) -> str:
        """Name of the tasks as released."""
        return self._tasks.name

    @property
    def released(self) -> int:
        """Number of tasks as released."""
        return self._tasks.released

    @cached_property
    def digest(self) -> str:
        """Hash of the tasks' digest and of everything that decides what is injected."""
        return content_hash([self._tasks.digest, "injected", self._arms, self._levels, self._seeds, self._limit])

    def __iter__(self) -> Iterator[EvaluationTask]:
        self._clear()
        for task in self._tasks:
            yield task
            if task.variant is None and not task.unavoidable:
                yield from self._inject(task)

    def describe(self) -> dict[str, Any]:
        """Return what was injected and what was refused, as JSON values."""
        return {
            "arms": list(self._arms),
            "levels": list(self._levels),
            "seeds": self._seeds,
            "injected": self.injected.total(),
            "confirmed": self.confirmed,
            "refused": {variant: self.refused[variant] for variant in sorted(self.refused)},
            "examples": self.examples,
        }

    def _clear(self) -> None:
        self.injected: Counter[str] = Counter()
        """Variant to the number of tasks."""
        self.confirmed = 0
        """Number of injected tasks for which exact search also found both optimal lengths unchanged."""
        self.refused: Counter[str] = Counter()
        """Variant to the number of tasks whose injection could not be proved."""
        self.examples: list[dict[str, str]] = []
        """The first refusals: task, variant and reason."""

    def _inject(self, task: EvaluationTask) -> Iterator[EvaluationTask]:
        for arm in self._arms:
            for level in self._levels:
                for seed in range(self._seeds):
                    made = self._one(task, arm, level, seed)
                    if made is not None:
                        yield made

    def _one(self, task: EvaluationTask, arm: Arm, level: int, seed: int) -> EvaluationTask | None:
        try:
            found = inject(task.document, arm, level, seed, limit=self._limit)
        except InjectionRefused as refusal:
            self._refuse(task, f"{arm}-{level}-seed-{seed}", refusal.message)
            return None
        made = found.task(task)
        if made is None:
            self._refuse(task, found.variant, "PDDL cannot express it")
            return None
        self.injected[found.variant] += 1
        self.confirmed += _is_confirmed(found)
        return made

    def _refuse(self, task: EvaluationTask, variant: str, why: str) -> None:
        self.refused[variant] += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append({"task_id": task.task_id, "variant": variant, "why": why})


def _is_confirmed(found: InjectedTask) -> bool:
    confirmed = found.proof.confirmed
    return bool(confirmed.safe and confirmed.unsafe)
