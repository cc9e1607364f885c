"""A disk that has no room: the run stops with an error that names file and remedy, and goes on when there is room."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.keeper import Ended, Keeper, keeping
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

MIB = 2**20
DISK = 16 * MIB
ROOM = [("mounted", 64), ("mounted", 256), *sized([], [("mounted", 800)]), ("limited", 256)]
"""Kind of disk and kilobytes that the run below finds; it would take more than a thousand."""


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with keeping("e2e.killed_run", {"HAZARDMILL_MODEL": "offline-author"}) as keeper:
        yield keeper


@dataclass(frozen=True)
class Command:
    """Runs the command, in a process of its own."""

    keeper: Keeper
    folder: Path

    def __call__(self, *words: object, limit: int | None = None) -> Ended:
        """Run it; ``limit`` is the size in bytes that no file of it may exceed, those of a keeper's reports neither."""
        if limit is None:
            return self.keeper.act(self.folder / "report.json", *words)
        ended = subprocess.run(
            [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        return Ended(ended.returncode, {}, ended.stderr, ended.stdout)

    def generate(self, store: Path, project: Path, limit: int | None = None) -> Ended:
        words: list[object] = ["run", "generate", "--store", store, "--run-id", "run", "--wave-size", 5, "--json"]
        for source in ("neiss", "bddl"):
            sample = project / "sources" / source / "sample"
            words += ["--source", source, "--input", f"{source}={sample}", "--limit", 12]
        return self(*words, limit=limit)


@dataclass
class Disk:
    """A small disk that can be filled; or, where none can be mounted, a limit on the size of files."""

    folder: Path
    mounted: bool

    def leave(self, kilobytes: int) -> int | None:
        """Fill it but for so much; returns the most bytes of a file of the next process, if that is the limit."""
        if not self.mounted:
            return kilobytes * 1024 // 8  # there are several
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
def whole(keeper: Keeper, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The run on a disk with room."""
    folder = tmp_path_factory.mktemp("whole")
    store = Store(folder / "store")
    ended = Command(keeper, folder).generate(store.path, project)
    assert ended.status == 0, ended.err
    return store


@pytest.mark.parametrize(("kind", "room"), ROOM)
def test_a_full_disk_stops_a_run_that_goes_on_when_there_is_room(
    room: int, disk: Disk, whole: Store, keeper: Keeper, project: Path, tmp_path: Path
) -> None:
    hazardmill = Command(keeper, tmp_path)
    store = Store.open(disk.folder / "store", create=True)
    ended = hazardmill.generate(store.path, project, disk.leave(room))
    print(f"{room} kB: {ended.err.strip()}")
    began = store.count("runs") > 0
    # Before there is a run there is nothing to resume: then the command failed on what it was given.
    assert ended.status == (4 if began else 3), ended.err
    (error,) = (line for line in ended.err.splitlines() if line.startswith("error: "))
    assert error.startswith(f"error: {store.path}/") and disk.complaint in error
    assert "Traceback" not in ended.err and ended.out == ""
    if disk.mounted:
        assert "free some space on this disk" in error
    if began:
        assert f"hazardmill run resume run --store {store.path}" in error
        assert Run.load(store, "run").pending()
    before = {table: store.count(table) for table in ("outcomes", "llm_calls", "tasks")}

    # With the disk still full, nothing gets worse.
    again = hazardmill("run", "resume", "run", "--store", store.path, limit=disk.leave(0) if began else None)
    # Where no run began, no such run is in the store: another name is wanted.
    assert again.status in ((3, 4) if began else (2,)), again.err
    assert {table: store.count(table) for table in before} == before
    assert hazardmill("run", "list", "--store", store.path).status == 0

    disk.free()
    resumed = (
        hazardmill("run", "resume", "run", "--store", store.path, "--json")
        if began
        else hazardmill.generate(store.path, project)
    )
    assert resumed.status == 0, resumed.err
    assert store.verify() == []
    assert store.digest() == whole.digest()
    answered = [row["identity"] for row in store.rows("llm_calls", {"answered": True})]
    assert len(answered) == len(set(answered)) == whole.count("llm_calls", {"answered": True})
