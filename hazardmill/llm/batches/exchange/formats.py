"""The formats of exchange folders: JSON lines as in OpenAI's batches, and JSON arrays as in EAI.

OpenAI's files are those of its batch API, https://platform.openai.com/docs/api-reference/batch. The Embodied Agent
Interface (EAI, https://github.com/embodied-agent-interface/embodied-agent-interface) has an array of objects with
``identifier`` and ``llm_prompt`` for prompts, and one of objects with ``identifier`` and ``llm_output`` for answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final, Protocol

from hazardmill.errors import AnswerTooLarge
from hazardmill.llm.backends.litellm_format import check_parameters
from hazardmill.llm.batches.exchange.problems import AnswerProblem, ProblemKind
from hazardmill.llm.batches.line_format import ResultReader, request_line, result_id
from hazardmill.llm.batches.provider import BatchLine, LineResult
from hazardmill.llm.redact import scrub_answer
from hazardmill.llm.requests import Completion, Request
from hazardmill.run_options import ExchangeFormat

_WAIT: Final = "if it is still being written, wait: it is read again at the next look; otherwise correct it"


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """What one entry of a file of answers says. Exactly one of ``result`` and ``problem`` is set.

    Attributes:
        place: Where in the file it is, such as ``line 3``.
        result: What became of a request.
        problem: Why it cannot be read.
        line: Line in the file, from 1; null if that says nothing.
    """

    place: str
    result: LineResult | None = None
    problem: AnswerProblem | None = None
    line: int | None = None


class FileFormat(Protocol):
    """How requests and answers are written in the files of an exchange folder.

    Attributes:
        suffix: End of the names of files, with its dot.
        id_field: Name of the field that says which request is meant.
    """

    @property
    def suffix(self) -> str:
        """End of the names of files."""
        ...

    @property
    def id_field(self) -> str:
        """Name of the field with the identifier."""
        ...

    def size(self, line: BatchLine) -> int:
        """Return how many bytes a request takes in a file."""
        ...

    def write(self, lines: Iterable[BatchLine]) -> bytes:
        """Return the content of a file of requests.

        Raises:
            RequestRefused: A request sets a parameter that it must not set, or litellm refuses one.
        """
        ...

    def asked(self, file: IO[bytes]) -> set[str]:
        """Return the identifiers in a file of requests.

        Raises:
            ValueError, KeyError, TypeError: It is not a file of requests in this format.
        """
        ...

    def answers(self, file: IO[bytes], model: str, *, max_answer_bytes: int) -> Iterator[AnswerEntry]:
        """Yield what a file of answers says.

        Args:
            file: The file.
            model: The model that was asked, ``provider/model``.
            max_answer_bytes: Maximum size of an answer in bytes.
        """
        ...


class OpenaiFiles:
    """Files with a line of JSON per request or answer, as OpenAI's batches and ``vllm run-batch`` have them."""

    suffix = ".jsonl"
    id_field = "custom_id"

    def size(self, line: BatchLine) -> int:
        """Return how many bytes a request takes in a file."""
        return len(request_line(line))

    def write(self, lines: Iterable[BatchLine]) -> bytes:
        """Return the content of a file of requests."""
        return b"".join(map(request_line, lines))

    def asked(self, file: IO[bytes]) -> set[str]:
        """Return the identifiers in a file of requests."""
        return {json.loads(line)["custom_id"] for line in file}

    def answers(self, file: IO[bytes], model: str, *, max_answer_bytes: int) -> Iterator[AnswerEntry]:
        """Yield what a file of answers says, line by line."""
        for number, result, is_whole in ResultReader(model, max_answer_bytes=max_answer_bytes).entries(file):
            place = f"line {number}"
            if result is not None:
                yield AnswerEntry(place, result, line=number)
                continue
            if is_whole:
                kind, message = ProblemKind.UNREADABLE, "the line is not a JSON object with a string `custom_id`"
                remedy = "correct the line: it has the output format of OpenAI's batches"
            else:
                kind, message, remedy = ProblemKind.UNFINISHED, "the last line is incomplete", _WAIT
            # Somebody who writes a file leaves many lines unfinished for a moment, one after the other.
            about = place if is_whole else ""
            yield AnswerEntry(place, problem=AnswerProblem(kind, about, message, remedy, number), line=number)


class EaiFiles:
    """Files with one JSON array, as the Embodied Agent Interface has them.

    An answer says nothing but its text. So usage is unknown, and the model asked counts as the model that answered.
    That it ended by itself is assumed, as it is wherever a server gives no reason.
    """

    suffix = ".json"
    id_field = "identifier"

    def size(self, line: BatchLine) -> int:
        """Return how many bytes a request takes in a file."""
        return len(_element(line)) + 2

    def write(self, lines: Iterable[BatchLine]) -> bytes:
        """Return the content of a file of requests, with a line per element."""
        return b"[\n" + b",\n".join(map(_element, lines)) + b"\n]\n"

    def asked(self, file: IO[bytes]) -> set[str]:
        """Return the identifiers in a file of requests."""
        return {element["identifier"] for element in json.loads(file.read())}

    def answers(self, file: IO[bytes], model: str, *, max_answer_bytes: int) -> Iterator[AnswerEntry]:
        """Yield what a file of answers says, element by element; nothing until the array is whole."""
        try:
            elements = json.loads(file.read())
        except (ValueError, RecursionError) as error:
            said = f"it is not JSON: {error}"
            line = error.lineno if isinstance(error, json.JSONDecodeError) else None
            yield AnswerEntry("", problem=AnswerProblem(ProblemKind.UNFINISHED, "", said, _WAIT, line))
            return
        if not isinstance(elements, list):
            said, remedy = "it is not an array", "write one array of objects with `identifier` and `llm_output`"
            yield AnswerEntry("", problem=AnswerProblem(ProblemKind.UNREADABLE, "", said, remedy))
            return
        for number, element in enumerate(elements, 1):
            place = f"element {number}"
            if (fault := _fault(element)) is not None:
                remedy = "write an object with the strings `identifier` and `llm_output`"
                problem = AnswerProblem(ProblemKind.UNREADABLE, place, f"{place} {fault}", remedy)
                yield AnswerEntry(place, problem=problem)
            else:
                yield AnswerEntry(place, _result(element, model, max_answer_bytes))


FORMATS: Final[Mapping[ExchangeFormat, FileFormat]] = {"openai": OpenaiFiles(), "eai": EaiFiles()}
"""The formats by their names."""


def prompt_text(request: Request) -> str:
    """Return a request as the one text that EAI's files have: its messages in order, joined by blank lines."""
    return "\n\n".join(message.content for message in request.messages)


def _element(line: BatchLine) -> bytes:
    check_parameters(line.request)
    # Escaped, because a lone surrogate has no UTF-8.
    return json.dumps({"identifier": line.custom_id, "llm_prompt": prompt_text(line.request)}).encode()


def _fault(element: object) -> str | None:
    if not isinstance(element, dict):
        return "is not an object"
    missing = [name for name in ("identifier", "llm_output") if not isinstance(element.get(name), str)]
    return f"has no string `{missing[0]}`" if missing else None


def _result(element: dict[str, Any], model: str, max_answer_bytes: int) -> LineResult:
    custom_id, text = result_id(element["identifier"]), element["llm_output"]
    if len(text.encode("utf-8", "replace")) > max_answer_bytes:
        error = AnswerTooLarge(
            f"{model}: the answer in the exchange folder is longer than {max_answer_bytes:,} bytes",
            remedy="if such long answers are wanted, raise --max-answer-bytes",
        )
        return LineResult(custom_id, error=error, charged=True)
    return LineResult(
        custom_id, completion=Completion(text=scrub_answer(text), model_answered=model, finish_reason="stop")
    )
