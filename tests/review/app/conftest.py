from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hazardmill.review.app.auth import Doors, Rules
from hazardmill.review.app.factory import create_app
from hazardmill.review.app.keys import session_key
from hazardmill.review.app.sessions import Sessions
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.service import ReviewService

from .visitor import Visitor


@pytest.fixture
def given(folder, pool) -> ReviewFolder:
    """Twelve tasks for ada and ben, and drafts that the judge sent back; no repeats, nothing planted."""
    give_tasks(folder, pool, Wish(("ada", "ben"), audit=3, calibration=0, repeats=0))
    return folder


@pytest.fixture
def doors_to(given, service) -> Callable[..., Doors]:
    def make(*, throttles: dict[str, Any] | None = None, service: ReviewService = service, **rules: Any) -> Doors:
        return Doors(service, Sessions(session_key(given)), Rules(**rules), **(throttles or {}))

    return make


@pytest.fixture
def app(doors_to):
    return create_app(doors_to())


@pytest.fixture
def ada(app) -> Visitor:
    return Visitor(app, "ada")


@pytest.fixture
def ben(app) -> Visitor:
    return Visitor(app, "ben")


@pytest.fixture
def lines(given) -> Callable[[str], list[str]]:
    """What a reviewer's file says."""

    def read(name: str) -> list[str]:
        path = given.path / "decisions" / f"{name}.jsonl"
        return path.read_text().splitlines() if path.exists() else []

    return read
