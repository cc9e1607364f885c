"""What is no regular file is one reject in every source, also in a user's, and keeps nobody waiting."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from factories.odd_files import CLOSED, ODD_THINGS, OddThing, give_up_rights

from hazardmill.ingest.sources import Note, Source, list_sources
from hazardmill.records import Record, Reject

Item = Record | Reject | Note

every_source = pytest.mark.parametrize("source", list_sources(), ids=lambda source: source.name)


def everything(source: Source, path: Path) -> list[Item]:
    return [item for file in source.discover(path) for item in source.items(file)]


@pytest.fixture
def sample(source: Source, tmp_path: Path) -> Path:
    """A copy of the sample."""
    return shutil.copytree(source.sample, tmp_path / "sample")


def laid(source: Source, sample: Path, odd: OddThing) -> tuple[str, list[Item]]:
    """An odd thing in the place of one good file: that file's name, and what the others hold."""
    for file in source.discover(sample):
        items = list(source.items(file))
        if any(isinstance(item, Record) for item in items):
            others = [item for item in everything(source, sample) if name_of(item) != file.name]
            file.path.unlink()
            odd.lay(file.path)
            return file.name, others
    raise AssertionError("the sample has no record")


def name_of(item: Item) -> str:
    return item.file


@pytest.mark.timeout(60)
@pytest.mark.parametrize("odd", ODD_THINGS, ids=lambda odd: odd.name)
@every_source
def test_what_is_no_file_is_one_reject(source: Source, sample: Path, odd: OddThing) -> None:
    name, others = laid(source, sample, odd)
    items = everything(source, sample)
    (reject,) = [item for item in items if name_of(item) == name]
    assert isinstance(reject, Reject)
    assert reject.reason in odd.reasons and reject.message and reject.remedy
    assert [item for item in items if item is not reject] == others


@pytest.mark.timeout(60)
@pytest.mark.parametrize("odd", CLOSED, ids=lambda odd: odd.name)
@every_source
def test_what_may_not_be_read_is_one_reject(source: Source, sample: Path, odd: OddThing) -> None:
    name, others = laid(source, sample, odd)
    items = without_rights(source, sample)
    (reject,) = [item for item in items if name_of(item) == name]
    assert isinstance(reject, Reject)
    assert reject.reason in odd.reasons and reject.message and reject.remedy
    assert [item for item in items if item is not reject] == others


@pytest.mark.timeout(60)
@every_source
def test_a_folder_that_may_not_be_entered_is_told(source: Source, sample: Path) -> None:
    found = [file for file in source.discover(sample) if file.path.parent != sample]
    closed = found[0].path.parent if found else sample
    others = [item for item in everything(source, sample) if found and closed.name not in name_of(item)]
    closed.chmod(0)
    items = without_rights(source, sample)
    closed.chmod(0o755)
    rejects = [item for item in items if item not in others]
    assert rejects and all(isinstance(item, Reject) and item.reason == "unreadable" for item in rejects)
    assert [item for item in items if item not in rejects] == others


@pytest.mark.timeout(60)
@pytest.mark.parametrize("link", ["..", "link"], ids=["a folder above", "itself"])
@every_source
def test_a_link_that_leads_in_a_circle_is_told_or_not_entered(source: Source, sample: Path, link: str) -> None:
    before = everything(source, sample)
    (sample / "link").symlink_to(link if link == "link" else ".")
    items = everything(source, sample)
    assert all(item in items for item in before)
    told = [item for item in items if item not in before]
    # A source that enters no folders has nothing to tell of one that it does not enter.
    assert all(isinstance(item, Reject) and item.remedy for item in told)
    assert told or link == ".."


def without_rights(source: Source, path: Path) -> list[Item]:
    """Everything in an input, read by somebody who may not read everything."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_read_without_rights, args=(source, path, there))
    child.start()
    there.close()
    said = here.recv()
    child.join()
    assert not isinstance(said, str), said
    return said


def _read_without_rights(source: Source, path: Path, answer: Connection) -> None:
    try:
        give_up_rights()
        answer.send(everything(source, path))
    except BaseException:
        answer.send(traceback.format_exc())


@pytest.mark.full
def test_a_part_of_the_fuzz_finds_nothing(project: Path) -> None:
    command = [sys.executable, "benchmarks/fuzz_files.py", "--cases", "50", "--seed", "1"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "50 cases" in done.stdout and " 0 findings" in done.stdout
