"""The novelty gate: a text is kept iff its greatest Rouge-L to every text kept before is below a threshold.

It decides as comparing every pair would, for every threshold, and compares few. Two texts of m and n words whose
Rouge-L is at least t share at least t (m + n) / 2 words, each counted as often as it occurs, hence at least
a = t n / (2 - t) of the n words of either. So if all words are put into one order, the first c words that both share
are among the first n - a + c of either text, if they share so many: only texts that have c words in common there are
measured (prefix filtering; Chaudhuri, Ganti and Kaushik, 2006). The order is that in which words were first seen, the
latest first, because these are rare.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import Final

from hazardmill.quality.text import Spelling, words

_SLACK: Final = 1e-9
"""Keeps rounding from shortening what is compared."""

_COMMON: Final = 3
"""Words that two close texts must have in common where they are looked up, if they are long enough to have so many."""

_BELOW: Final = 1e-6
"""How far below the threshold rapidfuzz is asked to look: rounding may make it drop a score that equals its cutoff."""


@dataclass(frozen=True, slots=True)
class NoveltyVerdict:
    """What the gate decided about a text.

    Attributes:
        kept: Whether it was kept.
        nearest: Number of the first kept text with the greatest Rouge-L, from 0; None for a text that was kept.
        similarity: That Rouge-L, 0 to 1; None for a text that was kept.
    """

    kept: bool
    nearest: int | None = None
    similarity: float | None = None


class NoveltyGate:
    """Keeps texts that are unlike all kept before. The same texts in the same order give the same decisions.

    Args:
        threshold: Rouge-L from which a text is not new. At 0 or below, one text is kept; above 1, all are.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._spelling = Spelling()
        self._kept: list[str] = []
        self._numbers: dict[tuple[str, int], int] = {}
        """The place of each word in the order; a word that occurs again in a text is another one."""
        self._by_word: dict[int, array[int]] = {}

    def __len__(self) -> int:
        """Return the number of texts that are kept."""
        return len(self._kept)

    def add(self, text: str) -> NoveltyVerdict:
        """Keep a text if it is new.

        Args:
            text: The text. One without words is as unlike every other as two texts can be (Rouge-L 0).

        Returns:
            The decision.

        Raises:
            InputError: The texts have over a million different words.
        """
        found = words(text)
        spelled = self._spelling(found)
        prefix, common = self._prefix(found)
        nearest = self._nearest(spelled, prefix, common)
        if nearest is not None:
            return NoveltyVerdict(False, *nearest)
        number = len(self._kept)
        self._kept.append(spelled)
        for word in prefix:
            self._by_word.setdefault(word, array("i")).append(number)
        return NoveltyVerdict(True)

    def _prefix(self, found: list[str]) -> tuple[list[int], int]:
        """Return the words of a text that are looked up, and how many of them a text that is close has as well."""
        numbers = self._numbers
        counts: dict[str, int] = {}
        places = []
        for word in found:
            counts[word] = count = counts.get(word, 0) + 1
            places.append(numbers.setdefault((word, count), len(numbers)))
        if not 0 < self._threshold <= 1 or not places:
            # Nothing or everything is close, whatever the words.
            return [], 0
        shared = max(1, math.ceil(self._threshold * len(places) / (2 - self._threshold) - _SLACK))
        places.sort(reverse=True)
        return places[: len(places) - shared + _COMMON], min(_COMMON, shared)

    def _nearest(self, spelled: str, prefix: list[int], common: int) -> tuple[int, float] | None:
        import numpy as np
        from rapidfuzz import process
        from rapidfuzz.distance import Indel

        if self._threshold > 1 or not self._kept:
            return None
        found = np.zeros(len(self._kept), np.uint16)
        for word in prefix:
            numbers = self._by_word.get(word)
            if numbers is not None:
                found[np.frombuffer(numbers, np.intc)] += 1
        if self._threshold > 0 and not common:
            return None
        near = np.flatnonzero(found >= common).tolist()
        if not near:
            return None
        # Of equal ones the first in order is returned.
        best = process.extractOne(
            spelled,
            {number: self._kept[number] for number in near},
            scorer=Indel.normalized_similarity,
            score_cutoff=max(0.0, self._threshold - _BELOW),
        )
        if best is None or best[1] < self._threshold:
            return None
        return best[2], best[1]
