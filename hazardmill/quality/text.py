"""Finding texts of tasks that are nearly the same.

The text of a task is what people read: the request, then where, why, how and with what result it is dangerous, and the
way out (``TEXT_FIELDS``, in this order; repeated fields count once). Role and assumptions are left out, because they
are boilerplate, and labels, because they are compared separately.

Similarity is Rouge-L over words: 2 L / (m + n) for texts of m and n words whose longest common subsequence has L words
(Lin, "ROUGE", 2004). Two texts are close from 0.7 on, the novelty threshold of Self-Instruct (Wang et al., 2023).

Candidates are found by MinHash LSH over the words, each counted as often as it occurs. If two texts are close, the
share of their common words (Jaccard) is at least s / (2 - s) = 0.538. Bands and rows are chosen for a recall that holds
for all texts: at least 0.992 on average, even if every pair lies exactly at the threshold. Every candidate is then
measured, so no pair is close by chance.

If many texts follow one pattern, a text shares bands with most others. Texts that cannot be close are then excluded by
their words alone, and a search for only the first close text of each kind stops early.
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
from hazardmill.extras import require_mill

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THRESHOLD: Final = 0.7
"""Rouge-L from which two texts are close."""

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
"""Rows per band of the LSH; its recall is 1 - (1 - 0.538 ** 4) ** 56 = 0.992."""
SEED: Final = 1

_BITS: Final = 512
_SPREAD, _TWICE, _PRIME = 2_654_435_761, 40_503, 2**31 - 1

_CROWDED: Final = 8
"""Ratio of entries in the bands of a text to all texts, from which all texts are candidates: collecting costs more."""
_AT_FIRST: Final = 256
_AT_MOST: Final = 2**14
"""Maximum number of texts to measure at once; it starts with ``_AT_FIRST`` and doubles each time."""

_WORD: Final = re.compile(r"[^\W_]+")
_SURROGATES: Final = range(0xD800, 0xE000)
_CODE_POINTS: Final = 0x110000


def words(text: str) -> list[str]:
    """Split a text into words: runs of letters and digits, case-folded, after Unicode normalization (NFKC)."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def fields_of(texts: Mapping[str, Any]) -> list[str]:
    """Select the fields that make up the text of a task.

    Args:
        texts: Fields of a document's texts and of a danger formalization, by name.

    Returns:
        The fields of ``TEXT_FIELDS`` in this order; fields without words, or with the same words as an earlier one,
        are left out.
    """
    found: dict[tuple[str, ...], str] = {}
    for name in TEXT_FIELDS:
        text = texts.get(name)
        if isinstance(text, str):
            found.setdefault(tuple(words(text)), text)
    return [text for of, text in found.items() if of]


class Spelling:
    """A mapping of words to single characters: rapidfuzz compares strings faster than lists of words.

    Only texts that were encoded by the same instance can be compared.
    """

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def __call__(self, found: Iterable[str]) -> str:
        """Return words as a string with one character per word.

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
    """Compute Rouge-L (F1) of two texts.

    Returns:
        A number from 0 to 1; None if one of the texts has no words.
    """
    from rapidfuzz.distance import Indel

    first, second = words(one), words(other)
    if not first or not second:
        return None
    spelling = Spelling()
    # A normalised insertion-deletion similarity is 1 - (m + n - 2 L) / (m + n).
    return Indel.normalized_similarity(spelling(first), spelling(second))


def first_near(text: str, among: Mapping[str, str]) -> tuple[str, float] | None:
    """Find the first text that is close to a text.

    Args:
        text: The text, encoded by a ``Spelling``.
        among: Texts encoded by the same ``Spelling``, by key.

    Returns:
        Key of the first close text, and Rouge-L; None if there is none, or the text has no words.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    if not text:
        return None
    # Texts are measured one after the other, within rapidfuzz, up to the first close one.
    near = process.extract_iter(text, among, scorer=Indel.normalized_similarity, score_cutoff=THRESHOLD)
    found = next(near, None)
    return None if found is None else (found[2], found[1])


@dataclass(frozen=True, slots=True)
class CloseText:
    """A kept text that is close to the one in question.

    Attributes:
        number: Its number among the kept texts, from 0.
        similarity: Rouge-L of the two.
    """

    number: int
    similarity: float


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text in the form in which ``Texts`` compares it.

    Attributes:
        spelled: The text with one character per word.
        bands: Bands of its MinHash; empty for a text without words.
        bag: Set of ``_BITS`` bits, with one bit per occurrence of a word; several words may share a bit.
    """

    spelled: str
    bands: tuple[bytes, ...]
    bag: bytes


class Texts:
    """An index of texts that finds those close to another text; it takes 5 to 8 kB of memory per text.

    The same texts, kept in the same order, give the same answers in every process, whatever else was asked.

    Args:
        threshold: Rouge-L from which two texts are close; at least 0.7, for which the index is built.

    Raises:
        InputError: The threshold is not between 0.7 and 1.
        ExtraMissing: datasketch is not installed.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        if not THRESHOLD <= threshold <= 1:
            raise InputError(f"the threshold {threshold} is out of range", remedy=f"choose one from {THRESHOLD} to 1")
        # Imported here, as it loads numpy and scipy; by name, as it has no type information.
        require_mill("the search for near-duplicates")
        datasketch: Any = import_module("datasketch")
        self._blank = datasketch.MinHash(num_perm=BANDS * ROWS, seed=SEED, scheme="affine32")
        self._threshold = threshold
        self._spelling = Spelling()
        self._kept: list[str] = []
        self._lengths = array("q")
        self._bags = bytearray()
        # Not datasketch's own index, which collects all texts of a band before their number is known.
        self._alone: list[dict[bytes, int]] = [{} for _ in range(BANDS)]
        self._more: list[dict[bytes, array[int]]] = [{} for _ in range(BANDS)]

    def __len__(self) -> int:
        """Return the number of texts that are kept."""
        return len(self._kept)

    def prepare(self, text: str) -> PreparedText:
        """Return a text in the form that ``near`` and ``keep`` take.

        Raises:
            InputError: The texts have over a million different words.
        """
        found = words(text)
        if not found:
            return PreparedText("", (), bytes(_BITS // 8))
        # The hash is of the words, not of their characters in `Spelling`: those depend on which texts were asked about
        # before, which differs in a resumed run.
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
    ) -> list[CloseText]:
        """Return the kept texts that are close to a text, in the order in which they were kept.

        No text is close to one without words.

        Args:
            text: The text in question.
            kinds_of: Returns the kinds of texts, given their numbers; then only the first close text of each kind is
                returned.
        """
        import numpy as np

        left, several = self._candidates(text), _AT_FIRST
        kinds = left if kinds_of is None else kinds_of(left)
        found: list[CloseText] = []
        while left.size:
            places, likeness = self._measure(text, left[:several])
            if kinds_of is not None:
                new, first = np.unique(kinds[places], return_index=True)
                first.sort()
                places, likeness = places[first], likeness[first]
            numbers = left[places].tolist()
            found += map(CloseText, numbers, likeness.tolist())
            left, kinds = left[several:], kinds[several:]
            if kinds_of is not None and new.size:
                others = np.isin(kinds, new, invert=True)
                left, kinds = left[others], kinds[others]
            several = min(2 * several, _AT_MOST)
        return found

    def _candidates(self, text: PreparedText) -> NDArray[np.intp]:
        """Return the numbers of the texts that may be close, in increasing order."""
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
        """Return the indices of those numbers whose texts can be close, judging by their words without the order.

        A bit that only one of two texts has stands for at least one word that they do not have in common, and their
        longest common subsequence is no longer than the words they have in common. So no close text is left out.
        """
        import numpy as np

        asked = np.frombuffer(text.bag, dtype=np.uint64)
        bags = np.frombuffer(self._bags, dtype=np.uint64).reshape(-1, asked.size)[numbers]
        lengths, length = np.asarray(self._lengths)[numbers], len(text.spelled)
        missing_there = np.bitwise_count(asked & ~bags).sum(axis=1, dtype=np.int64)
        missing_here = np.bitwise_count(bags & ~asked).sum(axis=1, dtype=np.int64)
        common = np.minimum(length - missing_there, lengths - missing_here)
        # With a margin, because the similarity is a rounded quotient.
        return np.flatnonzero(2 * common >= (self._threshold - 1e-9) * (length + lengths))

    def _measure(self, text: PreparedText, numbers: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the indices of those numbers whose texts are close, and their similarities."""
        import numpy as np
        from rapidfuzz import process
        from rapidfuzz.distance import Indel

        possible = self._by_their_words(text, numbers)
        (likeness,) = process.cdist(
            [text.spelled],
            [self._kept[number] for number in numbers[possible].tolist()],
            scorer=Indel.normalized_similarity,
            score_cutoff=self._threshold,  # Lower scores are returned as 0.
            dtype=np.float64,
        )
        near = np.flatnonzero(likeness)
        return possible[near], likeness[near]

    def keep(self, text: PreparedText) -> int:
        """Keep a text, and return its number."""
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
