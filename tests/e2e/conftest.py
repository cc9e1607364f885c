"""Tests against a real small model run where they are asked for: ``pytest -m small_model``."""

from __future__ import annotations

import pytest

MARKER = "small_model"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}: asks SmolLM2 (see tests/e2e/small_model.py); run by naming it: -m {MARKER}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if MARKER in config.option.markexpr:
        return
    out = [item for item in items if item.get_closest_marker(MARKER)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]
