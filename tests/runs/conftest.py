from __future__ import annotations

import pytest

from tests.generation.conftest import jail as jail
from tests.generation.conftest import notes as notes
from tests.generation.conftest import sources_home as sources_home
from tests.generation.conftest import store as store
from tests.running import Use
from tests.shared_jails import _shared_zygotes as _shared_zygotes


@pytest.fixture
def use() -> Use:
    return Use()
