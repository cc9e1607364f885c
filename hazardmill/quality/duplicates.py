"""Which tasks are twins of earlier ones, and which near-twins say different things of the same danger.

A task is a duplicate of an earlier one if both have the same structure (``hazardmill.quality.structure``) *and* near
texts (``hazardmill.quality.text``). Either alone is not enough: a structure that fits many dangers is no fault, and two
tasks may be told alike and yet differ in one bound. Tasks come in record order; a duplicate is not kept, so that it is
nobody's twin, and what is decided of a task depends on the kept ones before it alone.

Labels are contradictory where tasks are alike and a label that both have differs: danger type, group, entity in danger,
avoidability. Of tasks with near texts every earlier one is compared; of tasks with the same structure the first. Of
those that contradict a task in the same labels, the first is named: else thousands of tasks told after one pattern
would make millions of contradictions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from hazardmill.errors import SearchLimitReached
from hazardmill.quality.structure import structure_id
from hazardmill.quality.text import THRESHOLD, Near, Texts, fields_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LABELS: Final = ("danger_type", "danger_group", "entity_in_danger", "avoidability")
"""The labels compared."""

Basis = Literal["text", "structure", "both"]
"""In what two tasks are alike."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The task that another one duplicates."""

    task_id: str
    similarity: float
    """Rouge-L of their texts."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two tasks that are alike, and labels on which they differ."""

    task_id: str
    other: str
    """The earlier one."""
    basis: Basis
    similarity: float | None
    """Rouge-L of their texts where these are near, else null: it was not measured."""
    labels: tuple[tuple[str, str, str], ...]
    """Label, its value here, its value there."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a pool says of a task."""

    structure: str | None
    """Its structure id; null if the document is too regular to have one. Then it is nobody's duplicate."""
    near: tuple[str, float] | None
    """The first task kept whose text is near, and Rouge-L; null if there is none."""
    twin: Duplicate | None
    contradictions: tuple[Contradiction, ...]


@dataclass
class DuplicatePool:
    """The tasks so far, to be asked in record order whether the next one is new.

    Adding the tasks that a store holds, in the order in which they were committed, brings back the pool that
    committed them. It takes 5 to 8 kB of memory a task.

    Args:
        threshold: Rouge-L from which two texts are near.
    """

    threshold: float = THRESHOLD
    _texts: Texts = field(init=False)
    _ids: list[str] = field(init=False, default_factory=list)
    _first: dict[str, int] = field(init=False, default_factory=dict)
    """Structure to the first task kept that has it."""
    _firsts: array[int] = field(init=False, default_factory=lambda: array("q"))
    """Of each task kept, the first one of its structure: itself, if no earlier one has it."""
    _labels: array[int] = field(init=False, default_factory=lambda: array("q"))
    """Of each task kept, the number of its labels."""
    _label_numbers: dict[tuple[str | None, ...], int] = field(init=False, default_factory=dict)
    _said: list[dict[str, str]] = field(init=False, default_factory=list)
    """The labels of each number."""

    def __post_init__(self) -> None:
        self._texts = Texts(self.threshold)

    def __len__(self) -> int:
        """How many tasks are kept."""
        return len(self._ids)

    def add(self, task_id: str, document: Mapping[str, Any], texts: Mapping[str, Any]) -> Duplicate | None:
        """The earlier task that this one duplicates; if there is none, the task is kept.

        Args:
            task_id: Its id, or whatever a twin of it is to be pointed to by.
            document: The document's JSON.
            texts: The fields of ``TEXT_FIELDS`` that it has; others, such as labels, may be among them.

        Raises:
            InputError: The texts have over a million different words.
        """
        return self.look(task_id, document, texts).twin

    def look(self, task_id: str, document: Mapping[str, Any], texts: Mapping[str, Any]) -> Look:
        """As ``add``, and says all there is to say of the task."""
        import numpy as np

        structure = structure_or_null(document)
        text, labels = self._texts.prepare("\n".join(fields_of(texts))), labels_of(texts)
        # A number of its own for a structure that nobody has, or that cannot be told.
        first = len(self) if structure is None else self._first.get(structure, len(self))

        def kinds_of(numbers: NDArray[np.intp]) -> NDArray[np.intp]:
            # By labels, and whether the structure is the same: of each kind only the first is told.
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
        return Look(
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
        self, task_id: str, first: int, labels: Mapping[str, str], near: list[Near]
    ) -> Iterator[Contradiction]:
        """With the tasks near, of each kind one, and with the first one of the same structure."""
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
    """The structure id; null if the document is too large and regular for one."""
    try:
        return structure_id(document)
    except SearchLimitReached:
        return None


def labels_of(texts: Mapping[str, Any]) -> dict[str, str]:
    """The labels among the fields of a danger formalization; one that is not there is unknown."""
    named = {**texts, "avoidability": texts.get("avoidability", texts.get("instantaneous_avoidability"))}
    return {name: value for name in LABELS if isinstance(value := named.get(name), str)}


def labels_differing(labels: Mapping[str, str], there: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    """Each label that both have and that differs, with its value here and there."""
    return tuple(
        (name, labels[name], there[name])
        for name in LABELS
        if name in labels and name in there and labels[name] != there[name]
    )
