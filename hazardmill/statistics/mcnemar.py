"""McNemar, 1947: exact test of paired answers that changed (statsmodels)."""

from __future__ import annotations


def exact_p(gained: int, lost: int) -> float:
    """Two-sided p of as many that only the second has, and that only the first has; 1 where none changed."""
    if not gained + lost:
        return 1.0
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, gained], [lost, 0]], exact=True).pvalue)
