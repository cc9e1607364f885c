"""Recorded answers as a backend: what a model said then, found by the key of the request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from hazardmill.errors import InputError, NotRecorded
from hazardmill.llm.recordings import Recording
from hazardmill.llm.requests import Completion, Request


class RecordedBackend:
    """Answers from the recordings of the sources, and from nothing else.

    Args:
        place: Where the recording of a source is; asked, and read, at the first request for one of its records.
    """

    name = "recorded"
    host: str | None = None
    charges: ClassVar[bool] = False
    """Whoever recorded has paid."""

    def __init__(self, place: Callable[[str], Path]) -> None:
        self._place = place
        self._read: dict[str, Recording | InputError] = {}
        self._reading = threading.Lock()

    async def complete(self, request: Request) -> Completion:
        """The recorded answer.

        Raises:
            NotRecorded: There is none to this request, or the recording of its source cannot be read.
        """
        key = request.key
        if key is None or request.record_id is None:
            raise NotRecorded(
                f"answers are recorded of records, and this {request.stage} request is for none",
                remedy="name a language model: --model",
            )
        recording = self._of(request.record_id.partition(":")[0])
        if isinstance(recording, InputError):
            raise NotRecorded(
                recording.message,
                file=recording.file,
                line=recording.line,
                record_id=request.record_id,
                remedy=recording.remedy,
            )
        recorded = recording.answers.get(key)
        if recorded is None:
            which = ", ".join(
                f"{name.replace('_', ' ')} {value}"
                for name, value in key.model_dump(exclude={"record_hash", "stage"}, exclude_none=True).items()
            )
            raise NotRecorded(
                f"no answer is recorded to this {key.stage} request ({which})",
                file=str(recording.path),
                record_id=request.record_id,
                remedy="the record is another one than was recorded, or goes another way since prompts or checks "
                "changed: name a language model with --model, or record again",
            )
        return Completion(
            text=recorded.text,
            model_answered=recorded.model,
            finish_reason=recorded.finish_reason,
            usage=recorded.usage,
            model_sent=recorded.model,
            recording=recording.sha256,
            recorded_for=recorded.prompt_hash,
        )

    async def close(self) -> None:
        """Nothing to let go of."""

    def _of(self, source: str) -> Recording | InputError:
        with self._reading:
            if source not in self._read:
                try:
                    self._read[source] = Recording.read(self._place(source), source)
                except InputError as error:
                    self._read[source] = error
            return self._read[source]
