"""Recorded answers: what a language model answered to the records of a source, usable without any model.

The folder ``recorded`` of a source holds up to three files: ``answers.jsonl.zst`` about tasks, ``scenarios.jsonl.zst``
about scenarios, and ``dialogues.jsonl.zst`` with the turns of dialogues. Each has JSON lines, compressed with
zstandard. The first line is a header; each other line is an answer with the key of its request. The key holds no text,
so that an answer is found even after the prompt was edited. The hash of the prompt that was answered is stored with it.
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
from hazardmill.records import FrozenModel, ProductKind

PLACE: Final = Path("recorded", "answers.jsonl.zst")
"""Path of the file with answers about tasks, within the folder of its source."""

SCENARIO_PLACE: Final = Path("recorded", "scenarios.jsonl.zst")
"""Path of the file with answers about scenarios of both kinds."""

DIALOGUE_PLACE: Final = Path("recorded", "dialogues.jsonl.zst")
"""Path of the file with the turns of dialogues."""

MOST_BYTES: Final = 256_000_000
"""Maximum size of a file in bytes, unpacked: about fifty thousand answers."""

_STAGES: Final = get_args(Stage)

_REMEDY: Final = "reinstall hazardmill, or record again: hazardmill run record"


def place_of(kind: ProductKind) -> Path:
    """Return the path of the file with answers of a kind, within the folder of its source."""
    return {"task": PLACE, "hazard_task": DIALOGUE_PLACE}.get(kind, SCENARIO_PLACE)


class RecordingHeader(FrozenModel):
    """The first line of a recording.

    Attributes:
        format: Version of the file format.
        source: Name of the source whose records were answered.
    """

    format: Literal[1] = 1
    source: str
    answers: Annotated[int, Field(ge=1)]
    """Number of lines that follow."""


class RecordedAnswer(FrozenModel):
    """One recorded answer, with the key of its request.

    Attributes:
        key: Identifies the request that was answered.
        finish_reason: Why the answer ended, in the provider's words; null if unknown.
        prompt_version: Version of the prompt template.
    """

    key: AnswerKey
    text: str
    model: str
    """The model that answered, by its real name."""
    finish_reason: str | None = None
    usage: Usage = Usage()
    """Token counts as reported by the provider; unknown where it did not report them."""
    prompt_version: str | None = None
    prompt_hash: str | None = None
    """Hash of the prompt template that was answered."""


@dataclass(frozen=True)
class Recording:
    """The recorded answers of one source, read from a file.

    Attributes:
        path: The file.
        answers: The answers by the keys of their requests.
    """

    path: Path
    sha256: str
    """SHA-256 of the file."""
    answers: dict[AnswerKey, RecordedAnswer]

    def knows(self, record_hash: str) -> bool:
        """Return whether there is an answer about a record.

        Args:
            record_hash: Content hash of the record.
        """
        return any(key.record_hash == record_hash for key in self.answers)

    @classmethod
    def read(cls, path: Path, source: str) -> Recording:
        """Return the whole recording in a file.

        Args:
            path: The file.
            source: Name of the source that its answers must belong to.

        Raises:
            InputError: The file cannot be read, is damaged, or belongs to another source; names file and line.
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
                raise InputError(f"the file holds answers to records of {head.source}, not of {source}")
            for number, line in enumerate(lines[1:], 2):  # noqa: B007  # errors name it
                answer = RecordedAnswer.model_validate_json(line)
                if answers.setdefault(answer.key, answer) is not answer:
                    raise InputError("this is a second answer to the same request")
            number = 1
            if len(answers) != head.answers:
                raise InputError(f"the header announces {head.answers} answers, but {len(answers)} follow")
        except ValidationError as error:
            [wrong, *_] = error.errors(include_url=False, include_input=False)
            said = ": ".join(filter(None, [".".join(map(str, wrong["loc"])), wrong["msg"]]))
            raise InputError(
                f"not a valid recorded answer: {said}", file=str(path), line=number, remedy=_REMEDY
            ) from None
        except InputError as error:
            error.file, error.line, error.remedy = str(path), number, _REMEDY
            raise
        return cls(path, hashlib.sha256(packed).hexdigest(), answers)


def write_recording(path: Path, source: str, answers: Iterable[RecordedAnswer]) -> int:
    """Write the answers of a source in the order of their keys, so that the same answers give the same bytes.

    Args:
        path: The file; folders are created.
        source: Name of the source.
        answers: The answers, in any order.

    Returns:
        The number of answers.

    Raises:
        InputError: There are no answers.
        OSError: The file cannot be written.
    """
    import pyarrow as pa

    ordered = sorted(answers, key=lambda answer: _order(answer.key))
    if not ordered:
        raise InputError(f"there are no answers to records of {source}", remedy="name a run that has such answers")
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


def _order(key: AnswerKey) -> tuple[str, str, int, int, int, int, int]:
    """Sort key in the order of a run: extraction, then each draft, written and judged."""
    return (key.record_hash, key.kind, key.round, key.draft or 0, _STAGES.index(key.stage), key.repair, key.sample)
