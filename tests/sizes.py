"""How much a test does where more of the same finds more, and less finds what a change is likely to break.

Tests do the smaller amount. ``python benchmarks/large_tests.py`` runs the same tests with the larger one.
"""

from __future__ import annotations

import os
from typing import Final, TypeVar

T = TypeVar("T")

VARIABLE: Final = "HAZARDMILL_LARGE_TESTS"


def sized(small: T, large: T) -> T:
    """The smaller of two amounts, or the larger one where ``HAZARDMILL_LARGE_TESTS`` is set."""
    return large if os.environ.get(VARIABLE) else small
