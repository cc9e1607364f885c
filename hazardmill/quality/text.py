"""The text of a task, and which texts are nearly the same.

The text is what people read of it: the request, then where, why, how and with what result it is dangerous, and the way
out (``TEXT_FIELDS``, in this order; what says the same twice is taken once). Role and assumptions are left out, because
they are boilerplate, and labels, because they are compared by themselves.

Likeness is Rouge-L over words: 2 L / (m + n) for texts of m and n words whose longest common subsequence has L
(Lin, "ROUGE", 2004). Two texts are near from 0.7 on, the novelty threshold of Self-Instruct (Wang et al., 2023).

Texts are found by MinHash LSH over their words, each counted as often as it occurs. Of two near texts the share of
common words (Jaccard) is at least s / (2 - s) = 0.538, so that bands and rows can be chosen for a recall that holds
whatever the texts are: at least 0.992 on average even where every pair lies right at the threshold. Each candidate is
then measured, so that no pair is near by chance.

Where texts are told after one pattern, a text shares bands with most others. What cannot be near is then left out by
its words alone, and who wants to know only the first near text of each kind does not wait for the rest.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THRESHOLD: Final = 0.7
"""Rouge-L from which two texts are near."""

TEXT_FIELDS: Final = (
    "title",
    "robot_task",
    "setting",
    "cause_of_danger",
    "danger_action",
    "result_of_danger",
    "instantaneous_solution",
)
"""Fields of a document's texts or of a danger formalization, in the order in which they make a task's text."""

BANDS: Final = 56
ROWS: Final = 4
"""Of the LSH: 1 - (1 - 0.538 ** 4) ** 56 = 0.992."""
SEED: Final = 1

_BITS: Final = 512
_SPREAD, _TWICE, _PRIME = 2_654_435_761, 40_503, 2**31 - 1

_CROWDED: Final = 8
"""Texts in the bands of a text, each as often as it shares one, to all: from here on to gather them is not worth it."""
_AT_FIRST: Final = 256
_AT_MOST: Final = 2**14
"""Texts measured at once, of which there are more the longer nothing is found."""

_WORD: Final = re.compile(r"[^\W_]+")
_SURROGATES: Final = range(0xD800, 0xE000)
_CODE_POINTS: Final = 0x110000


def words(text: str) -> list[str]:
    """The words of a text: runs of letters and digits, without case, compatibility characters resolved."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def fields_of(texts: Mapping[str, Any]) -> list[str]:
    """The texts of ``TEXT_FIELDS`` that are there, those with the same words once."""
    found: dict[tuple[str, ...], str] = {}
    for name in TEXT_FIELDS:
        text = texts.get(name)
        if isinstance(text, str):
            found.setdefault(tuple(words(text)), text)
    return [text for of, text in found.items() if of]


class Spelling:
    """Words as single characters, which rapidfuzz compares faster than strings in a list."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def __call__(self, found: Iterable[str]) -> str:
        """A character a word.

        Raises:
            InputError: There were over a million different words.
        """
        return "".join(self._letters.get(word) or self._new(word) for word in found)

    def _new(self, word: str) -> str:
        code = len(self._letters) + 1
        code += len(_SURROGATES) * (code >= _SURROGATES.start)
        if code >= _CODE_POINTS:
            raise InputError("the texts have over a million different words", remedy="compare fewer texts")
        return self._letters.setdefault(word, chr(code))


def rouge_l(one: str, other: str) -> float | None:
    """Rouge-L (F1) of two texts, 0 to 1; null if one of them has no words."""
    from rapidfuzz.distance import Indel

    first, second = words(one), words(other)
    if not first or not second:
        return None
    spelling = Spelling()
    # A normalised insertion-deletion similarity is 1 - (m + n - 2 L) / (m + n).
    return Indel.normalized_similarity(spelling(first), spelling(second))


def first_near(text: str, among: Mapping[str, str]) -> tuple[str, float] | None:
    """The key of the first text that is near, and Rouge-L; a text without words is near to none.

    Args:
        text: As one ``Spelling`` gives it.
        among: Texts as the same one gives them, by whatever they are called.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    if not text:
        return None
    # Measured one after the other, without a way back into Python, up to the first that is near.
    near = process.extract_iter(text, among, scorer=Indel.normalized_similarity, score_cutoff=THRESHOLD)
    found = next(near, None)
    return None if found is None else (found[2], found[1])


@dataclass(frozen=True, slots=True)
class Near:
    """A text that is near to the one asked about."""

    number: int
    """Its place among the texts kept, from 0."""
    similarity: float
    """Rouge-L."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text as ``Texts`` compares it."""

    spelled: str
    """A character a word."""
    bands: tuple[bytes, ...]
    """Of its MinHash; none of a text without words."""
    bag: bytes
    """A bit for each word (each time it occurs), ``_BITS`` in all; several words may have the same."""


class Texts:
    """Texts kept in memory, 5 to 8 kB each, to be asked which are near to another.

    The same texts kept in the same order give the same answers in every process, whatever else was asked.

    Args:
        threshold: Rouge-L from which two texts are near; at least 0.7, for which the index is made.

    Raises:
        InputError: The threshold is another.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        if not THRESHOLD <= threshold <= 1:
            raise InputError(f"the threshold is {threshold}", remedy=f"choose one from {THRESHOLD} to 1")
        # Brings numpy and scipy along, and has no type information.
        datasketch: Any = import_module("datasketch")
        self._blank = datasketch.MinHash(num_perm=BANDS * ROWS, seed=SEED, scheme="affine32")
        self._threshold = threshold
        self._spelling = Spelling()
        self._kept: list[str] = []
        self._lengths = array("q")
        self._bags = bytearray()
        # Not datasketch's own index: that gathers all texts in a band before anybody can see how many they are.
        self._alone: list[dict[bytes, int]] = [{} for _ in range(BANDS)]
        self._more: list[dict[bytes, array[int]]] = [{} for _ in range(BANDS)]

    def __len__(self) -> int:
        """How many texts are kept."""
        return len(self._kept)

    def prepare(self, text: str) -> PreparedText:
        """A text for ``near`` and ``keep``.

        Raises:
            InputError: The texts have over a million different words.
        """
        found = words(text)
        if not found:
            return PreparedText("", (), bytes(_BITS // 8))
        # Of the words, not of their characters here: those depend on what else was asked, which a resumed run is not.
        counts: Counter[str] = Counter()
        elements = []
        for word in found:
            counts[word] += 1
            elements.append(f"{word} {counts[word]}".encode())
        sketch = self._blank.copy()
        sketch.update_batch(elements)
        bands = tuple(band.tobytes() for band in sketch.hashvalues.reshape(BANDS, ROWS))
        spelled = self._spelling(found)
        return PreparedText(spelled, bands, _bag(spelled))

    def near(
        self,
        text: PreparedText,
        kinds_of: Callable[[NDArray[np.intp]], NDArray[np.intp]] | None = None,
    ) -> list[Near]:
        """The texts kept that are near to this one, in the order in which they were kept.

        A text without words is near to none.

        Args:
            text: The text asked about.
            kinds_of: Gives the kinds of texts by their numbers; of each kind only the first is told.
        """
        import numpy as np

        left, several = self._candidates(text), _AT_FIRST
        kinds = left if kinds_of is None else kinds_of(left)
        found: list[Near] = []
        while left.size:
            places, likeness = self._measure(text, left[:several])
            if kinds_of is not None:
                new, first = np.unique(kinds[places], return_index=True)
                first.sort()
                places, likeness = places[first], likeness[first]
            numbers = left[places].tolist()
            found += map(Near, numbers, likeness.tolist())
            left, kinds = left[several:], kinds[several:]
            if kinds_of is not None and new.size:
                others = np.isin(kinds, new, invert=True)
                left, kinds = left[others], kinds[others]
            several = min(2 * several, _AT_MOST)
        return found

    def _candidates(self, text: PreparedText) -> NDArray[np.intp]:
        """Numbers of the texts that may be near, in their order."""
        import numpy as np

        if not text.spelled:
            return np.zeros(0, dtype=np.intp)
        shared = [more[band] for more, band in zip(self._more, text.bands, strict=True) if band in more]
        if sum(map(len, shared)) >= _CROWDED * len(self._kept):
            return np.arange(len(self._kept), dtype=np.intp)
        chosen = np.zeros(len(self._kept), dtype=np.bool_)
        chosen[[alone[band] for alone, band in zip(self._alone, text.bands, strict=True) if band in alone]] = True
        for numbers in shared:
            chosen[np.asarray(numbers)] = True
        return np.flatnonzero(chosen)

    def _by_their_words(self, text: PreparedText, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """The places of those numbers whose texts can be near by their words, in whatever order these are.

        A bit of one text that the other has not is at least one word that they have not in common, and the longest
        common subsequence is no longer than what they have in common: no near text is left out.
        """
        import numpy as np

        asked = np.frombuffer(text.bag, dtype=np.uint64)
        bags = np.frombuffer(self._bags, dtype=np.uint64).reshape(-1, asked.size)[numbers]
        lengths, length = np.asarray(self._lengths)[numbers], len(text.spelled)
        missing_there = np.bitwise_count(asked & ~bags).sum(axis=1, dtype=np.int64)
        missing_here = np.bitwise_count(bags & ~asked).sum(axis=1, dtype=np.int64)
        common = np.minimum(length - missing_there, lengths - missing_here)
        # A little less, because the likeness is a quotient that was rounded.
        return np.flatnonzero(2 * common >= (self._threshold - 1e-9) * (length + lengths))

    def _measure(self, text: PreparedText, numbers: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The places of those numbers whose texts are near, and how near."""
        import numpy as np
        from rapidfuzz import process
        from rapidfuzz.distance import Indel

        possible = self._by_their_words(text, numbers)
        (likeness,) = process.cdist(
            [text.spelled],
            [self._kept[number] for number in numbers[possible].tolist()],
            scorer=Indel.normalized_similarity,
            score_cutoff=self._threshold,  # what is below it comes as 0
            dtype=np.float64,
        )
        near = np.flatnonzero(likeness)
        return possible[near], likeness[near]

    def keep(self, text: PreparedText) -> int:
        """Keep a text, and say under which number."""
        number = len(self._kept)
        # A text without words has no bands.
        for alone, more, band in zip(self._alone, self._more, text.bands, strict=False):
            if band in more:
                more[band].append(number)
            elif band in alone:
                more[band] = array("q", [alone.pop(band), number])
            else:
                alone[band] = number
        self._kept.append(text.spelled)
        self._lengths.append(len(text.spelled))
        self._bags += text.bag
        return number


def _bag(spelled: str) -> bytes:
    bits, seen = 0, Counter[str]()
    for letter in spelled:
        bits |= 1 << ((ord(letter) * _SPREAD + seen[letter] * _TWICE) % _PRIME % _BITS)
        seen[letter] += 1
    return bits.to_bytes(_BITS // 8, "little")
