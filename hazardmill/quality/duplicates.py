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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hazardmill.errors import SearchLimitReached
from hazardmill.quality.structure import structure_id
from hazardmill.quality.text import THRESHOLD, Near, Texts, fields_of

LABELS: Final = ("danger_type", "danger_group", "entity_in_danger", "avoidability")
"""The labels compared."""

Basis = Literal["text", "structure", "both"]
"""In what two tasks are alike."""


@dataclass(frozen=True, slots=True)
class Twin:
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
    near: tuple[tuple[str, float], ...]
    """Kept tasks whose text is near, with Rouge-L, in record order."""
    twin: Twin | None
    contradictions: tuple[Contradiction, ...]


@dataclass(slots=True)
class _Kept:
    task_id: str
    structure: str | None
    labels: Mapping[str, str]


@dataclass
class Pool:
    """The tasks so far, to be asked in record order whether the next one is new.

    Adding the tasks that a store holds, in the order in which they were committed, brings back the pool that
    committed them. It takes 13 to 17 kB of memory a task.

    Args:
        threshold: Rouge-L from which two texts are near.
    """

    threshold: float = THRESHOLD
    _texts: Texts = field(init=False)
    _kept: list[_Kept] = field(init=False, default_factory=list)
    _first: dict[str, int] = field(init=False, default_factory=dict)
    """Structure to the first task kept that has it."""

    def __post_init__(self) -> None:
        self._texts = Texts(self.threshold)

    def __len__(self) -> int:
        """How many tasks are kept."""
        return len(self._kept)

    def add(self, task_id: str, document: Mapping[str, Any], texts: Mapping[str, Any]) -> Twin | None:
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
        structure = structure_or_null(document)
        text, labels = self._texts.prepare("\n".join(fields_of(texts))), labels_of(texts)
        near = self._texts.near(text)
        alike = (each for each in near if structure is not None and self._kept[each.number].structure == structure)
        found = next(alike, None)
        twin = None if found is None else Twin(self._kept[found.number].task_id, found.similarity)
        contradictions = tuple(self._contradictions(task_id, structure, labels, near))
        if twin is None:
            self._texts.keep(text)
            if structure is not None:
                self._first.setdefault(structure, len(self._kept))
            self._kept.append(_Kept(task_id, structure, labels))
        told = tuple((self._kept[each.number].task_id, each.similarity) for each in near)
        return Look(structure, told, twin, contradictions)

    def _contradictions(
        self, task_id: str, structure: str | None, labels: Mapping[str, str], near: Iterable[Near]
    ) -> Iterable[Contradiction]:
        similarity: dict[int, float | None] = {each.number: each.similarity for each in near}
        if structure in self._first:
            similarity.setdefault(self._first[structure], None)
        told: set[tuple[object, ...]] = set()
        for number, alike in sorted(similarity.items()):
            kept = self._kept[number]
            same = structure is not None and kept.structure == structure
            basis: Basis = "structure" if alike is None else "both" if same else "text"
            says = (basis, *map(kept.labels.get, LABELS))
            if says in told:
                continue
            told.add(says)
            differing = tuple(
                (name, labels[name], kept.labels[name])
                for name in LABELS
                if name in labels and name in kept.labels and labels[name] != kept.labels[name]
            )
            if differing:
                yield Contradiction(task_id, kept.task_id, basis, alike, differing)


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
