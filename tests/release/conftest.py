from __future__ import annotations

from pathlib import Path

import pytest
from factories.release_store import by_model, rewritten, with_unavoidable

from hazardmill.quality.corpus_thresholds import Thresholds
from hazardmill.release.build.options import Options
from hazardmill.store.store import Store
from release.shown import Release, gathered
from tests.figures_once import _figures_once as _figures_once
from tests.figures_once import drawn_anew as drawn_anew
from tests.figures_once import figures_drawn
from tests.once import made_once, offline_run, store_once

WAIVED = {"corpus": "a few samples"}


@pytest.fixture(scope="session")
def mill_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A run of the offline author over four records of every shipped sample: about 15 tasks. Nobody writes to it."""
    return offline_run(tmp_path_factory, 4)


@pytest.fixture(scope="session")
def model_store(mill_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same as though `test/model-1` at `api.example` had answered, and a task with no safe plan."""
    return store_once(tmp_path_factory, "model-4", lambda path: with_unavoidable(rewritten(mill_store, path, by_model)))


@pytest.fixture(scope="session")
def every(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """What gates are shown of a larger run of the same kind: about 40 tasks, two structures at least of each source."""
    store = store_once(
        tmp_path_factory,
        "model-10",
        lambda path: with_unavoidable(rewritten(offline_run(tmp_path_factory, 10), path, by_model)),
    )
    return gathered(store, tmp_path_factory.mktemp("working"))


@pytest.fixture(scope="session")
def options() -> Options:
    """Of a release that nobody reviewed and that is too small for figures of a corpus."""
    return Options(version="1.0.0", policy="none", waive=WAIVED, thresholds=Thresholds(enough=1))


@pytest.fixture(scope="session")
def built(model_store: Store, options: Options, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release of `model_store`. Nobody writes to it."""
    from hazardmill.release.build.build import build

    def make(folder: Path) -> None:
        # Drawn, because its bytes are compared with those of other processes.
        with figures_drawn():
            build(model_store, None, options, folder / "release")

    return made_once(tmp_path_factory, "built-4", make) / "release"
