"""Measuring how much of a set of tasks another corpus already contains: shares of word n-grams, and equal structures.

An n-gram is eight consecutive words (``hazardmill.quality.text.words``) within one field of a task's text. It does not
extend from one field into the next, because other corpora may have the fields in another order. The share of a task is
the proportion of its distinct n-grams that occur anywhere in the other corpus, within one text there. It is None, not
0, for a task without a field of eight words. A task overlaps from a share of 0.7: this is how PaLM counted contaminated
examples (at least 70 % of 8-grams; Chowdhery et al., 2022, section 8).

A structural match is a task of the other corpus with the same structure id, whatever its names and words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hazardmill.quality.duplicates import structure_or_null
from hazardmill.quality.text import words

N: Final = 8
"""Number of words of an n-gram."""
OVERLAP: Final = 0.7
"""Share of n-grams from which a task overlaps with the other corpus."""


@dataclass(frozen=True)
class Piece:
    """A piece of the other corpus: a file, or a line, row or task of one.

    Attributes:
        place: Where it is, in words.
        texts: Its texts.
        documents: Its tasks, as JSON values of well-formed documents.
    """

    place: str
    texts: tuple[str, ...] = ()
    documents: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class CorpusOverlap:
    """How much of one task the other corpus contains.

    Attributes:
        task_id: Id of the task.
        ngrams: Number of its distinct n-grams.
        found: How many of them occur in the other corpus.
        place: The piece that has most of them, the first if several do; None if no n-gram was found.
        structure: The first piece with a task of the same structure; None if there is none.
        structures: Number of tasks in the other corpus with the same structure.
    """

    task_id: str
    ngrams: int
    found: int
    place: str | None
    structure: str | None
    structures: int

    @property
    def share(self) -> float | None:
        """Share of the n-grams that were found; None if the task has none."""
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
    """A comparison of tasks with another corpus, which is read piece by piece; only matches are kept of it.

    First ``add`` all tasks, then ``look`` at all pieces, then ask for ``overlaps``.
    """

    _tasks: list[_Task] = field(default_factory=list)
    _having: dict[str, list[int]] = field(default_factory=dict)
    """N-gram to the numbers of the tasks that have it."""
    _found: set[str] = field(default_factory=set)
    _structures: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Structure id to the first piece that has it, and the number of documents that do."""
    pieces: int = 0
    """Number of pieces seen."""
    documents: int = 0
    """Number of task documents in them; a task folder may hold several, such as its contrast twin."""

    def add(self, task_id: str, structure: str | None, texts: Iterable[str]) -> None:
        """Add a task to compare; only before the first piece.

        Args:
            task_id: Id of the task.
            structure: Its structure id; None if it has none.
            texts: The fields of its text, one by one.
        """
        found = set(ngrams(texts))
        for ngram in found:
            self._having.setdefault(ngram, []).append(len(self._tasks))
        self._tasks.append(_Task(task_id, structure, len(found)))

    def look(self, piece: Piece) -> None:
        """Search a piece of the other corpus for n-grams and structures of the tasks."""
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
        """Yield the overlap of each task, in the order in which they were added."""
        for task in self._tasks:
            place, count = self._structures.get(task.structure or "", (None, 0))
            yield CorpusOverlap(task.task_id, task.ngrams, task.found, task.place, place, count)


def ngrams(texts: Iterable[str], n: int = N) -> Iterator[str]:
    """Yield all runs of n consecutive words of each text, joined by spaces; a run may occur several times.

    Args:
        texts: The texts; no n-gram extends from one into the next.
        n: Number of words.
    """
    for text in texts:
        found = words(text)
        for start in range(len(found) - n + 1):
            yield " ".join(found[start : start + n])
