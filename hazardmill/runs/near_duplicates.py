"""Finds duplicates among the tasks of all runs, in chunks: structure ids are computed separately, then joined.

The definition is that of ``hazardmill.quality.duplicates``: the same structure and nearly the same text; the earlier
task is kept. Duplicates have equal structures, so the tasks of one structure can be compared on any machine, without a
look at the others. Every pair of texts is compared directly, without an index. Near texts across structures,
contradictory labels and other corpora are left to ``hazardmill dedupe``, in one process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hazardmill.errors import HazardmillError, InputError
from hazardmill.formalism.document.document import Document
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.quality.text import Spelling, fields_of, first_near, words
from hazardmill.records import FrozenModel
from hazardmill.runs.duplicates import texts_of
from hazardmill.store.store import Store

CHUNK: Final = 1_000
"""Tasks per chunk, which take about a second of a core."""

# The order of `hazardmill dedupe`: by run, and within a run by record.
_IDS: Final = """
    SELECT tasks.task_id
    FROM tasks_latest AS tasks
    LEFT JOIN outcomes ON outcomes.run_id = tasks.run_id AND outcomes.record_id = tasks.record_id
    LEFT JOIN (SELECT run_id, min("at") AS began FROM runs GROUP BY run_id) AS runs ON runs.run_id = tasks.run_id
    ORDER BY began, tasks.run_id, ordinal, tasks.task_id
"""
_TASKS: Final = "SELECT task_id, document, danger FROM tasks_latest WHERE list_contains($tasks, task_id)"


class NearDuplicate(FrozenModel):
    """A task and the earlier one that it duplicates."""

    task_id: str
    twin: str
    similarity: float
    """Rouge-L of their texts."""

    @property
    def in_words(self) -> str:
        """One line for display."""
        return f"{self.task_id} of {self.twin}, Rouge-L {self.similarity:.2f}"


def task_chunks(store: Store, size: int = CHUNK) -> list[tuple[str, ...]]:
    """Return the ids of all tasks, in chunks, in the order in which they are compared.

    Of a task in several runs, the latest version counts.

    Args:
        store: The store.
        size: Tasks per chunk.

    Raises:
        StoreError: The store cannot be read.
    """
    rows = store.query(lambda views: views.execute(_IDS).fetchall(), ["tasks", "outcomes", "runs"])
    ids = [task_id for (task_id,) in rows]
    return [tuple(ids[start : start + size]) for start in range(0, len(ids), size)]


def structures_of(store: Store, task_ids: Sequence[str]) -> dict[str, str]:
    """Compute the structure ids of tasks anew.

    Returns:
        Task id to structure id, in the order given; tasks without a structure id are left out.

    Raises:
        InputError: A task is not in the store, or its document is invalid.
        StoreError: The store cannot be read.
    """
    found = {}
    for task_id, (document, _) in _tasks(store, task_ids).items():
        try:
            structure = structure_or_null(Document.from_json(json.loads(document)).to_json())
        except (HazardmillError, ValueError, TypeError, RecursionError) as error:
            raise InputError(
                f"the document of task {task_id} is invalid: {getattr(error, 'message', error)}",
                file=str(store.path),
                remedy="see: hazardmill store verify",
            ) from error
        if structure is not None:
            found[task_id] = structure
    return found


def groups(structures: Mapping[str, str], size: int = CHUNK) -> list[tuple[tuple[str, ...], ...]]:
    """Group tasks by structure, and divide the groups into chunks.

    Args:
        structures: Task id to structure id, in the order in which tasks are compared.
        size: Tasks per chunk; a larger group is a chunk of its own.

    Returns:
        Chunks of groups of task ids. A task whose structure occurs once is left out.
    """
    by_structure: dict[str, list[str]] = {}
    for task_id, structure in structures.items():
        by_structure.setdefault(structure, []).append(task_id)
    made: list[list[tuple[str, ...]]] = []
    held = size
    for group in by_structure.values():
        if len(group) > 1:
            if held + len(group) > size:
                made.append([])
                held = 0
            made[-1].append(tuple(group))
            held += len(group)
    return [tuple(chunk) for chunk in made]


def alike_in(store: Store, chunk: Iterable[Sequence[str]]) -> list[NearDuplicate]:
    """Return the tasks that repeat an earlier one of their group.

    Args:
        store: The store.
        chunk: Groups of task ids, each of one structure, in the order in which they are compared.

    Raises:
        InputError: A task is not in the store.
        StoreError: The store cannot be read.
    """
    found = []
    for group in chunk:
        # Spelled once per text, not once per pair: a group may have thousands.
        spelling = Spelling()
        kept: dict[str, str] = {}
        for task_id, (document, danger) in _tasks(store, group).items():
            text = spelling(words("\n".join(fields_of(texts_of(json.loads(document), json.loads(danger))))))
            twin = first_near(text, kept)
            if twin is None:
                kept[task_id] = text
            else:
                found.append(NearDuplicate(task_id=task_id, twin=twin[0], similarity=twin[1]))
    return found


def _tasks(store: Store, task_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return document and danger by task, in the order given."""
    asked = {"tasks": list(task_ids)}
    rows = store.query(lambda views: views.execute(_TASKS, asked).fetchall(), ["tasks"])
    by_id = {task_id: (document, danger) for task_id, document, danger in rows}
    missing = [task_id for task_id in task_ids if task_id not in by_id]
    if missing:
        raise InputError(
            f"the store no longer contains the task {missing[0]}",
            file=str(store.path),
            remedy="start the check again",
        )
    return {task_id: by_id[task_id] for task_id in task_ids}
