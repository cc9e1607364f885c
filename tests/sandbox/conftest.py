from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hazardmill.sandbox.jail import Jail

SOUP = """\
from hazardmill.formalism.authoring import PlanningTask


class ServeSoup(PlanningTask):
    realised_by = "carry_bowl"

    def build(self):
        place = self.type("place")
        kitchen, table = self.objects(place, "kitchen", "table")
        bowl_at = self.fluent("bowl_at", place)
        slow = self.fluent("moving_slowly")
        soup_is_hot = self.context("soup_is_hot")
        carry = self.action("carry_bowl").requires(bowl_at(kitchen))
        carry.sets(bowl_at(table)).clears(bowl_at(kitchen))
        self.action("reduce_speed").sets(slow)
        self.initially(bowl_at(kitchen), soup_is_hot)
        self.goal(bowl_at(table))
        self.danger(carry, when=soup_is_hot & ~slow, danger_type="thermal")
"""


@pytest.fixture
def soup() -> str:
    """The code of an honest task."""
    return SOUP


# Of the package: its zygote must not be there while others count their processes.
@pytest.fixture(scope="package")
def jail() -> Iterator[Jail]:
    """A full jail."""
    with Jail("full") as jail:
        yield jail


@pytest.fixture(autouse=True, scope="module")
def nothing_of_others() -> None:
    """What tests before these left in cycles is let go of now, and not while descriptors are compared."""
    gc.collect()


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process, zombie, descriptor or scratch folder outlives a test."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("TMPDIR", str(scratch))
    before = _descriptors()
    yield
    assert jailed_by(os.getpid()) == []
    assert _zombies() is None
    assert list(scratch.iterdir()) == []
    after = _descriptors()
    assert after - before == set()
    # Connections and event loops that others opened before may be closed meanwhile, by a thread of theirs or by the
    # collector; nothing else may.
    assert [gone for gone in before - after if " socket:" not in gone and "[eventpoll]" not in gone] == []


def _descriptors() -> set[str]:
    """Number and target of each; that which the folder was listed by has no target any more."""
    targets = {fd.name: _target(fd) for fd in Path("/proc/self/fd").iterdir()}
    return {f"{number} {target}" for number, target in targets.items() if target and "/proc/" not in target}


def zygote_of(jail: Jail) -> int:
    """The first zygote of a jail, which is the only one while drafts run one by one."""
    assert jail._zygotes is not None
    return jail._zygotes.pids[0]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def jailed_by(parent: int) -> list[int]:
    """Processes jailed by ``parent``, and what they forked: told by their command line, which nobody can hide."""
    return [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/cmdline") if _is_jailed_by(parent, p)]


def _is_jailed_by(parent: int, command_line: Path) -> bool:
    try:
        words = command_line.read_text(errors="replace").split("\0")
        status = command_line.with_name("stat").read_text()
    except OSError:  # it ended meanwhile
        return False
    if f'"parent": {parent}' not in " ".join(words):
        return False
    # A zygote lives as long as its jail; its children have its command line, and another parent.
    is_zygote = int(status.rpartition(")")[2].split()[1]) == parent
    return any(
        "sandbox.process.single" in word or ("sandbox.process.fork_server" in word and not is_zygote) for word in words
    )


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def _zombies() -> object:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
