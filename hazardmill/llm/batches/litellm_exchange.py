"""Lets litellm write the requests of a batch and read its answers, exactly as it does for single requests.

litellm's ordinary call runs against a transport that sends nothing: one catches the request, the other replays a stored
answer. So the cache marks, the beta headers, the tools that stand in for a schema and the errors are those of the
ordinary way, without a second copy of litellm's order of steps here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import httpx

from hazardmill.errors import ProviderError, RequestRefused

# The one place in this package that depends on how the backend calls litellm.
from hazardmill.llm.backends.litellm import NO_KEY, LitellmBackend, load_litellm
from hazardmill.llm.backends.litellm_errors import translate
from hazardmill.llm.backends.litellm_format import check_parameters, messages_for, parameters_for
from hazardmill.llm.requests import Completion, Request


@dataclass(frozen=True, slots=True)
class WireRequest:
    """The HTTP request that litellm sends for a request.

    Attributes:
        body: The body, JSON in UTF-8.
        headers: The headers, with names in lower case and without a valid key.
    """

    body: bytes
    headers: dict[str, str]


class LitellmExchange:
    """Writes requests and reads answers as ``LitellmBackend`` does, without sending anything.

    Args:
        api_base: As for ``LitellmBackend``.
        timeout_s: Seconds for reading one answer.
        max_answer_bytes: Maximum size of one answer in bytes.

    Raises:
        SettingsError: ``api_base`` is not an address.
    """

    def __init__(self, api_base: str | None, *, timeout_s: float, max_answer_bytes: int) -> None:
        self._api_base = api_base
        self._timeout_s = timeout_s
        self._max_answer_bytes = max_answer_bytes
        self.host = LitellmBackend(api_base).host
        """Host of ``api_base``; null if that is not given."""

    def write(self, request: Request) -> WireRequest:
        """Return the HTTP request that litellm sends for a request, which costs one or two milliseconds.

        Raises:
            RequestRefused: The request sets a parameter that it must not set, or litellm rejects it.
            ProviderError: litellm cannot write it.
        """
        check_parameters(request)
        litellm = load_litellm()
        from litellm.llms.custom_httpx.http_handler import HTTPHandler

        failure: ProviderError = RequestRefused(f"{request.model}: litellm sends no HTTP request for this model")
        with httpx.Client(transport=_RequestCatcher(), trust_env=False) as client:
            try:
                litellm.completion(
                    model=request.model,
                    messages=messages_for(request),
                    api_base=self._api_base,
                    api_key=NO_KEY,
                    max_retries=0,
                    client=HTTPHandler(client=client),
                    **parameters_for(request),
                )
            except _RequestCaught as caught:
                return caught.wire
            except Exception as error:
                failure = translate(error, request)
        raise failure

    async def read(self, request: Request, status: int, body: bytes) -> Completion:
        """Return what ``LitellmBackend.complete`` returns if the provider answers a request so.

        Args:
            request: The request.
            status: HTTP status of the answer.
            body: Body of the answer, in the format of the provider's ordinary API.

        Raises:
            ProviderError: What ``LitellmBackend.complete`` raises.
        """
        load_litellm()
        from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

        client = AsyncHTTPHandler(transport=_StoredAnswer(status, body))
        backend = LitellmBackend(
            self._api_base, NO_KEY, timeout_s=self._timeout_s, max_answer_bytes=self._max_answer_bytes, client=client
        )
        try:
            return await backend.complete(request)
        finally:
            await client.close()


class _RequestCaught(BaseException):
    """Carries a request out of litellm, which would log and translate an ``Exception``."""

    def __init__(self, wire: WireRequest) -> None:
        super().__init__()
        self.wire = wire


class _RequestCatcher(httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> NoReturn:
        raise _RequestCaught(WireRequest(request.read(), dict(request.headers)))


class _StoredAnswer(httpx.AsyncBaseTransport):
    def __init__(self, status: int, body: bytes) -> None:
        self._status = status
        self._body = body

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = {"content-type": "application/json"}
        # As a stream, because the limits hold for what is read from one.
        stream = httpx.ByteStream(self._body)
        return httpx.Response(self._status, headers=headers, stream=stream, request=request)
