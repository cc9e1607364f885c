"""What is dear to make is made once for a whole run of pytest: the first of its processes makes it, the others wait.

A session's fixture is made once in each worker of xdist, and a module's once more in each module.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hazardmill.store.store import Store


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of a name, shared by all workers. Nobody writes to it.

    Args:
        factory: Pytest's own; its folder is the run's.
        name: Of what is made; another name is another folder.
        make: Called with the folder, which is not there yet or empty, by whoever comes first. If it raises, the next
            one begins anew.
    """
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / f"once-{name}", shared / f"once-{name}.done"
    with (shared / f"once-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def store_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Store:
    """The store of a name, which ``make`` makes at the path that it is given. Nobody writes to it."""
    return Store.open(made_once(factory, name, lambda folder: make(folder / "store")) / "store")


def offline_run(factory: pytest.TempPathFactory, limit: int) -> Store:
    """A run of the offline author over so many records of every shipped sample. Nobody writes to it."""
    # Processes of tests import this module without pytest's path, which has the folder of factories.
    from factories.release_store import run_offline

    return store_once(factory, f"offline-{limit}", lambda path: run_offline(path, limit))


def demo_folder(factory: pytest.TempPathFactory) -> Path:
    """What ``hazardmill demo --json`` leaves, in ``out``, and what it said, in ``said.json``."""

    def make(folder: Path) -> None:
        words = [sys.executable, "-m", "hazardmill.cli.main", "demo", "--json", "--out", str(folder / "out")]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        (folder / "said.json").write_text(ended.stdout)

    return made_once(factory, "demo", make)
