"""The recorded backend: answers what a model said earlier, found by the key of the request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from hazardmill.errors import InputError, NotRecorded
from hazardmill.llm.recordings import Recording
from hazardmill.llm.requests import Completion, Request
from hazardmill.records import ProductKind


class RecordedBackend:
    """Answers from the recordings of the sources, and from nothing else.

    Args:
        place: Returns the path of a source's recording, given its name and whether tasks or scenarios are made; called,
            and the file read, at the first such request for one of its records.
    """

    name = "recorded"
    host: str | None = None
    charges: ClassVar[bool] = False
    """The answers were paid for when they were recorded."""

    def __init__(self, place: Callable[[str, ProductKind], Path]) -> None:
        self._place = place
        self._read: dict[Path, Recording | InputError] = {}
        self._reading = threading.Lock()

    async def complete(self, request: Request) -> Completion:
        """Return the recorded answer.

        Raises:
            NotRecorded: There is none for this request, or the recording of its source cannot be read.
        """
        key = request.key
        if key is None or request.record_id is None:
            raise NotRecorded(
                f"answers are recorded per record, but this {request.stage} request belongs to no record",
                remedy="choose a language model: --model",
            )
        recording = self._of(request.record_id.partition(":")[0], key.kind)
        if isinstance(recording, InputError):
            raise NotRecorded(
                recording.message,
                file=recording.file,
                line=recording.line,
                record_id=request.record_id,
                remedy=recording.remedy,
            )
        recorded = recording.answers.get(key)
        if recorded is None and key.kind == "hazard_task" and not recording.knows(key.record_hash):
            raise NotRecorded(
                "the file holds no turn of this dialogue: its dialogues have other roles, seeds, rounds, map or base",
                file=str(recording.path),
                record_id=request.record_id,
                remedy="give the options of the recorded run, or choose a language model with --model",
            )
        if recorded is None:
            which = ", ".join(
                f"{name.replace('_', ' ')} {value}"
                for name, value in key.model_dump(exclude={"record_hash", "stage"}, exclude_none=True).items()
            )
            raise NotRecorded(
                f"no answer is recorded for this {key.stage} request ({which})",
                file=str(recording.path),
                record_id=request.record_id,
                remedy="the record is not the one that was recorded, or takes another path because prompts or checks "
                "have changed: choose a language model with --model, or record again",
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
        """Do nothing: there is nothing to release."""

    def _of(self, source: str, kind: ProductKind) -> Recording | InputError:
        path = self._place(source, kind)
        with self._reading:
            if path not in self._read:
                try:
                    self._read[path] = Recording.read(path, source)
                except InputError as error:
                    self._read[path] = error
            return self._read[path]
