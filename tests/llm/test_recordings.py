"""Files of recorded answers: written and read again, and what is said of one that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hazardmill.errors import InputError
from hazardmill.llm import recordings
from hazardmill.llm.recordings import RecordedAnswer, Recording, write_recording
from hazardmill.llm.requests import AnswerKey, Usage


def answer(text: str, **key: Any) -> RecordedAnswer:
    return RecordedAnswer(
        key=AnswerKey(**{"record_hash": "a" * 64, "stage": "author", "draft": 1, **key}),
        text=text,
        model="claude",
        finish_reason="stop",
        usage=Usage(prompt_tokens=7),
        prompt_version="1.6",
        prompt_hash="b" * 64,
    )


ANSWERS = [
    answer("a second try", draft=2),
    answer("mended", repair=1),
    answer("first"),
    answer("approved", stage="judge"),
    answer("a danger — with ünïcode\nin two lines", stage="extract", draft=None),
    answer("of the second round", draft=2, round=2),
    answer("of another record", record_hash="0" * 64),
]


def packed(*lines: object) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for line in lines:
            stream.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
    return sink.getvalue().to_pybytes()


def line_of(answer: RecordedAnswer) -> dict[str, Any]:
    return answer.model_dump(mode="json")


HEAD = {"format": 1, "source": "notes", "answers": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes" / "recorded" / "answers.jsonl.zst"


def test_what_is_written_is_read_again_and_found_by_its_key(path: Path) -> None:
    assert write_recording(path, "notes", ANSWERS) == len(ANSWERS)
    read = Recording.read(path, "notes")
    assert read.answers == {each.key: each for each in ANSWERS}
    assert read.answers[AnswerKey(record_hash="a" * 64, stage="author", draft=1, repair=1)].text == "mended"


def test_the_same_answers_give_the_same_bytes_in_whatever_order(path: Path) -> None:
    write_recording(path, "notes", ANSWERS)
    before, read = path.read_bytes(), Recording.read(path, "notes")
    write_recording(path, "notes", reversed(ANSWERS))
    assert path.read_bytes() == before
    assert [each.text.split()[0] for each in read.answers.values()] == [
        "of", "a", "first", "mended", "approved", "a", "of",
    ]  # fmt: skip


def test_nothing_is_no_recording(path: Path) -> None:
    with pytest.raises(InputError, match="there are no answers to records of notes"):
        write_recording(path, "notes", [])
    assert not path.exists()


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", 1, "not a valid recorded answer"),
        (b"{}", None, "damaged"),
        (packed(HEAD, line_of(ANSWERS[0]))[:-9], None, "damaged"),
        (packed(), 1, "not a valid recorded answer"),
        (packed("not JSON", line_of(ANSWERS[0])), 1, "not a valid recorded answer"),
        (packed({**HEAD, "format": 2}, line_of(ANSWERS[0])), 1, "format: Input should be 1"),
        (packed({**HEAD, "source": "neiss"}, line_of(ANSWERS[0])), 1, "to records of neiss, not of notes"),
        (packed({**HEAD, "answers": 2}, line_of(ANSWERS[0])), 1, "announces 2 answers, but 1 follow"),
        (packed(HEAD, {"key": {}}), 2, "not a valid recorded answer: key.record_hash: Field required"),
        (packed(HEAD, line_of(ANSWERS[0]) | {"text": None}), 2, "not a valid recorded answer: text"),
        (packed(HEAD, line_of(ANSWERS[0]) | {"verdict": "fine"}), 2, "not a valid recorded answer: verdict"),
        (
            packed({**HEAD, "answers": 2}, line_of(ANSWERS[0]), line_of(ANSWERS[0])),
            3,
            "second answer to the same request",
        ),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_line(path: Path, data: bytes, line: int | None, message: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        Recording.read(path, "notes")
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert "record again" in (caught.value.remedy or "")


def test_a_file_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file") as caught:
        Recording.read(path, "notes")
    assert caught.value.file == str(path)


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_recording(path, "notes", [answer("x" * 100_000)])
    assert path.stat().st_size < 1_000
    monkeypatch.setattr(recordings, "MOST_BYTES", 10_000)
    with pytest.raises(InputError, match="over 10,000 bytes"):
        Recording.read(path, "notes")
