"""Recorded answers: what a language model said to the records of a source, in a file that needs no model any more.

``recorded/answers.jsonl.zst`` in the folder of a source: JSON lines, packed with zstandard. The first line says what
follows; each other one is an answer with the key of its request. The key holds no text, so that an answer is found
after the prompt was edited; the hash of the prompt that it was given to stays with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, ValidationError

from hazardmill.errors import InputError
from hazardmill.files import read_regular
from hazardmill.llm.requests import AnswerKey, Stage, Usage
from hazardmill.records import FrozenModel

PLACE: Final = Path("recorded", "answers.jsonl.zst")
"""Of the file, in the folder of its source."""

MOST_BYTES: Final = 256_000_000
"""Of a file, unpacked: some fifty thousand answers."""

_STAGES: Final = get_args(Stage)

_REMEDY: Final = "install hazardmill anew, or record again: hazardmill run record"


class RecordingHeader(FrozenModel):
    """The first line of a file."""

    format: Literal[1] = 1
    source: str
    answers: Annotated[int, Field(ge=1)]
    """How many lines follow."""


class RecordedAnswer(FrozenModel):
    """One answer, under the key of its request."""

    key: AnswerKey
    text: str
    model: str
    """The one that answered, by its real name."""
    finish_reason: str | None = None
    usage: Usage = Usage()
    """As the provider counted; unknown where it did not."""
    prompt_version: str | None = None
    prompt_hash: str | None = None
    """Of the template that it was given to."""


@dataclass(frozen=True)
class Recording:
    """The recorded answers of one source."""

    path: Path
    sha256: str
    """Of the file."""
    answers: dict[AnswerKey, RecordedAnswer]

    @classmethod
    def read(cls, path: Path, source: str) -> Recording:
        """Read a file whole.

        Args:
            path: The file.
            source: Whose records its answers must be of.

        Raises:
            InputError: It cannot be read, is damaged, or belongs to another source; names file and line.
        """
        try:
            packed = read_regular(path)
        except OSError as error:
            raise InputError(
                f"recorded answers cannot be read: {error.strerror}", file=str(path), remedy=_REMEDY
            ) from None
        lines = _unpack(path, packed).splitlines()
        answers: dict[AnswerKey, RecordedAnswer] = {}
        try:
            number = 1
            head = RecordingHeader.model_validate_json(lines[0] if lines else b"")
            if head.source != source:
                raise InputError(f"it holds answers to records of {head.source}, not of {source}")
            for number, line in enumerate(lines[1:], 2):  # noqa: B007  # errors name it
                answer = RecordedAnswer.model_validate_json(line)
                if answers.setdefault(answer.key, answer) is not answer:
                    raise InputError("it is the second answer to one request")
            number = 1
            if len(answers) != head.answers:
                raise InputError(f"it says that {head.answers} answers follow, and there are {len(answers)}")
        except ValidationError as error:
            [wrong, *_] = error.errors(include_url=False, include_input=False)
            said = ": ".join(filter(None, [".".join(map(str, wrong["loc"])), wrong["msg"]]))
            raise InputError(
                f"this is no recorded answer: {said}", file=str(path), line=number, remedy=_REMEDY
            ) from None
        except InputError as error:
            error.file, error.line, error.remedy = str(path), number, _REMEDY
            raise
        return cls(path, hashlib.sha256(packed).hexdigest(), answers)


def write_recording(path: Path, source: str, answers: Iterable[RecordedAnswer]) -> int:
    """Write the answers of a source, in order of their keys: the same answers give the same bytes.

    Returns:
        How many there are.

    Raises:
        InputError: There is none.
        OSError: The file cannot be written.
    """
    import pyarrow as pa

    ordered = sorted(answers, key=lambda answer: _order(answer.key))
    if not ordered:
        raise InputError(f"there is no answer to a record of {source}", remedy="name a run that has some")
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        for line in (RecordingHeader(source=source, answers=len(ordered)), *ordered):
            stream.write(line.model_dump_json().encode() + b"\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed.getvalue().to_pybytes())
    return len(ordered)


def _unpack(path: Path, packed: bytes) -> bytes:
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            text: bytes = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"recorded answers are damaged: {error}", file=str(path), remedy=_REMEDY) from None
    if len(text) > MOST_BYTES:
        raise InputError(f"recorded answers have over {MOST_BYTES:,} bytes", file=str(path), remedy=_REMEDY)
    return text


def _order(key: AnswerKey) -> tuple[str, int, int, int, int, int]:
    """As a run asks: extraction, then drafts, each written and judged."""
    return (key.record_hash, key.round, key.draft or 0, _STAGES.index(key.stage), key.repair, key.sample)
