"""A local server that answers as providers do, on good days and bad ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hazardmill.errors import (
    ConnectionFailed,
    ModelRefused,
    PromptRefused,
    ProviderDown,
    ProviderError,
    RequestRefused,
)


@dataclass
class Reply:
    """What the server does once: a status, a body and headers; or it promises more than it sends, or hangs up."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    promised: int = 0
    hang_up: bool = False


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[Reply] = []
        self.seen: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.paths: list[str] = []

    @property
    def address(self) -> str:
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.paths.append(self.path)
        self.server.seen.append(({k.lower(): v for k, v in self.headers.items()}, body))
        self.answer_with(self.server.replies.pop(0))

    def answer_with(self, reply: Reply) -> None:
        self.close_connection = True
        if reply.hang_up:
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "text/html" if reply.body.startswith(b"<") else "application/json")
        self.send_header("content-length", str(reply.promised or len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)


def good(content: str | None = "a knife", finish: str = "stop", usage: Any = ..., **message: Any) -> Reply:
    body: dict[str, Any] = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "offline-author",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
    }
    if usage is not None:
        counted = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        body["usage"] = counted | {"prompt_tokens_details": {"cached_tokens": 64}} if usage is ... else counted | usage
    return Reply(body=json.dumps(body).encode())


def error(status: int, message: str = "as you see", code: str = "x", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


STATUS_ERRORS: list[tuple[Reply, type[ProviderError]]] = [
    (error(429, "no money left", "insufficient_quota"), RequestRefused),
    (error(500), ProviderDown),
    (error(503), ProviderDown),
    (error(408), ConnectionFailed),
    (error(401), RequestRefused),
    (error(402), RequestRefused),
    (error(403), ModelRefused),
    (error(404), ModelRefused),
    (error(400), PromptRefused),
    (error(422), PromptRefused),
    (error(413), PromptRefused),
    (error(400, "the request exceeds the available context size", "context_length_exceeded"), PromptRefused),
    (error(400, "Content Exists Risk", "invalid_request_error"), PromptRefused),
]
"""Answers that say by their status what they are, for single requests and for lines of batches."""
