"""Files and batches in OpenAI's format: ``/v1/files`` and ``/v1/batches``, for Azure's clients below ``/openai``."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

from hazardmill.llm.batches.line_format import BATCH_NAME, ENDPOINT, LINE_KEY
from hazardmill.testing.llm_server.answers import error_body
from hazardmill.testing.llm_server.batch_faults import BatchCall, BatchFaultKind, BatchFaultPlan, BatchStep
from hazardmill.testing.llm_server.batch_jobs import BatchJob, read_requests, result_line
from hazardmill.testing.llm_server.chat_request import ChatRefusal, ChatRequest
from hazardmill.testing.llm_server.files import FileStore, read_upload
from hazardmill.testing.llm_server.wire import Incoming

_PATH: Final = re.compile(r"(?:/v1|/openai)?/(files|batches)(?:/([^/]+)(?:/(content|cancel))?)?")
_PAGE: Final = 20
_LARGEST_PAGE: Final = 100

LineFault: TypeAlias = Callable[[ChatRequest], BatchFaultKind | None]
AnswerLine: TypeAlias = Callable[
    [bytes, str | None, str, LineFault], Awaitable[tuple[int, bytes, BatchFaultKind | None]]
]
"""Answers a line: from its body, its answer key as JSON, the id of its batch and what its fault is, to the status, the
body and the fault of its answer."""

_HALVED: Final = {
    BatchFaultKind.EXPIRED: ("expired", "batch_expired", "this request could not be answered in time"),
    BatchFaultKind.CANCELLED: (
        "cancelled",
        "batch_cancelled",
        "the batch was cancelled before this request was answered",
    ),
}
"""Status of a batch that ends half-way, and the error of the other half."""
_ERRORS: Final = {
    BatchFaultKind.RATE_LIMITED: (429, "too many requests at this moment", "rate_limit_exceeded"),
    BatchFaultKind.UPLOAD_ERROR: (500, "the file was not stored", "server_error"),
    BatchFaultKind.CREATE_ERROR: (500, "no batch was made", "server_error"),
    BatchFaultKind.CREATE_LOST: (500, "something broke on our side", "server_error"),
    BatchFaultKind.STATUS_ERROR: (500, "something broke on our side", "server_error"),
    BatchFaultKind.CONTENT_ERROR: (500, "the file cannot be read at the moment", "server_error"),
}
LINE_ERRORS: Final = {
    BatchFaultKind.LINE_RATE_LIMITED: (429, "rate_limit_exceeded", "too many requests at this moment"),
    BatchFaultKind.LINE_ERROR: (500, "server_error", "something broke on our side"),
    BatchFaultKind.LINE_REFUSED: (400, "invalid_request", "this request is not valid"),
}
"""Status, code and message of the faults with which a line is not answered."""
OTHER_MODEL: Final = "another-model"
"""Name of the model that answers instead of the one asked."""
UNKNOWN_ID: Final = "nobody"
"""Id of a line that nobody sent."""


@dataclass(frozen=True, slots=True)
class BatchReply:
    """An answer of the files and batches API.

    Attributes:
        kind: Content type.
    """

    status: int
    body: bytes
    kind: str = "application/json"


class BatchService:
    """The files and batches of one server. All methods run in the server's event loop.

    Args:
        answer: Answers one line.
        faults: The plan of faults; null for none. Must not raise.
        seconds: Seconds that a batch takes; 0 ends it at the first question about it, null never by itself.
        most_lines: Maximum number of lines of a batch.
        most_bytes: Maximum size of an uploaded file in bytes.
    """

    def __init__(
        self,
        answer: AnswerLine,
        *,
        faults: BatchFaultPlan | None,
        seconds: float | None,
        most_lines: int,
        most_bytes: int,
    ) -> None:
        self._answer = answer
        self._faults = faults
        self._seconds = seconds
        self._most_lines = most_lines
        self._most_bytes = most_bytes
        self._files = FileStore()
        self._batches: dict[str, BatchJob] = {}
        self._file_owners: dict[str, BatchJob] = {}
        self._attempts: Counter[tuple[BatchStep, str]] = Counter()
        self._appearances: Counter[str] = Counter()
        self.calls: list[BatchCall] = []
        """The calls of clients so far."""

    @staticmethod
    def serves(path: str) -> bool:
        """Whether a path belongs to files and batches."""
        return _PATH.fullmatch(path) is not None

    async def reply(self, incoming: Incoming) -> BatchReply:
        """Answer a request; what it does wrong is answered too."""
        found = _PATH.fullmatch(incoming.path)
        assert found is not None, "asked only for paths that it serves"
        what, id_, more = found.groups()
        route = (what, incoming.method, id_ is not None, more)
        if (handle := self._routes.get(route)) is None:
            return _refusal(ChatRefusal(405, "this address does not accept this method", "method_not_allowed"))
        try:
            return await handle(self, incoming, id_ or "")
        except ChatRefusal as refused:
            return _refusal(refused)

    async def finish(self) -> None:
        """Let all batches run to their end now."""
        for batch in list(self._batches.values()):
            await self._run_now(batch)

    def _fault(self, step: BatchStep, name: str, number: int | None = None, **line: Any) -> BatchFaultKind | None:  # noqa: ANN401  # fields
        """Log a call, and return its fault if it is one that applies; raise it if the call is to do nothing."""
        if step not in (BatchStep.RUN, BatchStep.LINE):
            self._attempts[step, name] += 1
            line = {"attempt": self._attempts[step, name]}
        call = BatchCall(step, name, number=number, **line)
        if step not in (BatchStep.RUN, BatchStep.LINE):
            self.calls.append(call)
        fault = self._faults(call) if self._faults is not None else None
        if fault is None or step not in fault.steps:
            return None
        if fault in _ERRORS and fault is not BatchFaultKind.CREATE_LOST:
            raise ChatRefusal(*_ERRORS[fault])
        return fault

    async def _upload(self, incoming: Incoming, _: str) -> BatchReply:
        name, purpose, content = read_upload(incoming.headers.get("content-type", ""), incoming.body)
        if len(content) > self._most_bytes:
            raise ChatRefusal(400, f"the file is larger than {self._most_bytes} bytes", "file_too_large")
        self._fault(BatchStep.UPLOAD, hashlib.sha256(content).hexdigest())
        return _json(self._files.add(name, purpose, content).info)

    async def _list_files(self, _: Incoming, __: str) -> BatchReply:
        return _json({"object": "list", "data": [file.info for file in self._files.files], "has_more": False})

    async def _file_info(self, _: Incoming, file_id: str) -> BatchReply:
        return _json(self._files.get(file_id).info)

    async def _delete_file(self, _: Incoming, file_id: str) -> BatchReply:
        self._files.delete(file_id)
        return _json({"id": file_id, "object": "file", "deleted": True})

    async def _content(self, _: Incoming, file_id: str) -> BatchReply:
        file, batch = self._files.get(file_id), self._file_owners.get(file_id)
        name = file_id if batch is None else batch.name
        fault = self._fault(BatchStep.CONTENT, name, None if batch is None else batch.number)
        content = file.content[: len(file.content) // 2] if fault is BatchFaultKind.CONTENT_CUT else file.content
        return BatchReply(200, content, "application/jsonl")

    async def _create(self, incoming: Incoming, _: str) -> BatchReply:
        try:
            asked = json.loads(incoming.body)
            file = self._files.get(str(asked["input_file_id"]))
            metadata = asked.get("metadata")
            if asked["endpoint"] != ENDPOINT or asked["completion_window"] != "24h":
                raise ChatRefusal(400, f"batches are for {ENDPOINT}, within 24h")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ChatRefusal(400, "the body must name input_file_id, endpoint and completion_window") from error
        if (count := len(file.content.splitlines())) > self._most_lines:
            raise ChatRefusal(400, f"the file has {count} lines; {self._most_lines} are allowed", "too_many_lines")
        name = str((metadata or {}).get(BATCH_NAME) or hashlib.sha256(file.content).hexdigest())
        number = len(self._batches) + 1
        fault = self._fault(BatchStep.CREATE, name, number)
        lines, mistake = read_requests(file.content)
        ids = [line["custom_id"] for line in lines]
        attempt = 1 + max((self._appearances[id_] for id_ in ids), default=0)
        self._appearances.update(ids)
        batch = BatchJob(f"batch_{number:06d}", number, name, attempt, file.id, metadata, lines, mistake, time.time())
        self._batches[batch.id] = batch
        if self._seconds:
            batch.task = asyncio.create_task(self._run_later(batch, self._seconds))
        if fault is BatchFaultKind.CREATE_LOST:
            raise ChatRefusal(*_ERRORS[fault])
        return _json(batch.info)

    async def _status(self, _: Incoming, batch_id: str) -> BatchReply:
        batch = self._get(batch_id)
        self._fault(BatchStep.STATUS, batch.name, batch.number)
        if self._seconds == 0 or batch.cancelling:
            await self._run_now(batch)
        return _json(batch.info)

    async def _cancel(self, _: Incoming, batch_id: str) -> BatchReply:
        batch = self._get(batch_id)
        self._fault(BatchStep.CANCEL, batch.name, batch.number)
        if batch.ended_at is not None:
            raise ChatRefusal(409, f"the batch is {batch.status}, and cannot be cancelled", "conflict")
        batch.cancelling = True
        return _json(batch.info)

    async def _list(self, incoming: Incoming, _: str) -> BatchReply:
        self._fault(BatchStep.LIST, "")
        asked = parse_qs(incoming.query)
        batches = list(reversed(self._batches.values()))
        if (after := asked.get("after")) is not None:
            batches = [batch for batch in batches if batch.number < self._get(after[0]).number]
        limit = int(asked["limit"][0]) if asked.get("limit", [""])[0].isdigit() else _PAGE
        page = batches[: min(limit, _LARGEST_PAGE)]
        return _json(
            {
                "object": "list",
                "data": [batch.info for batch in page],
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
                "has_more": len(page) < len(batches),
            }
        )

    def _get(self, batch_id: str) -> BatchJob:
        if (batch := self._batches.get(batch_id)) is None:
            raise ChatRefusal(404, "there is no such batch", "not_found")
        return batch

    async def _run_later(self, batch: BatchJob, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._run(batch)

    async def _run_now(self, batch: BatchJob) -> None:
        if batch.ended_at is not None:
            return
        if batch.task is not None and batch.status == "validating":
            # It still waits for its time.
            batch.task.cancel()
            batch.task = None
        if batch.task is None:
            batch.task = asyncio.create_task(self._run(batch))
        # A client that hangs up does not stop the batch.
        await asyncio.shield(batch.task)

    async def _run(self, batch: BatchJob) -> None:
        batch.status = "in_progress"
        fault = self._fault(BatchStep.RUN, batch.name, batch.number, attempt=batch.attempt)
        if batch.mistake is not None or fault is BatchFaultKind.INVALID:
            message = batch.mistake or "the requests did not pass the check"
            batch.errors = [{"code": "invalid_request", "line": 1, "message": message, "param": None}]
            self._end(batch, "failed", [], [])
            return
        status, code, message = _HALVED.get(fault, ("completed", "", "")) if fault else ("completed", "", "")
        allowed = (len(batch.lines) + 1) // 2 if code else len(batch.lines)
        output: list[bytes] = []
        errors: list[bytes] = []
        for number, line in enumerate(batch.lines):
            if batch.cancelling:
                status, code, message = _HALVED[BatchFaultKind.CANCELLED]
            if batch.cancelling or number >= allowed:
                error = {"code": code, "message": message}
                errors.append(result_line(line["custom_id"], None, error))
                continue
            await self._run_line(batch, line, output, errors)
        if fault is BatchFaultKind.UNORDERED:
            output.reverse()
        self._end(batch, status, output, errors)

    async def _run_line(self, batch: BatchJob, line: dict[str, Any], output: list[bytes], errors: list[bytes]) -> None:
        custom_id = line["custom_id"]

        def fault_of(asked: ChatRequest) -> BatchFaultKind | None:
            return self._fault(
                BatchStep.LINE,
                batch.name,
                batch.number,
                attempt=asked.attempt,
                custom_id=custom_id,
                model=asked.model,
            )

        key = None if line.get(LINE_KEY) is None else json.dumps(line[LINE_KEY])
        status, body, fault = await self._answer(json.dumps(line["body"]).encode(), key, batch.id, fault_of)
        said = json.loads(body)
        if status != 200:
            batch.failed += 1
            errors.append(result_line(custom_id, (status, said)))
            return
        batch.completed += 1
        if fault is BatchFaultKind.LINE_OTHER_MODEL:
            said["model"] = OTHER_MODEL
        named = UNKNOWN_ID if fault is BatchFaultKind.LINE_UNKNOWN else custom_id
        whole = result_line(named, (status, said))
        if fault is BatchFaultKind.LINE_CUT:
            whole = whole[: len(whole) // 2] + b"\n"
        if fault is not BatchFaultKind.LINE_MISSING:
            output += [whole] * (2 if fault is BatchFaultKind.LINE_DOUBLED else 1)

    def _end(self, batch: BatchJob, status: str, output: list[bytes], errors: list[bytes]) -> None:
        batch.status, batch.ended_at = status, time.time()
        for attribute, lines in (("output_file_id", output), ("error_file_id", errors)):
            if lines:
                file = self._files.add(f"{batch.id}.jsonl", "batch_output", b"".join(lines))
                self._file_owners[file.id] = batch
                setattr(batch, attribute, file.id)

    _routes: Final = {
        ("files", "POST", False, None): _upload,
        ("files", "GET", False, None): _list_files,
        ("files", "GET", True, None): _file_info,
        ("files", "DELETE", True, None): _delete_file,
        ("files", "GET", True, "content"): _content,
        ("batches", "POST", False, None): _create,
        ("batches", "GET", False, None): _list,
        ("batches", "GET", True, None): _status,
        ("batches", "POST", True, "cancel"): _cancel,
    }
    """By what is asked about, method, whether an id is given, and what follows it."""


def _json(said: dict[str, Any]) -> BatchReply:
    return BatchReply(200, json.dumps(said).encode())


def _refusal(refused: ChatRefusal) -> BatchReply:
    return BatchReply(refused.status, error_body(refused.message, refused.code))
