from __future__ import annotations

import pytest

from tests.generation.conftest import jail as jail
from tests.generation.conftest import notes as notes
from tests.generation.conftest import sources_home as sources_home
from tests.generation.conftest import store as store
from tests.running import Use


@pytest.fixture
def use() -> Use:
    return Use()
