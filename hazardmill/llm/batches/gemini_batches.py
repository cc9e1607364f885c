"""Batches at Google AI Studio: the Batch API of Gemini, with files of requests and results.

https://ai.google.dev/api/batch-api and https://ai.google.dev/gemini-api/docs/batch-api
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar, Final
from urllib.parse import quote, urlsplit

from hazardmill.errors import ProviderDown, ProviderError, RedirectRefused
from hazardmill.llm.batches.litellm_exchange import WireRequest
from hazardmill.llm.batches.native_batches import LineAnswer, NativeBatches
from hazardmill.llm.batches.provider import BatchLimits, BatchLine, BatchState, BatchStatus, LineResult
from hazardmill.llm.redact import scrub
from hazardmill.llm.requests import Request

_VERSION: Final = re.compile(r"(?P<root>.*?)(?P<version>/v\d[^/]*)?/*")
_STATE: Final = re.compile(r"(?:BATCH|JOB)_STATE_(\w+)")
_FILE: Final = re.compile(r"files/[\w-]+")
_PAGE: Final = 100
_MOST_PAGES: Final = 1000
_LONGEST_MESSAGE: Final = 600

_STATES: Final = {
    "SUCCEEDED": BatchState.ENDED,
    "FAILED": BatchState.FAILED,
    "CANCELLED": BatchState.CANCELLED,
    "EXPIRED": BatchState.EXPIRED,
}
"""The final states; all others are on the way."""

_STATUSES: Final = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 12: 400, 13: 500, 14: 503, 16: 401}
"""HTTP status of gRPC's codes of errors (google/rpc/code.proto); all others, such as cancelled and out of time, have
503."""
_CANCELLED: Final = 1


class GeminiBatches(NativeBatches):
    """Batches of Gemini models, by an uploaded file of requests.

    Requests within the call itself would need no upload, but their results come in any order, and often without the
    metadata that say whose they are (https://github.com/googleapis/python-genai/issues/1909). The lines of a file have
    keys. The files are deleted by Google after two days, so results must be read by then.
    """

    provider: ClassVar[str] = "gemini"
    # Google accepts files of 2 GB and names no number of lines; ours are held in memory.
    limits: ClassVar[BatchLimits] = BatchLimits(requests=100_000, bytes=256_000_000)
    can_find: ClassVar[bool] = True
    _key_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    _base_variables: ClassVar[tuple[str, ...]] = ("GEMINI_API_BASE",)
    _default_base: ClassVar[str] = "https://generativelanguage.googleapis.com/v1beta"
    _id_field: ClassVar[str] = "key"

    async def create(self, name: str, lines: Sequence[BatchLine]) -> str:
        """Upload the requests and create a batch of them.

        Args:
            name: Our name of the batch; its display name there.
            lines: The requests, all to one model.

        Returns:
            The provider's id of the batch, ``batches/...``.

        Raises:
            ProviderError: The batch was refused, or it is not known whether it was created: look with ``find``.
            ProviderDown: The answer has no name of a batch: look with ``find``.
        """
        entries, _ = await self._entries(lines)
        file = await self._upload(name, b"".join(entry + b"\n" for entry in entries))
        model = quote(lines[0].request.model.partition("/")[2], safe="")
        batch = {"displayName": name, "inputConfig": {"fileName": file}}
        url = f"{self._base()}/models/{model}:batchGenerateContent"
        _, operation = await self._api.ask("POST", url, content=json.dumps({"batch": batch}).encode())
        batch_id = operation.get("name")
        if not isinstance(batch_id, str) or not batch_id.startswith("batches/"):
            raise ProviderDown(f"{self.provider}: the answer has no name of a batch")
        return batch_id

    async def find(self, name: str) -> str | None:
        """Return the provider's id of the batch with that display name; null if it lists none.

        Raises:
            ProviderError: The list cannot be read.
            ProviderDown: The list does not end.
        """
        page = ""
        for _ in range(_MOST_PAGES):
            url = f"{self._base()}/batches?pageSize={_PAGE}" + (f"&pageToken={quote(page, safe='')}" if page else "")
            _, listed = await self._api.ask("GET", url)
            operations = listed.get("operations")
            for operation in operations if isinstance(operations, list) else ():
                batch_id = operation.get("name") if isinstance(operation, dict) else None
                if isinstance(batch_id, str) and _metadata(operation).get("displayName") == name:
                    return batch_id
            page = listed.get("nextPageToken") or ""
            if not isinstance(page, str) or not page:
                return None
        raise ProviderDown(f"{self.provider}: the list of batches does not end")

    async def status(self, batch_id: str) -> BatchStatus:
        """Ask how a batch is doing."""
        _, operation = await self._api.ask("GET", self._address(batch_id))
        stats = _metadata(operation).get("batchStats")
        counted = [
            _count(stats.get(kind)) if isinstance(stats, dict) else None
            for kind in ("successfulRequestCount", "failedRequestCount")
        ]
        known = [count for count in counted if count is not None]
        error = operation.get("error")
        said = error.get("message") if isinstance(error, dict) else None
        message = scrub(said)[:_LONGEST_MESSAGE] if isinstance(said, str) and said else None
        return BatchStatus(_state(operation), sum(known) if known else None, message)

    async def results(
        self, batch_id: str, lines: Sequence[BatchLine], total: int | None = None
    ) -> AsyncIterator[LineResult]:
        """Yield what became of the lines of a batch in a final state, as they arrive.

        A batch that expired, failed or was cancelled may have no results.

        Raises:
            ProviderError: The results cannot be read, or were deleted.
        """
        _, operation = await self._api.ask("GET", self._address(batch_id))
        for output in (operation.get("response"), _metadata(operation).get("output")):
            if not isinstance(output, dict):
                continue
            file = output.get("responsesFile")
            if isinstance(file, str) and _FILE.fullmatch(file):
                async for result in self._download(
                    self._media("download", f"/{file}:download?alt=media"), lines, total
                ):
                    yield result
                return
            if isinstance(found := output.get("inlinedResponses"), dict):
                # Some small batches are answered so, although their requests were in a file.
                for result in await self._read_inlined(found.get("inlinedResponses"), lines):
                    yield result
                return

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to stop a batch; it may take minutes."""
        await self._api.ask("POST", f"{self._address(batch_id)}:cancel")

    async def _upload(self, name: str, data: bytes) -> str:
        """Upload a file by the resumable protocol of the File API, in one piece, and return its name."""
        start = {
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(len(data)),
            "x-goog-upload-header-content-type": "application/jsonl",
        }
        about = json.dumps({"file": {"displayName": name}}).encode()
        begun = self._media("upload", "/files")
        headers, _ = await self._api.ask("POST", begun, content=about, headers=start)
        to = headers.get("x-goog-upload-url", "")
        if _origin(to) != _origin(begun):
            raise RedirectRefused(
                f"{self.provider}: the address for the upload is not on the host that was asked",
                remedy="if you use a gateway, check that it can upload files",
            )
        finish = {
            "content-type": "application/jsonl",
            "x-goog-upload-offset": "0",
            "x-goog-upload-command": "upload, finalize",
        }
        _, uploaded = await self._api.ask("POST", to, content=data, headers=finish)
        file = uploaded.get("file")
        found = file.get("name") if isinstance(file, dict) else None
        if not isinstance(found, str) or not _FILE.fullmatch(found):
            raise ProviderDown(f"{self.provider}: the answer to the upload has no name of a file")
        return found

    async def _read_inlined(self, entries: object, lines: Sequence[BatchLine]) -> list[LineResult]:
        asked = {line.custom_id: line.request for line in lines}
        results = []
        for entry in entries if isinstance(entries, list) else ():
            metadata = entry.get("metadata") if isinstance(entry, dict) else None
            if isinstance(metadata, dict):
                result = await self._read({"key": metadata.get("key")} | entry, asked)
                results += [] if result is None else [result]
        return results

    def _address(self, batch_id: str) -> str:
        return f"{self._base()}/{quote(batch_id, safe='/')}"

    def _media(self, what: str, path: str) -> str:
        """Return an address for the contents of files: Google puts them before the version of the API."""
        parts = _VERSION.fullmatch(self._base())
        assert parts is not None, "the pattern matches everything"
        return f"{parts['root']}/{what}{parts['version'] or '/v1beta'}{path}"

    def _auth(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key, "content-type": "application/json"}

    def _entry(self, line: BatchLine, wire: WireRequest) -> bytes:
        return b'{"key":%b,"request":%b}' % (json.dumps(line.custom_id).encode(), wire.body)

    def _answer(self, entry: dict[str, Any], request: Request) -> LineAnswer | ProviderError | None:
        if isinstance(response := entry.get("response"), dict):
            return LineAnswer(200, response)
        error = entry.get("error") or entry.get("status")
        if not isinstance(error, dict):
            return None
        code = _count(error.get("code")) or 0
        if code == _CANCELLED:
            return ProviderDown(f"{request.model}: the batch was cancelled before this line was answered")
        # The ordinary API writes the HTTP status where google.rpc.Status has gRPC's code.
        status = code if 400 <= code < 600 else _STATUSES.get(code, 503)
        return LineAnswer(status, {"error": error | {"code": status}})


def _metadata(operation: dict[str, Any]) -> dict[str, Any]:
    found = operation.get("metadata")
    return found if isinstance(found, dict) else {}


def _state(operation: dict[str, Any]) -> BatchState:
    named = _STATE.fullmatch(str(_metadata(operation).get("state")))
    if named and named[1] in _STATES:
        return _STATES[named[1]]
    if operation.get("done") is not True:
        return BatchState.RUNNING
    error = operation.get("error")
    if not isinstance(error, dict):
        return BatchState.ENDED
    return BatchState.CANCELLED if error.get("code") == _CANCELLED else BatchState.FAILED


def _count(value: object) -> int | None:
    """Return a count: JSON has 64-bit numbers of protocol buffers as strings."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return int(value) if str(value).isascii() and str(value).isdigit() else None


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc
