"""Fixtures of the store's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store in a folder whose name a glob would misread."""
    return Store(tmp_path / "a store [1]")
