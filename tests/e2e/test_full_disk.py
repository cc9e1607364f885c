"""A disk that has no room: the run stops with an error that names file and remedy, and goes on when there is room."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hazardmill.runs.run import Run
from hazardmill.store.store import Store

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

MIB = 2**20
DISK = 16 * MIB
ROOM = [("mounted", 64), ("mounted", 256), ("mounted", 800), ("limited", 256)]
"""Kind of disk and kilobytes that the run below finds; it would take more than a thousand."""


def hazardmill(*words: object, preexec_fn: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=preexec_fn,
    )


def generate(store: Path, project: Path, **how: Any) -> subprocess.CompletedProcess[str]:
    words: list[object] = ["run", "generate", "--store", store, "--run-id", "run", "--wave-size", 5, "--json"]
    for source in ("neiss", "bddl"):
        words += ["--source", source, "--input", f"{source}={project / 'sources' / source / 'sample'}", "--limit", 12]
    return hazardmill(*words, **how)


@dataclass
class Disk:
    """A small disk that can be filled; or, where none can be mounted, a limit on the size of files."""

    folder: Path
    mounted: bool

    def leave(self, kilobytes: int) -> Callable[[], None] | None:
        """Fill it but for so much; returns what a process has to do before it starts, if anything."""
        if not self.mounted:
            limit = kilobytes * 1024 // 8  # of one file; there are several
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        disk = os.statvfs(self.folder)
        surplus = disk.f_bavail * disk.f_frsize - kilobytes * 1024
        if surplus > 0:
            with (self.folder / f"ballast{surplus}").open("xb") as ballast:
                os.posix_fallocate(ballast.fileno(), 0, surplus)
        return None

    def free(self) -> None:
        """Make room again."""
        for ballast in self.folder.glob("ballast*"):
            ballast.unlink()

    @property
    def complaint(self) -> str:
        """What the system says when there is no room."""
        return "No space left on device" if self.mounted else "File too large"


@pytest.fixture
def disk(kind: str, tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if kind == "limited":
        yield Disk(folder, False)
        return
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    mount = subprocess.run(words, capture_output=True, text=True, check=False)
    if mount.returncode:
        print(f"no disk can be mounted here ({mount.stderr.strip()}): files are kept small instead")
        yield Disk(folder, False)
        return
    try:
        yield Disk(folder, True)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="module")
def whole(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The run on a disk with room."""
    store = Store(tmp_path_factory.mktemp("whole") / "store")
    ended = generate(store.path, project)
    assert ended.returncode == 0, ended.stderr
    return store


@pytest.mark.parametrize(("kind", "room"), ROOM)
def test_a_full_disk_stops_a_run_that_goes_on_when_there_is_room(
    room: int, disk: Disk, whole: Store, project: Path
) -> None:
    store = Store.open(disk.folder / "store", create=True)
    ended = generate(store.path, project, preexec_fn=disk.leave(room))
    print(f"{room} kB: {ended.stderr.strip()}")
    began = store.count("runs") > 0
    # Before there is a run there is nothing to resume: then the command failed on what it was given.
    assert ended.returncode == (4 if began else 3), ended.stderr
    (error,) = (line for line in ended.stderr.splitlines() if line.startswith("error: "))
    assert error.startswith(f"error: {store.path}/") and disk.complaint in error
    assert "Traceback" not in ended.stderr and ended.stdout == ""
    if disk.mounted:
        assert "free some space on this disk" in error
    if began:
        assert f"hazardmill run resume run --store {store.path}" in error
        assert Run.load(store, "run").pending()
    before = {table: store.count(table) for table in ("outcomes", "llm_calls", "tasks")}

    # With the disk still full, nothing gets worse.
    again = hazardmill("run", "resume", "run", "--store", store.path, preexec_fn=disk.leave(0) if began else None)
    # Where no run began, no such run is in the store: another name is wanted.
    assert again.returncode in ((3, 4) if began else (2,)), again.stderr
    assert {table: store.count(table) for table in before} == before
    assert hazardmill("run", "list", "--store", store.path).returncode == 0

    disk.free()
    resumed = (
        hazardmill("run", "resume", "run", "--store", store.path, "--json") if began else generate(store.path, project)
    )
    assert resumed.returncode == 0, resumed.stderr
    assert store.verify() == []
    assert store.digest() == whole.digest()
    answered = [row["identity"] for row in store.rows("llm_calls", {"answered": True})]
    assert len(answered) == len(set(answered)) == whole.count("llm_calls", {"answered": True})
