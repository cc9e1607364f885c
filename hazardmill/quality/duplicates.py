"""Finding tasks that duplicate earlier ones, and similar tasks whose labels contradict one another.

A task is a duplicate of an earlier one if both have the same structure (``hazardmill.quality.structure``) *and* close
texts (``hazardmill.quality.text``). Either alone is not enough: a structure may fit many dangers, and two tasks may
have almost the same text and yet differ in one bound. Tasks arrive in record order. A duplicate is not kept, so no
later task is a duplicate of it, and the result for a task depends only on the tasks that were kept before it.

Labels contradict one another if two tasks are similar and a label that both have differs: danger type, group, entity in
danger, avoidability. A task is compared with every earlier task of close text, and with the first task of the same
structure. Of several tasks that contradict it in the same labels, only the first is named: otherwise thousands of tasks
written after one pattern would yield millions of contradictions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from hazardmill.errors import SearchLimitReached
from hazardmill.quality.structure import structure_id
from hazardmill.quality.text import THRESHOLD, CloseText, Texts, fields_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LABELS: Final = ("danger_type", "danger_group", "entity_in_danger", "avoidability")
"""The labels that are compared."""

Basis = Literal["text", "structure", "both"]
"""In what respect two tasks are similar."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The earlier task that a task duplicates.

    Attributes:
        task_id: Id of the earlier task.
        similarity: Rouge-L of their texts, from the threshold to 1.
    """

    task_id: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two similar tasks, and the labels in which they differ.

    Attributes:
        task_id: Id of the later task.
        other: Id of the earlier task.
        basis: In what respect they are similar.
        similarity: Rouge-L of their texts if these are close; otherwise None, as it was not measured.
        labels: Name of each label, with its value in the later and in the earlier task.
    """

    task_id: str
    other: str
    basis: Basis
    similarity: float | None
    labels: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class PoolResult:
    """The result of comparing a task with a pool.

    Attributes:
        structure: Its structure id; None if the document is too regular to have one, so that it is not a duplicate.
        near: The first kept task of close text, with Rouge-L; None if there is none.
        twin: The task that it duplicates; None if it was kept as a new one.
        contradictions: Earlier similar tasks with other labels.
    """

    structure: str | None
    near: tuple[str, float] | None
    twin: Duplicate | None
    contradictions: tuple[Contradiction, ...]


@dataclass
class DuplicatePool:
    """The tasks so far, which is asked in record order whether the next task is new.

    Adding the tasks of a store in the order of their commits restores the pool that committed them. It takes 5 to 8 kB
    of memory per task.

    Args:
        threshold: Rouge-L from which two texts are close.

    Raises:
        InputError: The threshold is not between 0.7 and 1.
    """

    threshold: float = THRESHOLD
    _texts: Texts = field(init=False)
    _ids: list[str] = field(init=False, default_factory=list)
    _first: dict[str, int] = field(init=False, default_factory=dict)
    """Structure id to the number of the first kept task that has it."""
    _firsts: array[int] = field(init=False, default_factory=lambda: array("q"))
    """Per kept task, the number of the first task of its structure: its own if no earlier one has it."""
    _labels: array[int] = field(init=False, default_factory=lambda: array("q"))
    """Per kept task, the number of its set of labels."""
    _label_numbers: dict[tuple[str | None, ...], int] = field(init=False, default_factory=dict)
    _said: list[dict[str, str]] = field(init=False, default_factory=list)
    """The sets of labels, by number."""

    def __post_init__(self) -> None:
        self._texts = Texts(self.threshold)

    def __len__(self) -> int:
        """Return the number of tasks that are kept."""
        return len(self._ids)

    def add(self, task_id: str, document: Mapping[str, Any], texts: Mapping[str, Any]) -> Duplicate | None:
        """Find the earlier task that a task duplicates; if there is none, keep the task.

        Args:
            task_id: Id of the task, by which later duplicates name it.
            document: Its document as JSON values.
            texts: Its fields of ``TEXT_FIELDS``; other fields, such as labels, may be among them.

        Returns:
            None if the task is new.

        Raises:
            InputError: The texts have over a million different words.
        """
        return self.look(task_id, document, texts).twin

    def look(self, task_id: str, document: Mapping[str, Any], texts: Mapping[str, Any]) -> PoolResult:
        """Compare a task with the pool and keep it if it is new, as ``add`` does.

        Args:
            task_id: Id of the task, by which later duplicates name it.
            document: Its document as JSON values.
            texts: Its fields of ``TEXT_FIELDS``, and its labels if contradictions are wanted.

        Returns:
            All that was found; ``twin`` is None if the task was kept.

        Raises:
            InputError: The texts have over a million different words.
        """
        import numpy as np

        structure = structure_or_null(document)
        text, labels = self._texts.prepare("\n".join(fields_of(texts))), labels_of(texts)
        # A structure that is new, or that cannot be determined, gets the number of this task.
        first = len(self) if structure is None else self._first.get(structure, len(self))

        def kinds_of(numbers: NDArray[np.intp]) -> NDArray[np.intp]:
            # One kind per set of labels and per equality of structure: only the first text of each kind is returned.
            kinds: NDArray[np.intp] = np.asarray(self._labels)[numbers] * 2 + (
                np.asarray(self._firsts)[numbers] == first
            )
            return kinds

        near = self._texts.near(text, kinds_of)
        contradictions = tuple(self._contradictions(task_id, first, labels, near))
        found = next((each for each in near if self._firsts[each.number] == first), None)
        if found is None:
            self._texts.keep(text)
            self._ids.append(task_id)
            self._firsts.append(first)
            self._labels.append(self._labels_numbered(labels))
            if structure is not None:
                self._first[structure] = first
        return PoolResult(
            structure,
            (self._ids[near[0].number], near[0].similarity) if near else None,
            None if found is None else Duplicate(self._ids[found.number], found.similarity),
            contradictions,
        )

    def _labels_numbered(self, labels: dict[str, str]) -> int:
        number = self._label_numbers.setdefault(tuple(map(labels.get, LABELS)), len(self._said))
        if number == len(self._said):
            self._said.append(labels)
        return number

    def _contradictions(
        self, task_id: str, first: int, labels: Mapping[str, str], near: list[CloseText]
    ) -> Iterator[Contradiction]:
        """Yield contradictions with the tasks of close text, one per kind, and with the first of the same structure."""
        similarity: dict[int, float | None] = {each.number: each.similarity for each in near}
        if first < len(self):
            similarity.setdefault(first, None)
        for number, alike in sorted(similarity.items()):
            same = self._firsts[number] == first
            basis: Basis = "structure" if alike is None else "both" if same else "text"
            differing = labels_differing(labels, self._said[self._labels[number]])
            if differing:
                yield Contradiction(task_id, self._ids[number], basis, alike, differing)


def structure_or_null(document: Mapping[str, Any]) -> str | None:
    """Return the structure id of a document; None if it is too large and regular to have one.

    Args:
        document: The document as JSON values.
    """
    try:
        return structure_id(document)
    except SearchLimitReached:
        return None


def labels_of(texts: Mapping[str, Any]) -> dict[str, str]:
    """Select the labels among the fields of a danger formalization.

    Args:
        texts: The fields. ``avoidability`` may be called ``instantaneous_avoidability``.

    Returns:
        Label to value; labels that are missing or not text are left out, as they are unknown.
    """
    named = {**texts, "avoidability": texts.get("avoidability", texts.get("instantaneous_avoidability"))}
    return {name: value for name in LABELS if isinstance(value := named.get(name), str)}


def labels_differing(labels: Mapping[str, str], there: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    """List the labels that two tasks have and that differ, each with its value in the one and in the other."""
    return tuple(
        (name, labels[name], there[name])
        for name in LABELS
        if name in labels and name in there and labels[name] != there[name]
    )
