from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hazardmill.resources import SOURCES_VARIABLE
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store
from tests.shared_jails import _shared_zygotes as _shared_zygotes

from .support import write_source


# Of the package: its zygote must not be there while others count their processes.
@pytest.fixture(scope="package")
def jail() -> Iterator[Jail]:
    with Jail("auto") as jail:
        yield jail


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", create=True)


@pytest.fixture(scope="session")
def sources_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("sources"))


@pytest.fixture
def notes(sources_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of six notes of the source `notes`, with one line that is none."""
    monkeypatch.setenv(SOURCES_VARIABLE, str(sources_home))
    path = tmp_path / "notes.txt"
    path.write_text("".join(f"{n} hot soup {n}\n" for n in range(1, 7)) + "7\n")
    return path
