"""Ratios over scenarios, each given twice: the ratio of the sums, and the mean of the ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScenarioRatio:
    """A ratio over answers about scenarios.

    Attributes:
        hits: Sum of the numerators.
        among: Sum of the denominators.
        mean: Mean of the ratio over the answers for which it is defined; None if there are none.
        answers: Number of answers for which it is defined.
        undefined: Number of answers whose denominator is 0.
    """

    hits: int
    among: int
    mean: float | None
    answers: int
    undefined: int

    @property
    def pooled(self) -> float | None:
        """The ratio of the sums, in which large scenarios weigh more; None if it is undefined."""
        return self.hits / self.among if self.among else None


def scenario_ratio(pairs: Iterable[tuple[int, int]]) -> ScenarioRatio:
    """Return the ratio over answers.

    Args:
        pairs: Numerator and denominator of each answer.
    """
    given = list(pairs)
    shares = [hits / among for hits, among in given if among]
    return ScenarioRatio(
        hits=sum(hits for hits, _ in given),
        among=sum(among for _, among in given),
        mean=mean_of(shares),
        answers=len(shares),
        undefined=len(given) - len(shares),
    )


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of numbers; None if there is none, or if one of them is unknown."""
    given = list(values)
    known = [each for each in given if each is not None]
    return math.fsum(known) / len(known) if given and len(known) == len(given) else None
