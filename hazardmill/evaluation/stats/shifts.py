"""Which categories grow among harder tasks: over bins of difficulty, and between easy and hard samples.

- Pearson, 1900: chi squared of independence, without Yates' correction (scipy).
- Newcombe, 1998, method 10: interval of a difference of two shares (statsmodels).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from hazardmill.evaluation.stats.answers import HARD, LABELS
from hazardmill.evaluation.stats.bins import LEAST, Bin, bins, places
from hazardmill.evaluation.stats.units import Points, RateChange, change
from hazardmill.records import FrozenModel
from hazardmill.statistics.estimate import LEVEL, Proportion
from hazardmill.statistics.proportion import Share, rate

_EXPECTED: Final = 5
"""An expected count below it makes the chi-squared distribution a doubtful approximation."""


_ROUNDING: Final = 1e-9
"""Of a mean over answers, then over models."""


class ChiSquared(FrozenModel):
    """Pearson's test of whether categories and samples are independent."""

    n: int
    statistic: float | None
    degrees_of_freedom: int | None
    p: float | None
    cramers_v: float | None
    """Strength, 0 to 1."""
    yates: Literal[False] = False
    """No correction for continuity, for tables of any size."""
    least_expected: float | None
    """The least expected count of a cell."""
    cells_under_5: int | None
    """Cells whose expected count is under 5: with any of them p is doubtful."""
    why: str | None = None


class CategoryShift(FrozenModel):
    """The share of one category in each sample, from easy to hard."""

    category: str
    shares: list[Share]
    change: RateChange
    """From the first sample to the last."""


class Shifts(FrozenModel):
    """How the categories of one label are spread over samples of tasks."""

    by: str
    categories: list[CategoryShift]
    test: ChiSquared
    unknown: int
    """Tasks of these samples whose category is not said; they are in no share."""


class DifficultyShifts(FrozenModel):
    """Categories over bins of difficulty."""

    bins: list[Bin]
    by: list[Shifts]
    unknown: int
    """Tasks whose difficulty is not known."""


class EasyHard(FrozenModel):
    """Categories of easy and of hard tasks, in this order."""

    threshold: float = HARD
    """Mean score of the panel, 0 to 2, up to which a task is hard."""
    easy: int
    hard: int
    by: list[Shifts]
    unknown: int
    """Tasks without a score of every model."""


def difficulty_shifts(tasks: pd.DataFrame, least: int = LEAST) -> DifficultyShifts:
    """Over the bins of all tasks whose difficulty is known."""
    known = tasks[tasks["difficulty"].notna()]
    difficulty = known["difficulty"].to_numpy()
    of = bins(difficulty, least) if len(known) else []
    at = places(difficulty, of)
    return DifficultyShifts(
        bins=of,
        by=[shifts(by, known[by], at, len(of)) for by in LABELS] if of else [],
        unknown=len(tasks) - len(known),
    )


def easy_hard(tasks: pd.DataFrame) -> EasyHard:
    """Between tasks up to the threshold and above it."""
    known = tasks[tasks["score"].notna()]
    hard = (known["score"] <= HARD + _ROUNDING).to_numpy().astype(np.int64)
    return EasyHard(
        easy=int((hard == 0).sum()),
        hard=int(hard.sum()),
        by=[shifts(by, known[by], hard, 2) for by in LABELS],
        unknown=len(tasks) - len(known),
    )


def shifts(by: str, labels: pd.Series[Any], samples: NDArray[np.int64], number: int) -> Shifts:
    """The shares of each category in samples 0 to ``number - 1``."""
    said = labels.notna().to_numpy()
    names = sorted(set(labels[said]))
    codes = pd.Categorical(labels[said], categories=names).codes
    table = np.zeros((len(names), number), dtype=np.int64)
    np.add.at(table, (codes, samples[said]), 1)
    totals = table.sum(axis=0)
    return Shifts(
        by=by,
        categories=[_category(str(name), row, totals) for name, row in zip(names, table, strict=True)],
        test=chi_squared(table),
        unknown=int((~said).sum()),
    )


def _category(name: str, row: NDArray[np.int64], totals: NDArray[np.int64]) -> CategoryShift:
    shares = [rate(int(count), int(total)) for count, total in zip(row, totals, strict=True)]
    return CategoryShift(category=name, shares=shares, change=_change(shares))


def _change(shares: Sequence[Proportion]) -> RateChange:
    first, last = shares[0], shares[-1]
    if len(shares) < 2:
        why = "all tasks are in one sample"
        return RateChange(before=None, after=None, absolute=Points(value=None, why=why), relative=None, why=why)
    interval = None
    if first.n and last.n:
        low, high = confint_proportions_2indep(
            last.count, last.n, first.count, first.n, method="newcomb", compare="diff", alpha=1 - LEVEL
        )
        interval = (100 * float(low), 100 * float(high))
    return change(_per_cent(first), _per_cent(last), interval)


def _per_cent(share: Proportion) -> float | None:
    return None if share.value is None else 100 * share.value


def chi_squared(table: NDArray[np.int64]) -> ChiSquared:
    """Of a table of counts, categories by samples; rows and columns without any are left out."""
    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    n = int(table.sum())
    if min(kept.shape) < 2:
        return ChiSquared(
            n=n,
            statistic=None,
            degrees_of_freedom=None,
            p=None,
            cramers_v=None,
            least_expected=None,
            cells_under_5=None,
            why="it takes two categories and two samples that hold tasks",
        )
    found = stats.chi2_contingency(kept, correction=False)
    return ChiSquared(
        n=n,
        statistic=float(found.statistic),
        degrees_of_freedom=int(found.dof),
        p=float(found.pvalue),
        cramers_v=float(np.sqrt(found.statistic / (n * (min(kept.shape) - 1)))),
        least_expected=float(found.expected_freq.min()),
        cells_under_5=int((found.expected_freq < _EXPECTED).sum()),
    )
