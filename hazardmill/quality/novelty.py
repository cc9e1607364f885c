"""The novelty gate: a text is kept iff its greatest Rouge-L to every text kept before is below a threshold.

It decides as comparing every pair would, for every threshold, and compares few. Two texts of m and n words whose
Rouge-L is at least t share at least t (m + n) / 2 words, each counted as often as it occurs. So if all words are put
into one order, and two texts must share a words, the first c that both share are among the first n - a + c of either
text, if they share so many: only texts that have c words in common there are measured (prefix filtering; Chaudhuri,
Ganti and Kaushik, 2006). Texts are looked up by their lengths, as those that are about as long must share the most.
The order of words is that in which they were first seen, the latest first, because these are rare.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hazardmill.quality.text import Spelling, words

_SLACK: Final = 1e-9
"""Keeps rounding from shortening what is compared."""

_COMMON: Final = 4
"""Words that two close texts must have in common where they are looked up, if they are long enough to have so many."""

_GROWTH: Final = 1.2
"""Ratio of the greatest length to the least of texts that are looked up together."""

_OCCURRENCE: Final = 1 << 21
"""Added to the number of a word for each time that it occurred before in its text; there are fewer characters."""

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
        self._order: dict[int, int] = {}
        """The place of each word in the order; a word that occurs again in a text is another one."""
        self._groups: dict[int, dict[int, array[int]]] = {}
        """For each range of lengths the texts that have a word among their first ones, by the word's place."""
        self._lookups: dict[int, list[tuple[dict[int, array[int]], int]]] = {}
        """For each length of a text that is asked about, where to look, and for how many of its first words."""

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
        spelled = self._spelling(words(text))
        places = self._places(spelled)
        nearest = self._nearest(spelled, places)
        if nearest is not None:
            return NoveltyVerdict(False, *nearest)
        self._keep(spelled, places)
        return NoveltyVerdict(True)

    def _places(self, spelled: str) -> list[int]:
        """Return the places of the words of a text in the order, the rarest first."""
        elements = sorted(map(ord, spelled))
        last, before = -1, 0
        for index, code in enumerate(elements):
            if code == last:
                before += _OCCURRENCE
                elements[index] = code + before
            else:
                last, before = code, 0
        order = self._order
        places = [order.setdefault(element, len(order)) for element in elements]
        places.sort(reverse=True)
        return places

    def _keep(self, spelled: str, places: list[int]) -> None:
        number = len(self._kept)
        self._kept.append(spelled)
        # Otherwise nothing or everything is close, whatever the words.
        if not places or not 0 < self._threshold <= 1:
            return
        group = int(math.log(len(places), _GROWTH))
        if group not in self._groups:
            self._groups[group] = {}
            self._lookups.clear()
        by_word = self._groups[group]
        for word in places[: len(places) - self._least_shared(len(places)) + _COMMON]:
            if word in by_word:
                by_word[word].append(number)
            else:
                by_word[word] = array("i", (number,))

    def _least_shared(self, length: int) -> int:
        """Return how many words any text that is close shares with one of this length."""
        return max(1, math.ceil(self._threshold * length / (2 - self._threshold) - _SLACK))

    def _lookup(self, length: int) -> list[tuple[dict[int, array[int]], int]]:
        if length in self._lookups:
            return self._lookups[length]
        threshold, found = self._threshold, []
        least, most = threshold * length / (2 - threshold), length * (2 - threshold) / threshold
        for group, by_word in self._groups.items():
            shortest, longest = _GROWTH**group * (1 - _SLACK), _GROWTH ** (group + 1) * (1 + _SLACK)
            if longest < least - _SLACK or shortest > most + _SLACK:
                continue
            shared = math.ceil(threshold * (length + max(shortest, least)) / 2 - _SLACK)
            found.append((by_word, length - shared + _COMMON))
        return self._lookups.setdefault(length, found)

    def _candidates(self, places: list[int]) -> Iterable[int]:
        """Return the numbers of the kept texts that may be close, in increasing order."""
        import numpy as np

        if self._threshold <= 0:
            return range(len(self._kept))
        if not places:
            return ()
        lists = [
            by_word[word]
            for by_word, several in self._lookup(len(places))
            for word in places[:several]
            if word in by_word
        ]
        numbers = np.frombuffer(bytearray().join(lists), np.intc)
        numbers.sort()
        common = min(_COMMON, self._least_shared(len(places)))
        later = numbers[common - 1 :]
        return dict.fromkeys(later[later == numbers[: later.size]].tolist())

    def _nearest(self, spelled: str, places: list[int]) -> tuple[int, float] | None:
        from rapidfuzz import process
        from rapidfuzz.distance import Indel

        if self._threshold > 1 or not self._kept:
            return None
        near = list(self._candidates(places))
        if not near:
            return None
        # Of equal ones the first in order is returned.
        best = process.extractOne(
            spelled,
            [self._kept[number] for number in near],
            scorer=Indel.normalized_similarity,
            score_cutoff=max(0.0, self._threshold - _BELOW),
        )
        if best is None or best[1] < self._threshold:
            return None
        return near[best[2]], best[1]
