"""Rouge-L of plans against their reference: ours, over words or whole actions, and that of the package ``rouge``.

Ours is 2 L / (m + n) for sequences of m and n items whose longest common subsequence has L items (``text.rouge_l``,
over words). The package ``rouge`` 1.0.1, which the Safe-BeAl paper names, gives other numbers: it counts *distinct*
words, splits texts into sentences at full stops, and adds 1e-8 to a denominator. Its numbers are computed here so that
results can be compared with the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hazardmill.formalism.document.plan_text import parse_plan

_EPSILON: Final = 1e-8
"""What the package adds to precision and recall, so that it never divides by 0."""


def script_words(plan: str) -> str:
    """Return a plan string as plain words: names and arguments of its actions, without parentheses."""
    return " ".join(token for action in parse_plan(plan) for token in action)


def rouge_l_of_actions(plan: str, reference: str) -> float | None:
    """Compute Rouge-L (F1) of two plan strings over whole actions; case does not count.

    Returns:
        A number from 0 to 1; None if one of the plans has no action.
    """
    from rapidfuzz.distance import Indel

    first, second = (parse_plan(text.lower()) for text in (plan, reference))
    return Indel.normalized_similarity(first, second) if first and second else None


def rouge_l_of_package(hypothesis: str, reference: str) -> float | None:
    """Compute the F1 of Rouge-L that the package ``rouge`` 1.0.1 gives for two texts.

    Args:
        hypothesis: The text that is measured.
        reference: The text that it is measured against.

    Returns:
        A number from 0 to 1 less about 5e-9; None if one of the texts has nothing but full stops, which the package
        refuses.
    """
    measured, wanted = _sentences(hypothesis), _sentences(reference)
    if not measured or not wanted:
        return None
    common: set[str] = set()
    for one in wanted:
        for other in measured:
            common.update(_common_words(one, other))
    precision = len(common) / len({word for sentence in measured for word in sentence})
    recall = len(common) / len({word for sentence in wanted for word in sentence})
    return 2.0 * ((precision * recall) / (precision + recall + _EPSILON))


def _sentences(text: str) -> list[list[str]]:
    # A sentence of nothing but white space has one word, which is empty: so it is in the package.
    return [" ".join(part.split()).split(" ") for part in text.split(".") if part]


def _common_words(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the words of a longest common subsequence, last one first; of several, the one that the package takes."""
    lengths = [[0] * (len(other) + 1)]
    for word in one:
        above, row = lengths[-1], [0]
        for place, each in enumerate(other):
            row.append(above[place] + 1 if word == each else max(above[place + 1], row[place]))
        lengths.append(row)
    found: list[str] = []
    i, j = len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            found.append(one[i - 1])
            i, j = i - 1, j - 1
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found
