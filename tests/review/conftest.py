from __future__ import annotations

from pathlib import Path

import pytest
from factories.dialogues import acting_store

from hazardmill.review.candidates import ReviewPool, load_pool
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.service import ReviewService
from hazardmill.store.store import Store
from tests.shared_jails import _shared_zygotes as _shared_zygotes

from .support import make_folder, make_store, rows_of, write


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Twelve tasks, two of each of six strata, and three drafts that the judge sent back. Nobody writes to it."""
    return make_store(tmp_path_factory.mktemp("review") / "store", 12, ("hints", "hints", "entity"))


@pytest.fixture(scope="package")
def pool(store: Store) -> ReviewPool:
    return load_pool(store, keep=True)


@pytest.fixture(scope="package")
def acting(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A task, and four hazard tasks, two of which have two categories. Nobody writes to it."""
    store = acting_store(tmp_path_factory.mktemp("acting"), 2)
    write(store, rows_of(0))
    return store


@pytest.fixture(scope="package")
def hazard_pool(acting: Store) -> ReviewPool:
    return load_pool(acting, keep=True)


@pytest.fixture
def folder(tmp_path: Path, project: Path) -> ReviewFolder:
    """A review in which nothing is given out yet."""
    return make_folder(tmp_path / "review", project)


@pytest.fixture
def service(folder: ReviewFolder, pool: ReviewPool) -> ReviewService:
    return ReviewService(folder, pool)
