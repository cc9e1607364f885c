"""An empty database of Prefect, made once for a whole run of pytest.

On a new file a server first runs all of Prefect's migrations: more than half of the work of its start.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.authorities import TRUSTED
from tests.once import made_once


def empty_database(factory: pytest.TempPathFactory) -> Path:
    """A file that has all of Prefect's tables and no row. Servers get copies."""

    def make(folder: Path) -> None:
        words = [Path(sys.executable).with_name("prefect"), "server", "database", "upgrade", "-y"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PREFECT_HOME": str(folder), **TRUSTED}
        subprocess.run(words, env=environment, check=True, capture_output=True)

    return made_once(factory, "prefect-database", make) / "prefect.db"
