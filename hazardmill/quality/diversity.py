"""Measuring the diversity of things by kind: shares, and effective numbers of kinds (Hill numbers)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from hazardmill.records import FrozenModel

COMMONEST: Final = 10
"""Number of the most frequent kinds whose share is computed."""


class Diversity(FrozenModel):
    """How things are distributed over kinds. Shares, effective numbers and the largest kind are None without things.

    Attributes:
        things: Number of things.
        kinds: Number of kinds.
        effective: exp(H), where H is the Shannon entropy of the shares in nats: the number of equally frequent kinds
            that would be as diverse.
        effective_simpson: 1 / (sum of the squared shares); at most ``effective``, and dominated by frequent kinds.
        commonest: Number of things of the ten most frequent kinds.
        share_commonest: Their share.
        largest: Number of things of the most frequent kind.
        share_largest: Their share.
        largest_kind: The most frequent kind; the first by name if several are.
    """

    things: int
    kinds: int
    effective: float | None
    effective_simpson: float | None
    commonest: int
    share_commonest: float | None
    largest: int
    share_largest: float | None
    largest_kind: str | None


def spread(counts: Mapping[str, int]) -> Diversity:
    """Return the diversity of things by kind.

    Args:
        counts: Kind to number of things; kinds without things are ignored.
    """
    # Sorted by size, so that the sums of floats do not depend on the order of the mapping.
    ranked = sorted(((number, kind) for kind, number in counts.items() if number), key=lambda item: (-item[0], item[1]))
    total = sum(number for number, _ in ranked)
    if not total:
        return Diversity(
            things=0,
            kinds=0,
            effective=None,
            effective_simpson=None,
            commonest=0,
            share_commonest=None,
            largest=0,
            share_largest=None,
            largest_kind=None,
        )
    commonest = sum(number for number, _ in ranked[:COMMONEST])
    shares = [number / total for number, _ in ranked]
    return Diversity(
        things=total,
        kinds=len(ranked),
        effective=math.exp(-math.fsum(share * math.log(share) for share in shares)),
        # Computed from integers, so that it is exactly 1 if all things are of one kind.
        effective_simpson=total**2 / sum(number**2 for number, _ in ranked),
        commonest=commonest,
        share_commonest=commonest / total,
        largest=ranked[0][0],
        share_largest=shares[0],
        largest_kind=ranked[0][1],
    )
