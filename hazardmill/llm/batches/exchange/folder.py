"""Exchange folders: rounds of requests as files, answered by anybody.

``requests-0001.jsonl`` holds a line per request, as ``vllm run-batch`` and OpenAI's batch API read them. Whoever
answers writes ``answers-0001.jsonl`` beside it, in the output format of these: in any order, all at once or in parts.
In the format of the Embodied Agent Interface, both are ``.json`` files with one array.
``exchange.json`` says which run the folder belongs to, and which format it has.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import SettingsError
from hazardmill.llm.batches.exchange.formats import FORMATS, AnswerEntry, FileFormat
from hazardmill.llm.batches.exchange.problems import AnswerProblem, ProblemKind, ProblemLog
from hazardmill.llm.batches.provider import BatchLimits, BatchLine, BatchState, BatchStatus, LineResult
from hazardmill.run_options import MAX_ANSWER_BYTES, ExchangeFormat
from hazardmill.store.files.fsync_io import disk_errors, make_folder, rename, sync_file

OWNER: Final = "exchange.json"
"""Name of the file that says whose folder it is, and its format."""

_REQUESTS: Final = "requests-"
_ANSWERS: Final = "answers-"


class ExchangeFolder:
    """A folder in which requests and answers are exchanged; to a run, a provider of batches.

    Args:
        folder: The folder; it is made if it is not there.
        model: The model that is asked, ``provider/model``.
        run_id: The run that it belongs to.
        exchange_format: Format of its files.
        max_answer_bytes: Maximum size of an answer in bytes.

    Raises:
        SettingsError: The folder belongs to another run, was begun in another format, or its ``exchange.json`` cannot
            be read.
        StoreError: The folder cannot be written.
    """

    can_find = True
    limits = BatchLimits(requests=50_000, bytes=200_000_000)

    def __init__(
        self,
        folder: Path,
        model: str,
        run_id: str,
        *,
        exchange_format: ExchangeFormat = "openai",
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self._folder = folder
        self._model = model
        self._max_answer_bytes = max_answer_bytes
        self._problems = ProblemLog()
        self._format: FileFormat = FORMATS[exchange_format]
        self._claim(run_id, exchange_format)

    def size(self, line: BatchLine) -> int:
        """Return how many bytes a request takes in a file."""
        return self._format.size(line)

    async def create(self, name: str, lines: Sequence[BatchLine]) -> str:
        """Write the file of requests, whole or not at all.

        Args:
            name: Name of the batch; its file has the number at its end.
            lines: The requests.

        Returns:
            The name of the file.

        Raises:
            StoreError: The folder cannot be written.
        """  # the helper raises it
        file = self._requests_file(name)
        await asyncio.to_thread(_write, self._folder / file, self._format.write(lines))
        return file

    async def find(self, name: str) -> str | None:
        """Return the name of the file of requests; null if it was not written."""
        file = self._requests_file(name)
        return file if (self._folder / file).is_file() else None

    async def status(self, batch_id: str) -> BatchStatus:
        """Say how many requests of a file have an answer; it is ended when all of them have one."""
        return await asyncio.to_thread(self._status, batch_id)

    def _status(self, file: str) -> BatchStatus:
        asked = self._asked(file)
        done = len(self._answers(file, asked))
        state = BatchState.ENDED if done == len(asked) else BatchState.RUNNING
        return BatchStatus(state, answered=done, answered_early=done > 0)

    async def results(
        self, batch_id: str, lines: Sequence[BatchLine], total: int | None = None
    ) -> AsyncIterator[LineResult]:
        """Yield the answers that are there. What is not used is logged, once.

        Args:
            batch_id: Name of the file of requests.
            lines: The lines whose results are wanted, as they were sent.
            total: Number of all lines of the batch; null for that of ``lines``.

        Raises:
            SettingsError: The file of requests is not the one that was written.
        """  # the helper raises it
        wanted = {line.custom_id for line in lines}
        for result in await asyncio.to_thread(self._results, batch_id, wanted):
            yield result

    def _results(self, file: str, wanted: set[str]) -> list[LineResult]:
        asked = self._asked(file)
        if missing := wanted - asked:
            raise SettingsError(
                f"it lacks {len(missing)} requests that this run wrote to it: it belongs to other questions, or to "
                "another version of the prompt",
                file=str(self._folder / file),
                remedy="put the file back as it was, with the answers that belong to it",
            )
        return list(self._answers(file, asked).values())

    async def cancel(self, batch_id: str) -> None:
        """Do nothing: nobody can be told."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _asked(self, file: str) -> set[str]:
        """Return the identifiers in a file of requests."""
        try:
            with (self._folder / file).open("rb") as requests:
                return self._format.asked(requests)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(
                f"the file of requests cannot be read: {error}",
                file=str(self._folder / file),
                remedy="put it back as it was: it says which answers are still missing",
            ) from error

    def _answers(self, file: str, asked: set[str]) -> dict[str, LineResult]:
        """Return the answers to a file of requests by identifier, and log what is not used.

        Of several answers to one request, the first counts; an error gives way to an answer.
        """
        path = self._folder / file.replace(_REQUESTS, _ANSWERS, 1)
        problems = self._misplaced(path)
        found: dict[str, LineResult] = {}
        try:
            if path.is_file():
                found, faults = self._read(path, file, asked)
                problems += faults
        except OSError as error:
            remedy = "make the file readable"
            problems.append(AnswerProblem(ProblemKind.UNREADABLE, "", f"it cannot be read: {error.strerror}", remedy))
        self._problems.report(str(path), problems)
        return found

    def _read(self, path: Path, file: str, asked: set[str]) -> tuple[dict[str, LineResult], list[AnswerProblem]]:
        found: dict[str, LineResult] = {}
        problems: list[AnswerProblem] = []
        with path.open("rb") as answers:
            for entry in self._format.answers(answers, self._model, max_answer_bytes=self._max_answer_bytes):
                if entry.problem is not None:
                    problems.append(entry.problem)
                elif entry.result is not None:
                    problems += self._take(entry.result, entry, file, asked, found)
        return found, problems

    def _take(
        self, result: LineResult, entry: AnswerEntry, file: str, asked: set[str], found: dict[str, LineResult]
    ) -> Iterator[AnswerProblem]:
        """Add a result to those found, or yield why it is not used."""
        name, known = result.custom_id, found.get(result.custom_id)
        if name not in asked:
            field = self._format.id_field
            yield AnswerProblem(
                ProblemKind.UNKNOWN,
                name,
                f"{entry.place} does not answer any request of {file}: its `{field}` is {name!r}",
                f"copy `{field}` from {file}; answers to another set of questions, or to another version of the "
                "prompt, do not count here: ask again with this file",
                entry.line,
            )
        elif known is None or (known.completion is None and result.completion is not None):
            found[name] = replace(result, place=entry.place)
        elif result.completion is not None and _text(result) != _text(known):
            yield AnswerProblem(
                ProblemKind.DOUBLED,
                name,
                f"{entry.place} answers {name} differently from {known.place}, which counts",
                "remove one of the two; the answer recorded first stays",
                entry.line,
            )

    def _misplaced(self, path: Path) -> list[AnswerProblem]:
        """Find answers that were written under the file name of another format."""
        other = next(each.suffix for each in FORMATS.values() if each.suffix != path.suffix)
        wrong = path.with_suffix(other)
        if not wrong.is_file():
            return []
        said = f"{wrong.name} is not read: the folder has the other format"
        remedy = f"write the answers to {path.name}, in the format of the requests"
        return [AnswerProblem(ProblemKind.MISPLACED, wrong.name, said, remedy)]

    def _requests_file(self, name: str) -> str:
        return f"{_REQUESTS}{name.rpartition('-')[2]}{self._format.suffix}"

    def _claim(self, run_id: str, exchange_format: ExchangeFormat) -> None:
        """Take the folder for a run."""
        path = self._folder / OWNER
        make_folder(self._folder)
        if not path.exists():
            staged = path.with_name(f".{path.name}.{os.getpid()}")
            with disk_errors(path, "write the file"):
                owned = {"run_id": run_id, "format": exchange_format}
                staged.write_text(json.dumps(owned) + "\n", encoding="utf-8")
                sync_file(staged)
                # Whole or not at all, and only one of two runs.
                with contextlib.suppress(FileExistsError):
                    os.link(staged, path)
                staged.unlink()
        try:
            owner, begun = _read_owner(path)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SettingsError(
                f"it does not say which run the exchange folder belongs to: {error!r}",
                file=str(path),
                remedy="give --exchange a folder of its own",
            ) from error
        if owner != run_id:
            raise SettingsError(
                f"the exchange folder belongs to run {owner}, and this is run {run_id}",
                file=str(path),
                remedy="give each run a folder of its own with --exchange; an evaluation becomes another run when its "
                "questions, prompt or model change: to continue in this folder, repeat the old command",
            )
        if exchange_format != begun:
            raise SettingsError(
                f"the exchange folder has the format {begun}, but {exchange_format} was asked for",
                file=str(path),
                remedy=f"give --exchange-format {begun}, or another folder with --exchange",
            )


def format_begun(folder: Path) -> ExchangeFormat | None:
    """Return the format that a folder was begun in; null if nobody can tell."""
    try:
        return _read_owner(folder / OWNER)[1]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _read_owner(path: Path) -> tuple[str, ExchangeFormat]:
    """Return run and format of a folder. Folders without a format have that of OpenAI's batches."""
    said: dict[str, Any] = json.loads(path.read_bytes())
    begun = said.get("format", "openai") if isinstance(said, dict) else None
    if begun not in FORMATS:
        raise ValueError(f"its format is {begun!r}; the known formats are {', '.join(FORMATS)}")
    return said["run_id"], begun


def _text(result: LineResult) -> str | None:
    return None if result.completion is None else result.completion.text


def _write(path: Path, content: bytes) -> None:
    """Write a file durably, whole or not at all: whoever looks for it must never see half of it."""
    staged = path.with_name(f".{path.name}.new")
    with disk_errors(path, "write the file"):
        staged.write_bytes(content)
        sync_file(staged)
        rename(staged, path)
