"""The two providers with batches of their own, each with a local server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from patience import PATIENCE_S

from hazardmill.llm.backends.litellm import LitellmBackend
from hazardmill.llm.batches.anthropic_batches import AnthropicBatches
from hazardmill.llm.batches.gemini_batches import GeminiBatches
from hazardmill.llm.batches.native_batches import NativeBatches
from hazardmill.llm.batches.provider import BatchLine, LineResult
from hazardmill.llm.requests import Completion

from .native_servers import KEY, AnthropicServer, GeminiServer, NativeServer

MOST_BYTES = 20_000
"""Maximum size of an answer in these tests."""


class Native:
    """One provider with its server."""

    def __init__(self, server: NativeServer, batches: type[NativeBatches], base: str, make_line: Any) -> None:
        self.server = server
        self.batches = batches
        self.base = base
        self.make_line = make_line
        self.key = KEY

    def do(self, method: str, *arguments: Any) -> Any:
        """Call a method of the provider in a loop of its own, and return or raise what comes of it."""

        async def main() -> Any:
            provider: Any = self.batches(self.base, self.key, timeout_s=PATIENCE_S, max_answer_bytes=MOST_BYTES)
            try:
                called = getattr(provider, method)(*arguments)
                return [found async for found in called] if method == "results" else await called
            finally:
                await provider.close()

        return asyncio.run(main())

    def line(self, custom_id: str = "1", **changes: Any) -> BatchLine:
        return BatchLine(custom_id, self.make_line(**{"model": self.server.model} | changes))

    def results(self, *entries: dict[str, Any], ids: str = "123", file: bytes | None = None) -> list[LineResult]:
        """What becomes of a batch of these lines if its file of results holds these entries, or is that one."""
        lines = [self.line(custom_id) for custom_id in ids]
        batch_id = self.do("create", "wave", lines)
        self.server.file_of(*entries)
        if file is not None:
            self.server.file = file
        return self.do("results", batch_id, lines)

    def complete(self, line: BatchLine) -> Completion:
        """Ask the same request in the ordinary way."""

        async def main() -> Completion:
            backend = LitellmBackend(self.base, KEY, timeout_s=PATIENCE_S, max_answer_bytes=MOST_BYTES)
            try:
                return await backend.complete(line.request)
            finally:
                await backend.close()

        return asyncio.run(main())


@pytest.fixture
def serve(make_request: Any) -> Iterator[Callable[[type[NativeServer]], Native]]:
    running: list[tuple[NativeServer, threading.Thread]] = []

    def serve(kind: type[NativeServer]) -> Native:
        server = kind()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        if kind is AnthropicServer:
            return Native(server, AnthropicBatches, server.root, make_request)
        return Native(server, GeminiBatches, f"{server.root}/v1beta", make_request)

    yield serve
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(params=[AnthropicServer, GeminiServer], ids=["anthropic", "gemini"])
def native(serve: Callable[[type[NativeServer]], Native], request: pytest.FixtureRequest) -> Native:
    return serve(request.param)
