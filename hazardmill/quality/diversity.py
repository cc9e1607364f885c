"""How many different things there really are among many: shares, and effective numbers (Hill numbers)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from hazardmill.records import FrozenModel

COMMONEST: Final = 10
"""How many of the commonest kinds the share is of."""


class Diversity(FrozenModel):
    """Things by kind. All figures are null without things."""

    things: int
    kinds: int
    effective: float | None
    """exp(H), H the Shannon entropy of the shares in nats: as many kinds of equal share are as varied."""
    effective_simpson: float | None
    """1 / (sum of the squared shares): never more than ``effective``, and ruled by the common kinds."""
    commonest: int
    """Things of the ten commonest kinds."""
    share_commonest: float | None
    largest: int
    """Things of the commonest kind."""
    share_largest: float | None
    largest_kind: str | None
    """The commonest kind; of several, the first by name."""


def spread(counts: Mapping[str, int]) -> Diversity:
    """The spread of things over kinds; ``counts`` has how many things there are of each kind."""
    # In order of size, so that the sums of floats do not depend on the order of the mapping.
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
        # Of integers, so that it is exact where all things are of one kind.
        effective_simpson=total**2 / sum(number**2 for number, _ in ranked),
        commonest=commonest,
        share_commonest=commonest / total,
        largest=ranked[0][0],
        share_largest=shares[0],
        largest_kind=ranked[0][1],
    )
