"""Local servers of Anthropic's and Gemini's batches: they store what they are sent, and fail where a test says so."""

from __future__ import annotations

import json
from http.server import ThreadingHTTPServer
from typing import Any, ClassVar

from ..test_providers import KEY, anthropic, gemini
from ..wire import Handler, Reply

SECOND_PAGE = "page 2"

__all__ = ["KEY", "AnthropicServer", "GeminiServer", "NativeServer", "reply"]


def reply(found: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(status, json.dumps(found).encode(), {name.replace("_", "-"): value for name, value in headers.items()})


class NativeServer(ThreadingHTTPServer):
    """One provider: its batches, and an answer to its ordinary API."""

    daemon_threads = True
    model: ClassVar[str]
    id_field: ClassVar[str]

    def __init__(self, ordinary: Reply) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = f"http://127.0.0.1:{self.server_port}"
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.lines: list[dict[str, Any]] = []
        """The lines of the latest batch as they were sent."""
        self.batches: dict[str, str] = {}
        """Name of each batch, by its id; Anthropic gets none."""
        self.file = b""
        """The file of results."""
        self.ordinary: dict[str, Any] = json.loads(ordinary.body)
        """The answer to a single request."""
        self.faults: dict[str, Reply] = {}
        """What a call is answered with instead, once; what it asks for is done all the same."""

    def do(self, method: str, path: str, body: bytes) -> tuple[str, Reply]:
        """Return the name of the call and its answer."""
        raise NotImplementedError

    def file_of(self, *entries: dict[str, Any]) -> None:
        self.file = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)

    def sent(self, call: str) -> tuple[dict[str, str], bytes]:
        """Headers and body of the only call of that name."""
        [found] = [(headers, body) for name, _, headers, body in self.seen if name == call]
        return found


class _Handler(Handler):
    server: NativeServer  # type: ignore[assignment]  # not the server of single requests

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        call, answer = self.server.do(self.command, self.path, body)
        self.server.seen.append((call, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        self.answer_with(self.server.faults.pop(call, answer))

    do_GET = do_POST


class AnthropicServer(NativeServer):
    model = "anthropic/claude-sonnet-4-5"
    id_field = "custom_id"

    def __init__(self) -> None:
        super().__init__(anthropic("max_tokens"))
        self.batch: dict[str, Any] = {
            "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": {"processing": 1, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        }

    def do(self, method: str, path: str, body: bytes) -> tuple[str, Reply]:
        if path == "/v1/messages":
            return "ordinary", reply(self.ordinary)
        if path == "/v1/messages/batches":
            self.lines = json.loads(body)["requests"]
            batch_id = f"msgbatch_{len(self.batches)}"
            self.batches[batch_id] = ""
            return "create", reply({"id": batch_id} | self.batch)
        batch_id, _, what = path.removeprefix("/v1/messages/batches/").partition("/")
        if batch_id not in self.batches:
            return "unknown", reply({"error": {"type": "not_found_error", "message": "no such batch"}}, 404)
        if what == "results":
            return what, Reply(body=self.file)
        assert (what, method) in (("", "GET"), ("cancel", "POST"))
        return what or "status", reply({"id": batch_id} | self.batch)

    def answered(self, custom_id: str) -> dict[str, Any]:
        return {"custom_id": custom_id, "result": {"type": "succeeded", "message": self.ordinary}}

    def failed(self, custom_id: str, status: int, message: str) -> dict[str, Any]:
        kinds = {400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}
        error = {"type": "error", "error": {"type": kinds[status], "message": message}}
        return {"custom_id": custom_id, "result": {"type": "errored", "error": error}}

    def unanswered(self, custom_id: str) -> dict[str, Any]:
        return {"custom_id": custom_id, "result": {"type": "expired"}}

    def params(self, line: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = line["params"]
        return found


class GeminiServer(NativeServer):
    model = "gemini/gemini-2.5-flash"
    id_field = "key"

    def __init__(self) -> None:
        super().__init__(gemini("MAX_TOKENS"))
        self.state = "BATCH_STATE_PENDING"
        self.about: dict[str, Any] = {}
        """Further fields of the operation."""
        self.stats = {"requestCount": "3"}

    def operation(self, batch_id: str) -> dict[str, Any]:
        metadata = {"state": self.state, "displayName": self.batches[batch_id], "batchStats": self.stats}
        return {"name": batch_id, "metadata": metadata} | self.about

    def do(self, method: str, path: str, body: bytes) -> tuple[str, Reply]:
        path, _, query = path.partition("?")
        if path.endswith(":generateContent"):
            return "ordinary", reply(self.ordinary)
        if path == "/upload/v1beta/files":
            return "upload", reply({}, x_goog_upload_url=f"{self.root}/upload/here")
        if path == "/upload/here":
            self.lines = [json.loads(line) for line in body.splitlines()]
            return "file", reply({"file": {"name": "files/in-1"}})
        if path == "/v1beta/models/gemini-2.5-flash:batchGenerateContent":
            batch_id = f"batches/{len(self.batches)}"
            self.batches[batch_id] = json.loads(body)["batch"]["displayName"]
            return "create", reply(self.operation(batch_id))
        if path == "/v1beta/batches":
            return "list", self.page(second="pageToken=page%202" in query)
        if path == "/download/v1beta/files/out-1:download":
            assert query == "alt=media"
            return "results", Reply(body=self.file)
        batch_id = path.removeprefix("/v1beta/").removesuffix(":cancel")
        if batch_id not in self.batches:
            return "unknown", reply({"error": {"code": 404, "message": "no such batch", "status": "NOT_FOUND"}}, 404)
        if path.endswith(":cancel"):
            assert method == "POST"
            return "cancel", reply({})
        return "status", reply(self.operation(batch_id))

    def page(self, *, second: bool) -> Reply:
        """A page with all batches but the latest; the second one has the latest."""
        ids = [*self.batches]
        if second:
            return reply({"operations": [self.operation(batch_id) for batch_id in ids[-1:]]})
        listed = [self.operation(batch_id) for batch_id in ids[:-1]]
        return reply({"operations": listed, "nextPageToken": SECOND_PAGE} if ids else {})

    def file_of(self, *entries: dict[str, Any]) -> None:
        super().file_of(*entries)
        self.about = {"done": True, "response": {"responsesFile": "files/out-1"}}

    def answered(self, custom_id: str) -> dict[str, Any]:
        return {"key": custom_id, "response": self.ordinary}

    def failed(self, custom_id: str, status: int, message: str) -> dict[str, Any]:
        return {"key": custom_id, "error": {"code": {400: 3, 429: 8, 529: 14}[status], "message": message}}

    def unanswered(self, custom_id: str) -> dict[str, Any]:
        return {"key": custom_id, "error": {"code": 1, "message": "cancelled"}}

    def params(self, line: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = line["request"]
        return found
