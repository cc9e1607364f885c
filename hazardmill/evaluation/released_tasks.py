"""The tasks of a release as an evaluation needs them, so that neither package has to know the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from hazardmill.errors import UsageError
from hazardmill.evaluation.tasks import EvaluationTask, twin_of
from hazardmill.records import content_hash

if TYPE_CHECKING:
    from hazardmill.release.read.release import Release
    from hazardmill.release.read.task import ReleasedTask


class ReleasedTasks:
    """Tasks of a release in the order of the release, each followed by its contrast twin if twins are asked for.

    Args:
        release: The release.
        split: Take only the tasks of this split; None takes all.
        limit: Take at most this many tasks; None takes all.
        twins: Whether to add contrast twins.
        unavoidable: Whether to add the tasks without a safe plan, after all others and beyond the limit.
    """

    def __init__(
        self,
        release: Release,
        *,
        split: str | None = None,
        limit: int | None = None,
        twins: bool = False,
        unavoidable: bool = False,
    ) -> None:
        self._release = release
        self._split = split
        self._limit = limit
        self._twins = twins
        self._unavoidable = unavoidable

    @property
    def name(self) -> str:
        """Name and version of the release, with the split: ``hazardmill 1.0.0, test``."""
        named = f"{self._release.manifest.name} {self._release.version}"
        return named if self._split is None else f"{named}, {self._split}"

    @cached_property
    def digest(self) -> str:
        """Hash of the release's manifest, which holds the hashes of its files, and of the selection from it."""
        taken = [self._split, self._limit, self._twins, self._unavoidable]
        return content_hash([self._release.manifest.sha256(), *taken])

    @property
    def release(self) -> dict[str, str]:
        """Identity of the release, for the summary."""
        manifest = self._release.manifest
        return {"name": manifest.name, "version": self._release.version, "manifest_sha256": manifest.sha256()}

    @property
    def released(self) -> int:
        """Number of tasks with a safe plan, not counting twins."""
        splits = (self._release.splits(name) for name in ("tasks", "tasks_by_sa") if name in self._release.configs())
        count = sum(rows for split in splits for name, rows in split.items() if self._split in (None, name))
        return count if self._limit is None else min(self._limit, count)

    def check_any(self) -> None:
        """Refuse to evaluate on nothing.

        Raises:
            UsageError: There is no task with a safe plan.
        """
        if self.released:
            return
        manifest = self._release.manifest
        where = f"{manifest.name} {self._release.version}"
        if self._split is None:
            raise UsageError(f"{where} has no task with a safe plan", remedy="name another release")
        splits = (self._release.splits(name) for name in ("tasks", "tasks_by_sa") if name in self._release.configs())
        there = sorted({name for split in splits for name, rows in split.items() if rows})
        raise UsageError(
            f"{where} has no task with a safe plan in its split {self._split}",
            remedy=f"name another --split (there are tasks in: {', '.join(there) or 'none'}), or leave it out",
        )

    def __iter__(self) -> Iterator[EvaluationTask]:
        for released in islice(self._release.tasks(self._split), self._limit):
            task = _task(released)
            yield task
            twin = released.twin if self._twins else None
            twin_task = None if twin is None else twin_of(task, twin)
            if twin_task is not None:
                yield twin_task
        if self._unavoidable:
            yield from map(_task, self._release.unavoidable(self._split))

    def tasks_with_plans(self) -> Iterator[tuple[EvaluationTask, str, str | None]]:
        """Yield each task with its unsafe and its safe reference plan, which no planner may see. Twins are left out.

        Yields:
            The task, its shortest unsafe plan, and its shortest safe plan or None.
        @@
        """
        for released in islice(self._release.tasks(self._split), self._limit):
            yield _task(released), released.unsafe_plan, released.safe_plan


def _task(released: ReleasedTask) -> EvaluationTask:
    row = released.row
    return EvaluationTask(
        task_id=released.task_id,
        document=released.document,
        domain_pddl=released.domain_pddl,
        problem_pddl=released.problem_pddl,
        source=released.source,
        danger_group=released.danger_group,
        danger_type=released.danger_type,
        entity_in_danger=row["entity_in_danger"],
        safe_length=row.get("safe_length"),
        unsafe_length=row["unsafe_length"],
        unavoidable=released.safe_plan is None,
    )
