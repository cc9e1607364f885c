from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.ingest.sources import MAX_LINE, InputRefusal, read_lines, read_text, whole_file_problem
from hazardmill.ingest.sources.texts import MAX_FILE

LINE = st.text(st.characters(exclude_characters="\n\0", codec="utf-8"), max_size=20)


@given(lines=st.lists(LINE, min_size=1))
def test_lines_are_split_at_newlines_only(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    lines = ["first", *lines]
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    read = list(read_lines(path))
    assert [line.text for line in read] == [line.removesuffix("\r") for line in lines]
    assert [line.number for line in read] == list(range(1, len(lines) + 1))


def test_each_line_is_decoded_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"caf\xc3\xa9\r\ncaf\xe9\nnul\0\nplain")
    first, second, third, fourth = read_lines(path, fallback="cp1252")
    assert (first.text, first.encoding) == ("café", "utf-8")
    assert (second.text, second.encoding) == ("café", "cp1252")
    assert third.refusal is not None
    assert third.refusal.reason == "nul_byte"
    assert fourth.text == "plain"
    strict = list(read_lines(path))[1]
    assert strict.refusal is not None
    assert strict.refusal.reason == "encoding"
    assert "0xe9 at position 3 is not UTF-8" in strict.refusal.message


@given(lines=st.lists(LINE.map(lambda text: text.replace("\r", "")), min_size=1))
def test_line_ends_of_old_macintoshes(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    lines = ["first", *lines]
    path.write_bytes("".join(line + "\r" for line in lines).encode())
    read = list(read_lines(path))
    assert [(line.number, line.text) for line in read] == list(enumerate(lines, 1))
    assert read_text(path, limit=10_000) == "".join(line + "\n" for line in lines)


def test_what_was_put_behind_a_file_of_an_old_macintosh_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\rtwo\r\nthree\nfour")
    assert [line.text for line in read_lines(path)] == ["one", "two", "three", "four"]
    path.write_bytes(b"one\r\r\ntwo\r\r\n")
    assert [line.text for line in read_lines(path)] == ["one\r", "two\r"]


@pytest.mark.parametrize("end", [b"\n", b"\r"])
@pytest.mark.parametrize("surplus", [0, 1, MAX_LINE, 2 * MAX_LINE + 7])
def test_an_endless_line_is_refused_without_being_held(tmp_path: Path, surplus: int, end: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one" + end + b"x" * (MAX_LINE + surplus) + end + b"three" + end)
    one, two, three = read_lines(path)
    assert (one.text, three.text) == ("one", "three")
    assert (one.number, two.number, three.number) == (1, 2, 3)
    assert two.refusal is not None
    assert two.refusal.reason == "line_too_long"


def test_a_small_file_is_read_whole_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abc\ndef\n", encoding="utf-8")
    assert read_text(path, limit=8) == "abc\ndef\n"
    too_large = read_text(path, limit=7)
    assert isinstance(too_large, InputRefusal)
    assert too_large.reason == "too_large"
    missing = read_text(tmp_path / "b.txt", limit=7)
    assert isinstance(missing, InputRefusal)
    assert missing.reason == "missing_file"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("end", "is_page"), [(b"no page", False), (b"<html>", True)])
def test_many_comments_at_the_head_keep_nobody_waiting(tmp_path: Path, end: bytes, is_page: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"<!---->" * 280 + b"<!-- a -- b -->" + end)
    problem = whole_file_problem(path)
    assert (problem is not None and problem.reason == "html_page") is is_page


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["case,text\n1,cut\n", "case,text\n1,caf\u00e9 \u20ac\n" * 3000])
def test_wide_encodings_are_one_refusal_of_the_file(tmp_path: Path, encoding: str, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    problem = whole_file_problem(path)
    assert problem is not None
    assert problem.reason == "not_text" and encoding[:6].upper() in problem.message


@pytest.mark.parametrize("row", [b"\0", b"a\0b\0c\0", b"\0" * 40, b"x" * 900 + b"\0"])
@pytest.mark.parametrize("before", [1, 2, 3000])
def test_nul_bytes_anywhere_cost_one_line(tmp_path: Path, row: bytes, before: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a whole line of text\n" * before + row + b"\nthe next one\n")
    assert whole_file_problem(path) is None
    lines = list(read_lines(path))
    assert [line.number for line in lines if line.refusal is not None] == [before + 1]
    assert lines[-1].text == "the next one"


def test_a_file_of_lines_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    os.truncate(path, MAX_FILE)
    assert whole_file_problem(path) is None
    os.truncate(path, MAX_FILE + 1)
    problem = whole_file_problem(path)
    assert problem is not None and problem.reason == "too_large"


def test_what_a_file_gains_while_it_is_read_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n")
    lines = read_lines(path)
    first = next(lines)
    with path.open("ab") as stream:
        stream.write(b"three\n")
    second, last = lines
    assert (first.text, second.text) == ("one", "two")
    assert last.refusal is not None and (last.number, last.refusal.reason) == (3, "changed")


@pytest.mark.timeout(20)
def test_a_pipe_that_took_the_place_of_a_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    os.mkfifo(path)
    (line,) = read_lines(path)
    assert line.refusal is not None and line.refusal.reason == "not_a_file"
    small = read_text(path, limit=9)
    assert isinstance(small, InputRefusal) and small.reason == "not_a_file"
