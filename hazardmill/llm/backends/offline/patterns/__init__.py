"""The patterns of danger, one module a danger type."""

from __future__ import annotations

from typing import Final

from hazardmill.llm.backends.offline.motif import Motif
from hazardmill.llm.backends.offline.patterns import (
    autonomy,
    biological,
    chemical,
    disruption,
    distress,
    electrical,
    environmental,
    isolation,
    mechanical,
    norms,
    privacy,
    thermal,
    trust,
)

MOTIFS: Final[tuple[Motif, ...]] = (
    *mechanical.MOTIFS,
    *thermal.MOTIFS,
    *chemical.MOTIFS,
    *electrical.MOTIFS,
    *biological.MOTIFS,
    *environmental.MOTIFS,
    *privacy.MOTIFS,
    *autonomy.MOTIFS,
    *distress.MOTIFS,
    *trust.MOTIFS,
    *norms.MOTIFS,
    *isolation.MOTIFS,
    *disruption.MOTIFS,
)
"""All patterns, in a fixed order."""
