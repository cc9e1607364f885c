"""How much of our tasks another corpus holds already: shares of word n-grams, and the same structures.

An n-gram is eight words in a row (``hazardmill.quality.text.words``) within one field of a task's text; it does not
reach from one field into the next, because files elsewhere have fields in another order. A task's share is that of its
different n-grams which occur anywhere in the other corpus, within one text there. It is null, not 0, for a task none of
whose fields has eight words. From 0.7 on it overlaps: at least 70 % of 8-grams is how PaLM counted contaminated
examples (Chowdhery et al., 2022, section 8).

A structural match is a task of the other corpus with the same structure id, whatever it is called or told like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hazardmill.quality.duplicates import structure_or_null
from hazardmill.quality.text import words

N: Final = 8
"""Words of an n-gram."""
OVERLAP: Final = 0.7
"""Share of n-grams from which a task overlaps."""


@dataclass(frozen=True)
class Piece:
    """Something in the other corpus: a file, or a line, row or task in one."""

    place: str
    """Where it is, for people."""
    texts: tuple[str, ...] = ()
    documents: tuple[Mapping[str, Any], ...] = ()
    """The tasks in it, as the JSON of well-formed documents."""


@dataclass(frozen=True, slots=True)
class CorpusOverlap:
    """What the other corpus has of one task."""

    task_id: str
    ngrams: int
    """Different n-grams of the task."""
    found: int
    """Those of them that occur in the other corpus."""
    place: str | None
    """The first of the places that have most of them; null if none was found."""
    structure: str | None
    """The first place with a task of the same structure; null if there is none."""
    structures: int
    """How many tasks there have it."""

    @property
    def share(self) -> float | None:
        """Share of the n-grams found; null if the task has none."""
        return self.found / self.ngrams if self.ngrams else None


@dataclass
class _Task:
    task_id: str
    structure: str | None
    ngrams: int
    found: int = 0
    most: int = 0
    place: str | None = None


@dataclass
class CorpusComparison:
    """Our tasks, past which another corpus is carried piece by piece; of that, only what was found is kept."""

    _tasks: list[_Task] = field(default_factory=list)
    _having: dict[str, list[int]] = field(default_factory=dict)
    """N-gram to the tasks that have it."""
    _found: set[str] = field(default_factory=set)
    _structures: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Structure to the first place that has it there, and how many have."""
    pieces: int = 0
    """Pieces seen."""
    documents: int = 0
    """Task documents seen in them; a task folder may hold several, such as its contrast twin."""

    def add(self, task_id: str, structure: str | None, texts: Iterable[str]) -> None:
        """Take in one of our tasks; only before the first piece.

        Args:
            task_id: Its id.
            structure: Its structure id, if it has one.
            texts: Its fields, each for itself.
        """
        found = set(ngrams(texts))
        for ngram in found:
            self._having.setdefault(ngram, []).append(len(self._tasks))
        self._tasks.append(_Task(task_id, structure, len(found)))

    def look(self, piece: Piece) -> None:
        """See what a piece has of our tasks."""
        self.pieces += 1
        here: Counter[int] = Counter()
        for ngram in {each for each in ngrams(piece.texts) if each in self._having}:
            here.update(self._having[ngram])
            if ngram not in self._found:
                self._found.add(ngram)
                for number in self._having[ngram]:
                    self._tasks[number].found += 1
        for number, count in here.items():
            task = self._tasks[number]
            if count > task.most:
                task.most, task.place = count, piece.place
        for document in piece.documents:
            self.documents += 1
            structure = structure_or_null(document)
            if structure is not None:
                first, count = self._structures.get(structure, (piece.place, 0))
                self._structures[structure] = first, count + 1

    def overlaps(self) -> Iterator[CorpusOverlap]:
        """What was found of each task, in the order in which they were added."""
        for task in self._tasks:
            place, count = self._structures.get(task.structure or "", (None, 0))
            yield CorpusOverlap(task.task_id, task.ngrams, task.found, task.place, place, count)


def ngrams(texts: Iterable[str], n: int = N) -> Iterator[str]:
    """Each n words in a row of each text, joined by blanks."""
    for text in texts:
        found = words(text)
        for start in range(len(found) - n + 1):
            yield " ".join(found[start : start + n])
