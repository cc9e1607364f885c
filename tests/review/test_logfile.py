from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hazardmill.errors import InputError, StoreError
from hazardmill.review.decisions.append_log import LogFile
from hazardmill.review.decisions.history import Undo, read_entry


def entry(number):
    return Undo(
        reviewer="ada",
        at=datetime(2026, 1, 1, second=number % 60, tzinfo=UTC),
        slip="0" * 32,
        undoes=f"{number:032x}",
        app="test",
        submission=f"k{number}",
    ).with_id()


@pytest.fixture
def log(tmp_path):
    return LogFile(tmp_path / "decisions" / "ada.jsonl", read_entry)


def put(log, *numbers):
    with log.appending() as append:
        append([entry(number) for number in numbers])


def test_rows_come_back_in_order_and_another_reader_sees_them(log):
    assert list(log.rows()) == []
    put(log, 1, 2)
    other = LogFile(log.path, read_entry)
    assert list(other.rows()) == [entry(1), entry(2)]
    put(log, 3)
    assert list(other.rows()) == list(log.rows()) == [entry(1), entry(2), entry(3)]
    put(other, 4)
    assert list(log.rows())[-1] == entry(4)
    assert log.reloads == other.reloads == 0


def test_every_cut_of_the_last_line_keeps_the_lines_before_it_and_the_next_writer_mends_it(tmp_path, log):
    put(log, 1, 2)
    whole = log.path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole[:cut])
        kept = [entry(1)] if cut < len(whole) - 1 else [entry(1), entry(2)]
        again = LogFile(path, read_entry)
        assert list(again.rows()) == kept
        assert path.read_bytes() == whole[:cut], "reading changes nothing"
        put(again, 3)
        assert list(LogFile(path, read_entry).rows()) == list(again.rows()) == [*kept, entry(3)]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda line: line.replace('"submission":"k1"', '"submission":"k9"'), "altered"),
        (lambda line: line[:-9], "not JSON"),
        (lambda line: line.replace('"undo"', '"redo"'), "redo"),
        (lambda line: line[:-1] + ',"admin":true}', "admin"),
        (lambda line: "[" * 5000, "not JSON"),
        (lambda line: line.replace("ada", "../ada"), "reviewer"),
        (lambda line: "x" * 100_001, "over 100000 bytes"),
    ],
)
def test_a_damaged_line_is_told_with_file_and_line_and_nothing_is_written(log, damage, message):
    put(log, 1)
    line = log.path.read_text().rstrip("\n")
    text = f"{entry(0).line()}\n{damage(line)}\n{entry(2).line()}\n"
    log.path.write_text(text)
    fresh = LogFile(log.path, read_entry)
    for _ in range(2):
        with pytest.raises(InputError, match=message) as told:
            fresh.rows()
        assert told.value.line == 2 and told.value.file == str(log.path) and told.value.remedy
    with pytest.raises(InputError, match=message):
        put(fresh, 3)
    assert log.path.read_text() == text


def test_a_file_that_was_replaced_is_read_anew(log, tmp_path):
    put(log, 1, 2)
    log.rows()
    other = tmp_path / "other"
    other.write_text(f"{entry(7).line()}\n")
    other.replace(log.path)
    assert list(log.rows()) == [entry(7)]
    assert log.reloads == 1
    put(log, 8)
    assert list(log.rows()) == [entry(7), entry(8)]


def rewritten_in_place(path: Path, text: str) -> None:
    """As editors do that keep the file and write into it."""
    with path.open("r+") as file:
        file.write(text)
        file.truncate()


def test_a_line_that_was_edited_in_place_is_noticed_by_who_has_read_it_and_nothing_more_is_written(log):
    put(log, 1, 2)
    whole = log.path.read_text()
    altered = whole.replace('"submission":"k1"', '"submission":"k9"')
    rewritten_in_place(log.path, altered)
    for _ in range(2):
        with pytest.raises(InputError, match="altered") as told:
            log.rows()
        assert told.value.line == 1 and told.value.remedy
        with pytest.raises(InputError, match="altered"):
            put(log, 3)
    assert log.path.read_text() == altered
    rewritten_in_place(log.path, whole)
    put(log, 3)
    assert list(log.rows()) == [entry(1), entry(2), entry(3)]


def test_an_edit_that_leaves_time_and_size_as_they_were_is_noticed_by_the_next_writer(log):
    put(log, 1, 2)
    log.rows()
    before = log.path.stat()
    rewritten_in_place(log.path, log.path.read_text().replace('"submission":"k1"', '"submission":"k9"'))
    os.utime(log.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(InputError, match="altered"):
        put(log, 3)


def test_a_line_that_was_taken_out_and_one_put_in_are_read_anew_as_a_new_reader_does(log):
    put(log, 1, 2, 3)
    rewritten_in_place(log.path, "".join(f"{entry(number).line()}\n" for number in (1, 3, 4, 5)))
    assert list(log.rows()) == list(LogFile(log.path, read_entry).rows()) == [entry(n) for n in (1, 3, 4, 5)]
    assert log.reloads == 1


def to_link(path, outside):
    path.symlink_to(outside)


def to_hard_link(path, outside):
    path.hardlink_to(outside)


def to_nothing(path, outside):
    path.symlink_to(outside.with_name("not there"))


def to_fifo(path, outside):
    os.mkfifo(path)


def to_folder(path, outside):
    path.mkdir()


@pytest.mark.parametrize("make", [to_link, to_hard_link, to_nothing, to_fifo, to_folder])
def test_what_is_no_file_of_the_folder_is_neither_read_nor_written(tmp_path, log, make):
    outside = tmp_path / "outside"
    outside.write_text("no decision, and no line end")
    log.path.parent.mkdir()
    make(log.path, outside)
    for attempt in (log.rows, lambda: put(log, 1)):
        with pytest.raises(InputError) as told:
            attempt()
        assert told.value.file == str(log.path) and told.value.remedy
    assert outside.read_text() == "no decision, and no line end"
    assert sorted(tmp_path.iterdir()) == [log.path.parent, outside]


def test_a_folder_of_decisions_that_is_a_link_is_refused(tmp_path, log):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    log.path.parent.symlink_to(elsewhere)
    for attempt in (log.rows, lambda: put(log, 1)):
        with pytest.raises(InputError, match="link") as told:
            attempt()
        assert told.value.file == str(log.path.parent) and told.value.remedy
    assert list(elsewhere.iterdir()) == []


def test_a_file_that_becomes_a_link_while_it_is_in_use_is_refused(tmp_path, log):
    put(log, 1)
    log.rows()
    outside = tmp_path / "outside"
    log.path.rename(outside)
    log.path.symlink_to(outside)
    for attempt in (log.rows, lambda: put(log, 2)):
        with pytest.raises(InputError, match="link"):
            attempt()
    assert len(outside.read_text().splitlines()) == 1


def test_a_disk_that_is_full_leaves_the_file_as_it_was(log, monkeypatch):
    put(log, 1)
    before = log.path.read_bytes()
    real = os.write

    def full(descriptor, data):
        real(descriptor, bytes(data)[:20])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="cannot write"):
        patch.setattr(os, "write", full)
        put(log, 2)
    assert log.path.read_bytes() == before
    put(log, 3)
    assert list(log.rows()) == [entry(1), entry(3)]


def test_what_is_acknowledged_was_synced(log, monkeypatch):
    done = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.fstat(descriptor).st_size))
    put(log, 1)
    assert done[-1] == log.path.stat().st_size


def test_the_file_is_plain_json_lines_for_others(log):
    put(log, 1, 2)
    import duckdb

    rows = duckdb.sql(f"select undoes, reviewer from read_json_auto('{log.path}')").fetchall()
    assert rows == [(entry(number).undoes, "ada") for number in (1, 2)]
    assert [json.loads(line) for line in log.path.read_text().splitlines()] == [entry(n).to_json() for n in (1, 2)]


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from review.test_logfile import LogFile, entry, read_entry
log = LogFile(Path({path!r}), read_entry)
for number in range({first}, {last}):
    with log.appending() as append:
        append([entry(number)])
    print(number, flush=True)
"""


def writer(path, first, last):
    tests = str(Path(__file__).parent.parent)
    code = WRITER.format(tests=tests, path=str(path), first=first, last=last)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.mark.full
def test_a_kill_loses_nothing_acknowledged_and_two_writers_do_not_mix(log):
    acknowledged = []
    for turn in range(4):
        first = 1000 * turn
        with writer(log.path, first, first + 900) as victim, writer(log.path, first + 900, first + 950) as other:
            acknowledged += [int(victim.stdout.readline()) for _ in range(20 + 7 * turn)]
            victim.send_signal(signal.SIGKILL)
            # What it had said before it died; a line that it was saying just then was heard by nobody.
            acknowledged += [int(number) for number in victim.stdout.read().split("\n")[:-1]]
            acknowledged += [int(number) for number in other.communicate()[0].split()]
        assert (victim.returncode, other.returncode) == (-signal.SIGKILL, 0)
    found = [int(row.undoes, 16) for row in LogFile(log.path, read_entry).rows()]
    assert len(set(found)) == len(found)
    assert set(acknowledged) <= set(found)
    # At most one a kill was on disk before it was told of.
    assert len(found) - len(acknowledged) <= 4
