"""Translates litellm's errors to ours, by the status received and then by the underlying cause."""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

from hazardmill.errors import (
    ConnectionFailed,
    ModelRefused,
    NothingListens,
    PromptRefused,
    ProviderDown,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from hazardmill.llm.backends.hosts import is_loopback
from hazardmill.llm.redact import scrub
from hazardmill.llm.requests import Request

TAKES_LONGER: Final = "check the provider's status; if its answers take longer, raise --attempt-timeout"

_NO_CREDIT: Final = "insufficient_quota"
_LONGEST_MESSAGE: Final = 600


def translate(error: Exception, request: Request, received: int | None = None) -> ProviderError:
    """Translate an error of litellm to one of ours, with secrets removed.

    Args:
        error: What litellm raised.
        request: The request that was sent.
        received: HTTP status of the answer that arrived; null if none did. litellm invents a status if it cannot read
            an answer: for a body that is not the API's, some of its parts report status 400, as if the request were
            wrong.

    Returns:
        The error, retryable if another attempt may help. It is not raised.
    """
    return translate_call(error, request.model, received)


def translate_call(error: Exception, whose: str, received: int | None = None) -> ProviderError:
    """Translate an error of a call that is no request to a model, such as a question about a batch.

    Args:
        error: What litellm or a library below it raised.
        whose: What the message begins with, such as the model or the provider.
        received: As for ``translate``.

    Returns:
        The error, as ``translate`` returns it.
    """
    status = getattr(error, "status_code", None)
    kind = type(error).__name__
    # litellm writes the whole traceback into some of its messages.
    said = scrub(str(error)).partition("\nTraceback ")[0].strip()[:_LONGEST_MESSAGE]
    message = f"{whose}: {said}"
    retry_after = _retry_after(error)
    if kind == "ContentPolicyViolationError" or (status in _MAY_BE_FILTERED and _FILTERED.search(said)):
        return PromptRefused(message, filtered=True, remedy="try another model")
    if status == 429:
        if _NO_CREDIT in said or any(getattr(cause, "code", None) == _NO_CREDIT for cause in _chain(error)):
            return RequestRefused(message, remedy=_REMEDIES[402])
        return RateLimited(message, retry_after=retry_after, remedy="lower the limits on requests or tokens per minute")
    if status == 401 or _KEY_IS_MISSING.search(said) or (status == 400 and _KEY_IS_WRONG.search(said)):
        # If the key is missing here, litellm may report status 500 although nothing was sent.
        return RequestRefused(message, remedy=_REMEDIES[401])
    if status == 408 or kind == "Timeout":
        return ConnectionFailed(message, retry_after=retry_after, remedy=TAKES_LONGER)
    if kind in _NOT_SENT or (status == 400 and _NO_PROVIDER.search(said)):
        return RequestRefused(message, remedy="check the model name and the parameters")
    if status == 402 or (status == 400 and _CREDIT_IS_GONE.search(said)):
        return RequestRefused(message, remedy=_REMEDIES[402])
    if status in _ABOUT_THE_MODEL or (status == 400 and _MODEL_IS_UNKNOWN.search(said)):
        return ModelRefused(message, remedy=_REMEDIES[404 if status == 400 else int(status or 0)])
    if kind == "ContextWindowExceededError" or status == 413 or (status == 400 and _TOO_LONG.search(said)):
        return PromptRefused(
            message,
            remedy="the prompt is too long for this model: use a model with a larger context window, or shorten the "
            "input",
        )
    if isinstance(status, int) and 400 <= status < 500 and received != 200:
        return PromptRefused(message, remedy="check the parameters and the prompt")
    if (address := _refused_here(error)) is not None:
        return NothingListens(
            f"{whose}: nothing listens at {address} on this machine",
            remedy="start the server of the model there, or correct its address and port (--api-base)",
        )
    if (broken := _broken_connection(error)) is not None:
        reason = scrub(broken)[:_LONGEST_MESSAGE]
        # litellm's message differs by provider, and may be no more than "Connection error."
        return ConnectionFailed(
            f"{whose}: the connection failed: {reason or said}",
            retry_after=retry_after,
            remedy="check the network and the address of the API",
        )
    return ProviderDown(
        message, retry_after=retry_after, remedy="check the provider's status, and resume the run later"
    )


_ABOUT_THE_MODEL: Final = frozenset({403, 404})
"""Statuses that every request to this model would get, but another model might not."""

_NOT_SENT: Final = frozenset({"UnsupportedParamsError"})
"""Errors with which litellm itself rejects a request, whatever the prompt."""

_REMEDIES: Final = {
    401: "check the provider's key in the environment",
    402: "the account has no credit left: top it up, or use another key",
    403: "the key has no access to this model",
    404: "check the model name and the address of the API",
}

# By name, without importing them: litellm chooses between the two libraries.
_CONNECTION_ERRORS: Final = frozenset({("httpx", "TransportError"), ("aiohttp", "ClientConnectionError")})
_LIBRARY_ERROR: Final = ("openai", "APIConnectionError")

_MAY_BE_FILTERED: Final = frozenset({400, 403, 422, 451})
_FILTERED: Final = re.compile(
    r"content exists risk|content[ _-]?(?:filter|policy|management)|moderation|\bflagged\b|data_inspection_failed"
    r"|inappropriate content|sensitive (?:content|words?)",
    re.IGNORECASE,
)
"""How providers say that their filter rejected a prompt, in errors that litellm does not recognize."""

_CREDIT_IS_GONE: Final = re.compile(r"credit balance is too low|insufficient (?:balance|credits?|funds)", re.IGNORECASE)
"""Sent with status 400 by some providers."""

_MODEL_IS_UNKNOWN: Final = re.compile(
    r"model[ _]not[ _](?:exist|found)|not a valid model|(?:invalid|unknown|no such) model\b|model \S+ does not exist",
    re.IGNORECASE,
)
"""Sent with status 400 by some providers."""

_NO_PROVIDER: Final = re.compile(r"LLM Provider NOT provided")
"""litellm's own words, before anything is sent."""

_TOO_LONG: Final = re.compile(r"context[ _](?:length|window|size)|prompt is too long", re.IGNORECASE)
"""How servers unknown to litellm say that a prompt is too long."""

_SSL_CONTEXT: Final = re.compile(r" ssl:(?:<[^>]*>|\w+)")
"""What aiohttp appends to a host: a memory address."""

_KEY_IS_WRONG: Final = re.compile(r"(?:incorrect|invalid) api[ _]?key|api[ _]?key not valid", re.IGNORECASE)
"""Sent with status 400 by some providers."""

_KEY_IS_MISSING: Final = re.compile(r"missing credentials|missing (?:\w+ )?api[ _]?key", re.IGNORECASE)


def _broken_connection(error: BaseException) -> str | None:
    """What broke the connection, if that is behind the error: litellm reports it as status 500 too."""
    found = None
    for cause in _chain(error):
        kinds = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(cause).__mro__}
        # Compare the exact class: litellm derives errors of every kind from this one.
        by_library = (type(cause).__module__.partition(".")[0], type(cause).__name__) == _LIBRARY_ERROR
        if isinstance(cause, ConnectionError) or kinds & _CONNECTION_ERRORS or by_library:
            # The deepest cause is the most specific.
            found = _SSL_CONTEXT.sub("", str(cause)).strip() or found or type(cause).__name__
    return found


def _refused_here(error: BaseException) -> str | None:
    """The address on this machine that refused the connection; null if none did, or one elsewhere."""
    causes = list(_chain(error))
    if not any(getattr(cause, "errno", None) == errno.ECONNREFUSED for cause in causes):
        return None
    for cause in causes:
        # As aiohttp names the address that it tried; a proxy, where there is one.
        host, port = getattr(cause, "host", None), getattr(cause, "port", None)
        if isinstance(host, str) and is_loopback(host):
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _retry_after(error: Exception) -> float | None:
    """Seconds in the Retry-After header, which is a number or a date; null if it is missing or invalid."""
    # Of batches and files, litellm passes on the errors of the library that it asks.
    headers = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", {}
    )
    value = headers.get("retry-after") or headers.get("Retry-After")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if seconds < float("inf") else None
