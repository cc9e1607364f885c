"""Exchange folders: rounds of requests as files, answered by anybody, in the format of OpenAI's batches.

``requests-0001.jsonl`` holds a line per request, as ``vllm run-batch`` and OpenAI's batch API read them. Whoever
answers writes ``answers-0001.jsonl`` beside it, in the output format of these: in any order, all at once or in parts.
``exchange.json`` says which run the folder belongs to.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Final

from hazardmill.errors import SettingsError
from hazardmill.llm.batches.line_format import ResultReader, request_line
from hazardmill.llm.batches.provider import BatchLimits, BatchLine, BatchState, BatchStatus, LineResult
from hazardmill.run_options import MAX_ANSWER_BYTES
from hazardmill.store.files.fsync_io import disk_errors, make_folder, rename, sync_file

OWNER: Final = "exchange.json"
"""Name of the file that says whose folder it is."""


class ExchangeFolder:
    """A folder in which requests and answers are exchanged; to a run, a provider of batches.

    Args:
        folder: The folder; it is made if it is not there.
        model: The model that is asked, ``provider/model``.
        run_id: The run that it belongs to.
        max_answer_bytes: Maximum size of an answer in bytes.

    Raises:
        SettingsError: The folder belongs to another run, or its ``exchange.json`` cannot be read.
        StoreError: The folder cannot be written.
    """

    can_find = True
    limits = BatchLimits(requests=50_000, bytes=200_000_000)

    def __init__(self, folder: Path, model: str, run_id: str, *, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._folder = folder
        self._model = model
        self._max_answer_bytes = max_answer_bytes
        self._claim(run_id)

    def size(self, line: BatchLine) -> int:
        """Return how many bytes a line of the file takes."""
        return len(request_line(line))

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
        file = _requests_file(name)
        await asyncio.to_thread(_write, self._folder / file, b"".join(map(request_line, lines)))
        return file

    async def find(self, name: str) -> str | None:
        """Return the name of the file of requests; null if it was not written."""
        file = _requests_file(name)
        return file if (self._folder / file).is_file() else None

    async def status(self, batch_id: str) -> BatchStatus:
        """Say how many lines of a file have an answer; it is ended when all of them have one."""
        return await asyncio.to_thread(self._status, batch_id)

    def _status(self, file: str) -> BatchStatus:
        try:
            with (self._folder / file).open("rb") as lines:
                asked = {json.loads(line)["custom_id"] for line in lines}
        except (OSError, ValueError, KeyError) as error:
            raise SettingsError(
                f"the file of requests cannot be read: {error}",
                file=str(self._folder / file),
                remedy="put it back as it was: it says which answers are still missing",
            ) from error
        done = len(asked & {result.custom_id for result in self._answers(file)})
        state = BatchState.ENDED if done == len(asked) else BatchState.RUNNING
        return BatchStatus(state, answered=done, answered_early=done > 0)

    async def results(
        self, batch_id: str, lines: Sequence[BatchLine], total: int | None = None
    ) -> AsyncIterator[LineResult]:
        """Yield the answers that are there; a line that is not whole, or not JSON, is left out.

        Args:
            batch_id: Name of the file of requests.
            lines: The lines whose results are wanted, as they were sent.
            total: Number of all lines of the batch; null for that of ``lines``.
        """
        for result in await asyncio.to_thread(lambda: list(self._answers(batch_id))):
            yield result

    async def cancel(self, batch_id: str) -> None:
        """Do nothing: nobody can be told."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _answers(self, file: str) -> Iterator[LineResult]:
        path = self._folder / file.replace("requests-", "answers-", 1)
        if path.is_file():
            with path.open("rb") as answers:
                yield from ResultReader(self._model, max_answer_bytes=self._max_answer_bytes).read(answers)

    def _claim(self, run_id: str) -> None:
        path = self._folder / OWNER
        make_folder(self._folder)
        if not path.exists():
            staged = path.with_name(f".{path.name}.{os.getpid()}")
            with disk_errors(path, "write the file"):
                staged.write_text(json.dumps({"run_id": run_id}) + "\n", encoding="utf-8")
                sync_file(staged)
                # Whole or not at all, and only one of two runs.
                with contextlib.suppress(FileExistsError):
                    os.link(staged, path)
                staged.unlink()
        try:
            owner = json.loads(path.read_bytes())["run_id"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SettingsError(
                f"it does not say which run the exchange folder belongs to: {error!r}",
                file=str(path),
                remedy="give --exchange a folder of its own",
            ) from error
        if owner != run_id:
            raise SettingsError(
                f"the exchange folder belongs to run {owner}, and this is run {run_id}",
                file=str(self._folder),
                remedy="give each run a folder of its own",
            )


def _requests_file(name: str) -> str:
    return f"requests-{name.rpartition('-')[2]}.jsonl"


def _write(path: Path, content: bytes) -> None:
    """Write a file durably, whole or not at all: whoever looks for it must never see half of it."""
    staged = path.with_name(f".{path.name}.new")
    with disk_errors(path, "write the file"):
        staged.write_bytes(content)
        sync_file(staged)
        rename(staged, path)
