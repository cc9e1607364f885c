"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference data: ``HAZARDMILL_REFERENCE``, by default ``shared`` beside the checkout."""
    folder = Path(os.environ.get("HAZARDMILL_REFERENCE") or PROJECT.parent / "shared")
    if not (folder / "data").is_dir():
        pytest.fail(
            f"no reference data at {folder}: set HAZARDMILL_REFERENCE to the folder that holds data/ and verdicts/",
            pytrace=False,
        )
    return folder.resolve()


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return PROJECT
