from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.generation.conftest import jail as jail
from tests.generation.conftest import notes as notes
from tests.generation.conftest import sources_home as sources_home
from tests.generation.conftest import store as store
from tests.plugins.installing import lay_kitchen
from tests.shared_jails import _shared_zygotes as _shared_zygotes


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages on the import path, empty yet; what is imported from it is forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    yield folder
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture
def kitchen(site: Path) -> Path:
    """The package of ``hazardmill-kitchen``, installed."""
    return lay_kitchen(site)
