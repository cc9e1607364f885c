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
from hazardmill.statistics.bootstrap import ROUNDING
from hazardmill.statistics.estimate import LEVEL, Proportion
from hazardmill.statistics.proportion import Share, rate

_EXPECTED: Final = 5
"""An expected count below this makes the chi-squared distribution a doubtful approximation."""


class ChiSquared(FrozenModel):
    """Pearson's test of whether categories and samples are independent.

    Attributes:
        n: Number of tasks.
        statistic: Chi squared; this and what follows are None where the test is impossible.
        degrees_of_freedom: Degrees of freedom.
        p: The p-value.
        cramers_v: Strength of the association, from 0 to 1.
        yates: Always False: there is no correction for continuity, for tables of any size.
        least_expected: The smallest expected count of a cell.
        cells_under_5: Number of cells whose expected count is under 5; with any of them, p is doubtful.
        why: Why the test is impossible.
    """

    n: int
    statistic: float | None
    degrees_of_freedom: int | None
    p: float | None
    cramers_v: float | None
    yates: Literal[False] = False
    least_expected: float | None
    cells_under_5: int | None
    why: str | None = None


class CategoryShift(FrozenModel):
    """The share of one category in each sample, from easy to hard.

    Attributes:
        category: The category.
        shares: Its share of the tasks of each sample.
        change: The change from the first sample to the last.
    """

    category: str
    shares: list[Share]
    change: RateChange


class Shifts(FrozenModel):
    """How the categories of one label are distributed over samples of tasks.

    Attributes:
        by: The label.
        categories: Its categories, sorted by name.
        test: Whether categories and samples are independent.
        unknown: Number of tasks of these samples whose category is unknown; no share includes them.
    """

    by: str
    categories: list[CategoryShift]
    test: ChiSquared
    unknown: int


class DifficultyShifts(FrozenModel):
    """Categories over bins of difficulty.

    Attributes:
        bins: The bins, from easy to hard.
        by: The shifts of each label.
        unknown: Number of tasks whose difficulty is unknown.
    """

    bins: list[Bin]
    by: list[Shifts]
    unknown: int


class EasyHard(FrozenModel):
    """Categories of easy and of hard tasks, in this order.

    Attributes:
        threshold: The highest mean score of the panel, from 0 to 2, at which a task is hard.
        easy: Number of easy tasks.
        hard: Number of hard tasks.
        by: The shifts of each label.
        unknown: Number of tasks without a score for every model.
    """

    threshold: float = HARD
    easy: int
    hard: int
    by: list[Shifts]
    unknown: int


def difficulty_shifts(tasks: pd.DataFrame, least: int = LEAST) -> DifficultyShifts:
    """Return how categories shift over bins of difficulty, for all tasks whose difficulty is known.

    Args:
        tasks: ``Answers.tasks``.
        least: Minimum number of tasks per bin.
    """
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
    """Return how categories differ between easy and hard tasks, for all tasks with a score for every model.

    Args:
        tasks: ``Answers.tasks``.
    """
    known = tasks[tasks["score"].notna()]
    hard = (known["score"] <= HARD + ROUNDING).to_numpy().astype(np.int64)
    return EasyHard(
        easy=int((hard == 0).sum()),
        hard=int(hard.sum()),
        by=[shifts(by, known[by], hard, 2) for by in LABELS],
        unknown=len(tasks) - len(known),
    )


def shifts(by: str, labels: pd.Series[Any], samples: NDArray[np.int64], number: int) -> Shifts:
    """Return the share of each category of a label in each sample.

    Args:
        by: Name of the label.
        labels: Category of each task; missing ones are counted as unknown.
        samples: Sample of each task, from 0.
        number: Number of samples.
    """
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
    """Test a table of counts, categories by samples; empty rows and columns are dropped.

    Args:
        table: Counts, shape (categories, samples).

    Returns:
        The test; its figures are None, with the reason, if fewer than two rows or two columns are left.
    """
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
            why="fewer than two categories or samples hold tasks",
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
