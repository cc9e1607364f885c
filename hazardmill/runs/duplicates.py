"""Finds tasks of a run that repeat an earlier one: the same document, or the same structure in nearly the same words.

The definition is that of ``hazardmill.quality.duplicates``. A task is compared only with the earlier tasks of its
structure. They are found by the column ``structure_id``, so a session on a run of thousands of tasks starts at once:
texts are read only when another task of a known structure comes, and at first only those of that structure. A task that
repeats an earlier one is not kept, here or there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hazardmill.quality.duplicates import labels_differing, labels_of
from hazardmill.quality.text import Spelling, fields_of, first_near, words
from hazardmill.store.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

REASONS: Final = {
    "same_document": "An earlier task of the run has the same formal parts: all but texts and provenance.",
    "near_duplicate": "An earlier task of the run has the same structure, and nearly the same text.",
}
"""Reason codes of a duplicate, with their meanings."""

_AT_A_TIME: Final = 200
"""Tasks whose documents are held at once while their texts are read."""

_ONE_BY_ONE: Final = 8
"""Structures whose texts are read separately. With 20,000 tasks, finding one takes 1/20 of the time of reading all."""


@dataclass(frozen=True, slots=True)
class DuplicateReason:
    """Which earlier task is repeated, and why the new one counts as a duplicate."""

    task_id: str
    reason: str
    """``same_document`` or ``near_duplicate``."""
    message: str


class KeptTasks:
    """The tasks that a run has kept so far. Tasks must be added in record order.

    Args:
        store: Where the run writes.
        run_id: The run.
    """

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._spelling = Spelling()
        self._documents: dict[str, str] = {}
        self._structures: dict[str, _Alike] = {}
        self._readings = 0
        self._unread: set[str] = set()
        """Tasks that are kept, but whose texts are still only in the store."""
        for row in store.rows("tasks", {"run_id": run_id}, ["document_hash", "task_id", "structure_id"]):
            self._documents[row["document_hash"]] = row["task_id"]
            # Null for a document too regular for an id, or a row older than ids: it is never a near-duplicate.
            if row["structure_id"] is not None:
                self._structures.setdefault(row["structure_id"], _Alike()).keep(row["task_id"], "", {})
                self._unread.add(row["task_id"])

    def add(
        self, task_id: str, document_hash: str, structure: str | None, texts: Mapping[str, Any]
    ) -> DuplicateReason | None:
        """Keep a task, unless it repeats an earlier one.

        Args:
            task_id: The task.
            document_hash: Hash of its document.
            structure: Its structure id; None if it has none.
            texts: The texts of its document and the fields of its danger formalization.

        Returns:
            Which task it repeats; None if it was kept.
        """
        text, labels = self._spell(texts), labels_of(texts)
        alike = _Alike() if structure is None else self._structures.setdefault(structure, _Alike())
        if structure is not None and not self._unread.isdisjoint(alike.texts):
            self._read_texts(structure)
        first = self._documents.get(document_hash)
        if first is not None:
            message = f"its task is the same as {first}, which an earlier record gave"
            return DuplicateReason(
                first, "same_document", message + _contradiction(labels, alike.labels.get(first, {}))
            )
        near = first_near(text, alike.texts)
        if near is not None:
            other, likeness = near
            message = (
                f"its task is {other}, which an earlier record gave, under other names and in nearly the same words "
                f"(Rouge-L {likeness:.2f})"
            )
            return DuplicateReason(other, "near_duplicate", message + _contradiction(labels, alike.labels[other]))
        alike.keep(task_id, text, labels)
        self._documents[document_hash] = task_id
        return None

    def _spell(self, texts: Mapping[str, Any]) -> str:
        return self._spelling(words("\n".join(fields_of(texts))))

    def _read_texts(self, structure: str) -> None:
        """Read the texts of a structure's tasks or, after several such readings, all texts not yet read."""
        self._readings += 1
        only = structure if self._readings <= _ONE_BY_ONE else None
        for task_id, of, text, labels in self._store.query(lambda views: self._texts_in(views, only), ["tasks"]):
            if task_id in self._unread:
                self._structures[of].keep(task_id, text, labels)
        self._unread -= self._unread if only is None else self._structures[only].texts.keys()

    def _texts_in(self, views: DuckDBPyConnection, only: str | None) -> list[tuple[str, str, str, dict[str, str]]]:
        """Return tasks with structure, text and labels, holding only a few of the large documents at a time."""
        if only is None:
            cursor = views.execute(_TASKS, {"run": self._run_id})
        else:
            cursor = views.execute(f"{_TASKS} AND structure_id = $only", {"run": self._run_id, "only": only})
        found = []
        while rows := cursor.fetchmany(_AT_A_TIME):
            for task_id, structure, document, danger in rows:
                texts = texts_of(json.loads(document), json.loads(danger))
                found.append((task_id, structure, self._spell(texts), labels_of(texts)))
        return found


_TASKS: Final = """
    SELECT task_id, structure_id, document, danger FROM tasks WHERE run_id = $run AND structure_id IS NOT NULL
"""


class _Alike:
    """The tasks of one structure, first to last: their spelled texts and labels, both empty until read."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.labels: dict[str, dict[str, str]] = {}

    def keep(self, task_id: str, text: str, labels: dict[str, str]) -> None:
        """Keep a task, or set what was read of one already kept."""
        self.texts[task_id], self.labels[task_id] = text, labels


def _contradiction(labels: Mapping[str, str], there: Mapping[str, str]) -> str:
    """Return the end of a message that lists contradictory labels; empty if there are none."""
    told = [f"{name} {ours} against {theirs}" for name, ours, theirs in labels_differing(labels, there)]
    return f"; contradictory labels: {'; '.join(told)}" if told else ""


def texts_of(document: Mapping[str, Any], danger: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is compared of a task: the texts of its document, and its danger formalization."""
    return {**(document.get("texts") or {}), **danger}
