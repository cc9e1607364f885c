"""Which task of a run repeats an earlier one: the same document, or the same structure in nearly the same words.

The definition is that of ``hazardmill.quality.duplicates``. Only tasks of one structure are compared here, and they are
found by the column ``structure_id``, so that a session on a run of thousands of tasks begins at once: the texts of the
tasks of a structure are read when another one of it comes. What repeats an earlier task is not kept, here or there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hazardmill.quality.text import THRESHOLD, fields_of, rouge_l
from hazardmill.store.store import Store


@dataclass(frozen=True, slots=True)
class Repeated:
    """Why a task is a duplicate, and of which."""

    task_id: str
    reason: str
    """``same_document`` or ``near_duplicate``."""
    message: str


class Kept:
    """The tasks that a run has kept so far, to be asked in record order.

    Args:
        store: Where the run writes.
        run_id: The run.
    """

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._documents: dict[str, str] = {}
        self._structures: dict[str, list[str]] = {}
        self._texts: dict[str, str] = {}
        for row in store.rows("tasks", {"run_id": run_id}, ["document_hash", "task_id", "structure_id"]):
            self._documents[row["document_hash"]] = row["task_id"]
            # Null: too regular for an id, or from before there were any. It is nobody's twin.
            if row["structure_id"] is not None:
                self._structures.setdefault(row["structure_id"], []).append(row["task_id"])

    def add(self, task_id: str, document_hash: str, structure: str | None, texts: Mapping[str, Any]) -> Repeated | None:
        """What the task repeats; if nothing, it is kept.

        Args:
            task_id: Its id.
            document_hash: Of its document.
            structure: Its structure id; null if it has none.
            texts: Its document's texts and the fields of its danger formalization.
        """
        first = self._documents.get(document_hash)
        if first is not None:
            message = f"its task is the same as {first}, which an earlier record gave"
            return Repeated(first, "same_document", message)
        text = "\n".join(fields_of(texts))
        for other in self._of(structure):
            likeness = rouge_l(self._texts[other], text)
            if likeness is not None and likeness >= THRESHOLD:
                message = (
                    f"its task is {other}, which an earlier record gave, under other names and told in nearly the same "
                    f"words (Rouge-L {likeness:.2f})"
                )
                return Repeated(other, "near_duplicate", message)
        self._documents[document_hash] = task_id
        if structure is not None:
            self._structures.setdefault(structure, []).append(task_id)
            self._texts[task_id] = text
        return None

    def _of(self, structure: str | None) -> list[str]:
        """The tasks of a structure, first to last, with their texts at hand."""
        kept = self._structures.get(structure, []) if structure is not None else []
        if not all(task_id in self._texts for task_id in kept):
            where = {"run_id": self._run_id, "structure_id": structure}
            for row in self._store.rows("tasks", where, ["task_id", "document", "danger"]):
                texts = texts_of(json.loads(row["document"]), json.loads(row["danger"]))
                self._texts[row["task_id"]] = "\n".join(fields_of(texts))
        return kept


def texts_of(document: Mapping[str, Any], danger: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of a task: the texts of its document, and its danger formalization."""
    return {**(document.get("texts") or {}), **danger}
