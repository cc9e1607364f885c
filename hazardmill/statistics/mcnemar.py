"""McNemar's exact test of paired answers that changed (McNemar, 1947; statsmodels)."""

from __future__ import annotations


def exact_p(gained: int, lost: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    Args:
        gained: Number of pairs in which only the second member has the property.
        lost: Number of pairs in which only the first member has it.

    Returns:
        The p-value, from 0 to 1; 1 if no pair changed.
    """
    if not gained + lost:
        return 1.0
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, gained], [lost, 0]], exact=True).pvalue)
