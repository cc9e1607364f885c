"""The server: reads requests, applies the plan of faults, answers, and logs each attempt."""

from __future__ import annotations

import asyncio
import hmac
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from hazardmill.errors import RequestRefused
from hazardmill.llm.backends.litellm import OFFLINE_KEY_HEADER
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.testing.llm_server.answers import (
    ERRORS,
    GENERATES_NOTHING,
    apply_fault,
    bomb,
    completion_body,
    echo_key,
    error_body,
    models_body,
    page,
)
from hazardmill.testing.llm_server.batch_faults import BatchCall, BatchFaultKind, BatchFaultPlan
from hazardmill.testing.llm_server.batches import LINE_ERRORS, BatchService, LineFault
from hazardmill.testing.llm_server.chat_request import ChatRefusal, ChatRequest, read_chat_request
from hazardmill.testing.llm_server.faults import FATAL, FaultPlan, ServerFault, ServerFaultKind
from hazardmill.testing.llm_server.journal import ServedAttempt, ServerJournal, Totals
from hazardmill.testing.llm_server.tokens import (
    Dialect,
    PrefixCache,
    Tokenizer,
    chain_of,
    open_tokenizer,
    prompt_text,
    usage_body,
)
from hazardmill.testing.llm_server.wire import Connection, Incoming
from hazardmill.testing.offline_author import answer as offline_answer_to
from hazardmill.testing.requests_log import log_time
from hazardmill.testing.serving import LoopbackServer

AnswerFunction: TypeAlias = Callable[[ChatRequest], str | Awaitable[str]]

_COMPLETIONS: Final = frozenset({"/v1/chat/completions", "/chat/completions"})
_MODELS: Final = frozenset({"/v1/models", "/models"})
_PLACES: Final = "there are /v1/chat/completions, /v1/models, /v1/files and /v1/batches"
_FLOOD: Final = 64 * 1024


def offline_answer(asked: ChatRequest) -> str:
    """Return the answer of the offline author.

    Args:
        asked: The request, with its answer key.

    Raises:
        ChatRefusal: The request does not name its record and stage, or the offline author does not know the stage.
    """
    if asked.key is None:
        raise ChatRefusal(
            400, f"the offline author needs the header {OFFLINE_KEY_HEADER}; hazardmill sends it to this machine"
        )
    try:
        return offline_answer_to(asked.messages, asked.key)
    except RequestRefused as error:
        raise ChatRefusal(400, error.message) from error


class LlmServer(LoopbackServer[ServerJournal, Connection]):
    """An OpenAI-compatible server on 127.0.0.1 in a thread of its own, running for the duration of its ``with`` block.

    Args:
        answer: Answers a request: a plain or async function; by default the offline author. It runs in the server's
            only thread, so a plain function that waits blocks everybody.
        models: Names that it lists. It answers under the name asked for if that is listed, otherwise under the first.
            Whether other names are accepted is up to ``answer``.
        faults: The plan of faults; null for none. Must not raise.
        latency: Seconds from the arrival of a request to its answer, including the time to compute it.
        api_key: Key that requests must carry as bearer token; null to require none.
        dialect: How usage reports cached tokens.
        tokenizer: Counts tokens; by default ``utf8-bytes/4``.
        log: File for the journal; null for memory only.
        on_change: Called in the server's thread with each attempt when it begins, before it is answered, and when it
            ends; must not raise.
        max_body: Maximum size of a request's body in bytes, but for uploads.
        batch_faults: The plan of faults of batches; null for none. Must not raise. Of the faults of single requests,
            ``faults`` gives the lines of a batch those that an answer in a file can have.
        batch_seconds: Seconds that a batch takes; 0 ends it at the first question about it, null only at
            ``finish_batches``.
        max_batch_lines: Maximum number of lines of a batch.
        max_batch_bytes: Maximum size of an uploaded file in bytes.
        port: Port to listen on; 0 for any free one.

    Raises:
        ValueError: There are no models.
        OSError: The port is taken, or the log cannot be written.
        StoreLocked: Another server writes the log.
        InputError: The log holds something else.
    """

    def __init__(
        self,
        answer: AnswerFunction = offline_answer,
        *,
        models: Sequence[str] = (OFFLINE_MODEL,),
        faults: FaultPlan | None = None,
        latency: float = 0.0,
        api_key: str | None = None,
        dialect: Dialect | str = Dialect.OPENAI,
        tokenizer: Tokenizer | None = None,
        log: Path | None = None,
        on_change: Callable[[ServedAttempt], None] | None = None,
        max_body: int = 8 * 1024 * 1024,
        batch_faults: BatchFaultPlan | None = None,
        batch_seconds: float | None = 0.0,
        max_batch_lines: int = 50_000,
        max_batch_bytes: int = 200_000_000,
        port: int = 0,
    ) -> None:
        super().__init__("llm-server", ServerJournal(), port)
        if not models:
            raise ValueError("models must name at least one")
        self._answer = answer
        self._models = tuple(models)
        self._faults = faults
        self._latency = latency
        self.api_key = api_key
        """May be changed while the server runs."""
        self._dialect = Dialect(dialect)
        self._tokenizer = tokenizer or open_tokenizer()
        self._cache = PrefixCache()
        self._log = log
        self._on_change = on_change
        self._max_body = max_body
        # A file that is a little too large is refused with a reason.
        self._max_by_path = dict.fromkeys(("/v1/files", "/files", "/openai/files"), 2 * max_batch_bytes + max_body)
        self._batches = BatchService(
            self._answer_line,
            faults=batch_faults,
            seconds=batch_seconds,
            most_lines=max_batch_lines,
            most_bytes=max_batch_bytes,
        )

    @property
    def address(self) -> str:
        """The address for clients: ``http://127.0.0.1:<port>/v1``."""
        return f"{super().address}/v1"

    @property
    def attempts(self) -> tuple[ServedAttempt, ...]:
        """All attempts so far, in the order of arrival.

        An answer that a client has read completely has ended here too.
        """
        return self._look(lambda: self._journal.attempts)

    @property
    def batch_calls(self) -> tuple[BatchCall, ...]:
        """All calls about files and batches so far that plans were asked about, in the order of arrival."""
        return self._look(lambda: tuple(self._batches.calls))

    def finish_batches(self) -> None:
        """Let all batches run to their end now. Not to be called in the server's thread."""
        assert self._loop is not None, "the server is not running"
        asyncio.run_coroutine_threadsafe(self._batches.finish(), self._loop).result()

    @property
    def totals(self) -> Totals:
        """Token counts over the attempts whose usage was sent."""
        return Totals.of(self.attempts)

    @property
    def tokenizer(self) -> str:
        """Name of the tokenizer."""
        return self._tokenizer.name

    def _open_journal(self) -> ServerJournal:
        return ServerJournal(self._log, self._on_change)

    def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection:
        return Connection(reader, writer, self._max_body, self._max_by_path)

    async def _answer_all(self, connection: Connection) -> None:
        while (incoming := await self._receive(connection)) is not None:
            await self._route(connection, incoming)

    async def _receive(self, connection: Connection) -> Incoming | None:
        try:
            return await connection.receive()
        except ChatRefusal as refused:
            # Its end was not found, so nothing after it can be read either.
            await self._refuse(connection, refused, close=True)
            return None

    async def _route(self, connection: Connection, incoming: Incoming) -> None:
        if incoming.path in _COMPLETIONS and incoming.method == "POST":
            await self._complete(connection, incoming)
        elif incoming.path in _MODELS and incoming.method == "GET":
            if self._may_ask(incoming):
                await connection.send(200, models_body(self._models))
            else:
                await connection.send(401, error_body(*_WRONG_KEY))
        elif self._batches.serves(incoming.path):
            if self._may_ask(incoming):
                reply = await self._batches.reply(incoming)
                await connection.send(reply.status, reply.body, kind=reply.kind)
            else:
                await connection.send(401, error_body(*_WRONG_KEY))
        elif incoming.path in _COMPLETIONS | _MODELS:
            await connection.send(405, error_body("this address is asked in another way", "method_not_allowed"))
        else:
            await connection.send(404, error_body(_PLACES, "not_found"))

    def _may_ask(self, incoming: Incoming) -> bool:
        if self.api_key is None:
            return True
        sent = incoming.headers.get("authorization", "")
        return hmac.compare_digest(sent.encode(), f"Bearer {self.api_key}".encode())

    async def _refuse(self, connection: Connection, refused: ChatRefusal, *, close: bool = False) -> None:
        attempt = self._journal.begin(None, None, status=refused.status, reason=refused.code)
        headers = {"connection": "close"} if close else {}
        sent = await connection.send(refused.status, error_body(refused.message, refused.code), **headers)
        self._journal.end(attempt, written=sent)

    async def _complete(self, connection: Connection, incoming: Incoming) -> None:
        # By both clocks before the request is read, which takes a while where many arrive at once.
        arrived, due = log_time(), asyncio.get_running_loop().time() + self._latency
        try:
            if not self._may_ask(incoming):
                raise ChatRefusal(401, *_WRONG_KEY)
            asked = read_chat_request(incoming.body, incoming.headers.get(OFFLINE_KEY_HEADER.lower()))
        except ChatRefusal as refused:
            await self._refuse(connection, refused)
            return
        asked = replace(asked, attempt=self._journal.next_attempt(asked.identity))
        fault = self._faults(asked) if self._faults is not None else None
        attempt = self._journal.begin(
            asked.identity,
            asked.attempt,
            asked_at=arrived,
            model=asked.model,
            stage=None if asked.key is None else asked.key.stage,
            fault=None if fault is None else str(fault),
        )
        written = False
        try:
            key = _key_of(incoming)
            attempt, body, chain = await self._work_out(asked, fault, attempt, key)
            if fault is not None and fault.kind is ServerFaultKind.SLOW:
                due += fault.seconds or 0.0
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            # Before the answer is sent, because its reader may depend on the cache.
            self._cache.add(chain)
            written = await self._send(connection, attempt.status, body, fault, key)
        finally:
            self._journal.end(attempt, written=written)

    async def _answer_line(
        self, body: bytes, key: str | None, batch: str, fault_of: LineFault
    ) -> tuple[int, bytes, BatchFaultKind | None]:
        """Answer a line of a batch as a request of its own, and log it as one."""
        try:
            asked = read_chat_request(body, key)
        except ChatRefusal as refused:
            attempt = self._journal.begin(None, None, status=refused.status, reason=refused.code, batch=batch)
            self._journal.end(attempt, written=True)
            return refused.status, error_body(refused.message, refused.code), None
        asked = replace(asked, attempt=self._journal.next_attempt(asked.identity))
        of_batch, plain = fault_of(asked), self._faults(asked) if self._faults is not None else None
        if plain is not None and plain.kind not in _IN_FILES:
            plain = None
        attempt = self._journal.begin(
            asked.identity,
            asked.attempt,
            model=asked.model,
            stage=None if asked.key is None else asked.key.stage,
            fault=str(of_batch or plain) if of_batch or plain else None,
            batch=batch,
        )
        written = False
        try:
            if of_batch in LINE_ERRORS:
                status, code, message = LINE_ERRORS[of_batch]
                attempt, answer = self._journal.change(attempt, status=status), error_body(message, code)
            else:
                attempt, answer, chain = await self._work_out(asked, plain, attempt, "")
                self._cache.add(chain)
            written = of_batch not in (BatchFaultKind.LINE_MISSING, BatchFaultKind.LINE_CUT)
        finally:
            self._journal.end(attempt, written=written)
        assert attempt.status is not None, "no fault that stalls is in a file"
        return attempt.status, answer, of_batch

    async def _work_out(
        self, asked: ChatRequest, fault: ServerFault | None, attempt: ServedAttempt, key: str
    ) -> tuple[ServedAttempt, bytes, list[int]]:
        """Return what to send and which prompt blocks were computed; it is logged before anything is sent."""
        kind = None if fault is None else fault.kind
        if kind in ERRORS:
            status, code, message = ERRORS[kind]
            return self._journal.change(attempt, status=status), error_body(message, code), []
        if kind is ServerFaultKind.STALLED:
            return attempt, b"", []
        if kind is ServerFaultKind.ECHO_ERROR:
            body = error_body(f"this key is no good:\n{echo_key(key)}", key)
            return self._journal.change(attempt, status=400), body, []
        if kind is ServerFaultKind.REDIRECT:
            return self._journal.change(attempt, status=307), b"", []
        if kind in GENERATES_NOTHING:
            return self._journal.change(attempt, status=200), page(), []
        tokens = self._tokenizer.encode(prompt_text(asked))
        chain = chain_of(asked.model, tokens)
        cached = self._cache.count_cached(chain)
        try:
            said = self._answer(asked)
            text = await said if inspect.isawaitable(said) else said
            # Whatever is no text of whole characters fails here, where it is told.
            text.encode()
        except ChatRefusal as refused:
            attempt = self._journal.change(attempt, status=refused.status, reason=refused.code)
            return attempt, error_body(refused.message, refused.code), []
        except Exception as error:
            # A function of somebody's own may raise anything; the server is to outlive it.
            attempt = self._journal.change(attempt, status=500, reason=type(error).__name__)
            return attempt, error_body("the function that answers raised an error", "answer_failed"), []
        content, finish, refusal = apply_fault(text, kind)
        if kind is ServerFaultKind.ECHO:
            content, finish = f"You came with this key:\n{echo_key(key)}\n\n{content}", key[::-1]
        if content and asked.max_tokens is not None:
            whole, content = content, self._tokenizer.cut(content, asked.max_tokens)
            finish = finish if content == whole else "length"
        completion = len(self._tokenizer.encode(content or refusal or ""))
        usage = usage_body(len(tokens), cached, completion, self._dialect)
        body = completion_body(
            content,
            finish,
            refusal,
            None if kind is ServerFaultKind.USAGE_MISSING else usage,
            id_=key if kind is ServerFaultKind.ECHO else f"chatcmpl-{asked.identity[:24]}-{asked.attempt}",
            choices=kind is not ServerFaultKind.EMPTY_CHOICES,
            model=key
            if kind is ServerFaultKind.ECHO
            else asked.model
            if asked.model in self._models
            else self._models[0],
        )
        attempt = self._journal.change(
            attempt,
            status=200,
            prompt_tokens=len(tokens),
            cached_tokens=cached,
            completion_tokens=completion,
            has_usage=kind not in _TELLS_NO_USAGE,
        )
        return attempt, body, chain

    async def _send(
        self, connection: Connection, status: int | None, body: bytes, fault: ServerFault | None, key: str
    ) -> bool:
        """Send an answer as its fault has it; whether it went into the socket whole."""
        kind = None if fault is None else fault.kind
        if fault is not None and kind is ServerFaultKind.STALLED:
            await connection.hold(fault.seconds)
            return False
        if fault is not None and kind in (ServerFaultKind.ENDLESS, ServerFaultKind.TRICKLE):
            piece = b" " if kind is ServerFaultKind.TRICKLE else b" " * _FLOOD
            await connection.flood(piece, fault.seconds or 0.0)
            return False
        assert status is not None, "whatever does not stall has a status"
        # An answer that failed for another reason has nothing left to spoil.
        if kind is ServerFaultKind.RESET and status == 200:
            await connection.send_half(status, body)
            return False
        if kind is ServerFaultKind.HALF_JSON and status == 200:
            await connection.send(status, body[: len(body) // 2])
            return False
        if kind is ServerFaultKind.BOMB:
            return await connection.send(status, bomb(), content_encoding="gzip")
        if kind is ServerFaultKind.ODD_PACKING:
            return await connection.send(status, body, content_encoding="br")
        if kind is ServerFaultKind.REDIRECT:
            elsewhere = self.address.replace("127.0.0.1", "localhost")
            return await connection.send(status, body, location=f"{elsewhere}/chat/completions")
        if kind in (ServerFaultKind.ECHO, ServerFaultKind.ECHO_ERROR):
            return await connection.send(status, body, x_request_id=key, x_key=key[::-1])
        if fault is not None and kind is ServerFaultKind.RATE_LIMITED_RETRY_AFTER:
            return await connection.send(status, body, retry_after=f"{fault.seconds:g}")
        return await connection.send(
            status, body, kind="text/html" if kind is ServerFaultKind.HTML else "application/json"
        )


_WRONG_KEY: Final = ("the API key is missing or wrong", "invalid_api_key")
_IN_FILES: Final = frozenset({*FATAL, *ERRORS, ServerFaultKind.USAGE_MISSING})
"""Faults that an answer in a file of a batch can have."""
_TELLS_NO_USAGE: Final = frozenset({ServerFaultKind.USAGE_MISSING, ServerFaultKind.RESET, ServerFaultKind.HALF_JSON})


def _key_of(incoming: Incoming) -> str:
    """Return the key that a request carries."""
    sent = (incoming.headers.get(name, "") for name in ("authorization", "x-api-key", "x-goog-api-key"))
    return next(filter(None, sent), "").removeprefix("Bearer ")
