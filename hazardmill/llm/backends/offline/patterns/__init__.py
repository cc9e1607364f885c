"""The patterns of danger: a module a danger type, and four by what suggests them or who is harmed."""

from __future__ import annotations

from typing import Final

from hazardmill.llm.backends.offline.motif import Motif
from hazardmill.llm.backends.offline.patterns import (
    animals_and_robots,
    autonomy,
    biological,
    chemical,
    chores,
    conduct,
    disruption,
    distress,
    electrical,
    environmental,
    isolation,
    living_together,
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
    *animals_and_robots.MOTIFS,
    *chores.MOTIFS,
    *living_together.MOTIFS,
    *conduct.MOTIFS,
)
"""All patterns, in a fixed order."""
