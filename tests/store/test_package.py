from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import hazardmill.store, sys; print([m for m in ('pyarrow', 'duckdb') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_store_does_not_load_duckdb_before_a_query() -> None:
    code = "from hazardmill.store import Store; import sys; print('duckdb' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
