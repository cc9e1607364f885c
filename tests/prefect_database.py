"""Databases of Prefect, made once for a whole run of pytest: an empty one, and one with everything deployed.

On a new file a server first runs all of Prefect's migrations: more than half of the work of its start. To deploy takes
more time than that.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
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


def deployed_database(factory: pytest.TempPathFactory, project: Path) -> Path:
    """A file that has what ``make deploy`` leaves. Servers get copies.

    Automations that notify somebody are not among it, because there is no block to notify with.
    """
    from e2e.prefect_server import serving

    def make(folder: Path) -> None:
        with serving(folder, project, {}, empty_database(factory)) as prefect:
            prefect.do("deploy", prefect.make("deploy"))
        # What the server wrote last may lie beside its file.
        served, copied = folder / "prefect" / "prefect.db", folder / "deployed.db"
        with closing(sqlite3.connect(served)) as source, closing(sqlite3.connect(copied)) as copy:
            source.backup(copy)

    return made_once(factory, "prefect-deployed", make) / "deployed.db"
