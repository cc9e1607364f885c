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
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from hazardmill.errors import InputError

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


def rouge_l(one: str, other: str) -> float | None:
    """Rouge-L (F1) of two texts, 0 to 1; null if one of them has no words."""
    from rapidfuzz.distance import Indel

    first, second = words(one), words(other)
    if not first or not second:
        return None
    numbers = {word: number for number, word in enumerate(dict.fromkeys([*first, *second]))}
    # A normalised insertion-deletion similarity is 1 - (m + n - 2 L) / (m + n).
    return Indel.normalized_similarity([numbers[word] for word in first], [numbers[word] for word in second])


@dataclass(frozen=True, slots=True)
class Near:
    """A text that is near to the one asked about."""

    number: int
    """Its place among the texts kept, from 0."""
    similarity: float
    """Rouge-L."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text as ``Texts`` compares it."""

    spelled: str
    """A character a word."""
    sketch: Any
    """Its MinHash; None of a text without words."""


class Texts:
    """Texts kept in memory, 13 to 17 kB each, to be asked which are near to another.

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
        self._index = datasketch.MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
        self._blank = datasketch.MinHash(num_perm=BANDS * ROWS, seed=SEED, scheme="affine32")
        self._threshold = threshold
        self._letters: dict[str, str] = {}
        self._kept: list[str] = []

    def __len__(self) -> int:
        """How many texts are kept."""
        return len(self._kept)

    def prepare(self, text: str) -> Prepared:
        """A text for ``near`` and ``keep``.

        Raises:
            InputError: The texts have over a million different words.
        """
        found = words(text)
        if not found:
            return Prepared("", None)
        # Of the words, not of their characters here: those depend on what else was asked, which a resumed run is not.
        counts: Counter[str] = Counter()
        elements = []
        for word in found:
            counts[word] += 1
            elements.append(f"{word} {counts[word]}".encode())
        sketch = self._blank.copy()
        sketch.update_batch(elements)
        return Prepared(self._spelled(found), sketch)

    def near(self, text: Prepared) -> list[Near]:
        """The texts kept that are near to this one, in the order in which they were kept.

        A text without words is near to none.
        """
        import numpy as np
        from rapidfuzz import process
        from rapidfuzz.distance import Indel

        candidates = sorted(self._index.query(text.sketch)) if text.spelled else []
        if not candidates:
            return []
        (likeness,) = process.cdist(
            [text.spelled],
            [self._kept[number] for number in candidates],
            scorer=Indel.normalized_similarity,
            score_cutoff=self._threshold,  # what is below it comes as 0
            dtype=np.float64,
        )
        return [Near(candidates[place], float(likeness[place])) for place in np.flatnonzero(likeness)]

    def keep(self, text: Prepared) -> int:
        """Keep a text, and say under which number."""
        number = len(self._kept)
        if text.spelled:
            self._index.insert(number, text.sketch, check_duplication=False)
        self._kept.append(text.spelled)
        return number

    def _spelled(self, found: list[str]) -> str:
        """Words as single characters, which rapidfuzz compares faster than strings in a list."""
        for word in found:
            if word not in self._letters:
                code = len(self._letters) + 1
                code += len(_SURROGATES) * (code >= _SURROGATES.start)
                if code >= _CODE_POINTS:
                    raise InputError("the texts have over a million different words", remedy="compare fewer texts")
                self._letters[word] = chr(code)
        return "".join(self._letters[word] for word in found)
