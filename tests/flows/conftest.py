"""Zygotes and figures are shared within a module, as they are within the packages of other tests.

This folder is no package, because its name is that of the flows.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.figures_once import figures_sketched_once
from tests.shared_jails import shared_zygotes


@pytest.fixture(scope="module", autouse=True)
def _shared() -> Iterator[None]:
    with shared_zygotes(), figures_sketched_once():
        yield
