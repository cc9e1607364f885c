"""What litellm raises, as one of our errors: by the status that came, then by what lies behind it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

from hazardmill.errors import (
    ConnectionFailed,
    ModelRefused,
    PromptRefused,
    ProviderDown,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from hazardmill.llm.redact import scrub
from hazardmill.llm.requests import Request

TAKES_LONGER: Final = "look at the provider's status; if its answers take longer, raise --attempt-timeout"

_NO_CREDIT: Final = "insufficient_quota"
_LONGEST_MESSAGE: Final = 600


def translate(error: Exception, request: Request, received: int | None = None) -> ProviderError:
    """What litellm raised, as one of ours, without secrets.

    Args:
        error: What litellm raised.
        request: What was asked.
        received: Status of the answer that came. litellm makes one up where it cannot read an answer: of a body that
            is none of the API's, some of its parts say status 400, as if the request had been wrong.
    """
    status = getattr(error, "status_code", None)
    kind = type(error).__name__
    # litellm writes the whole traceback into some of its messages.
    said = scrub(str(error)).partition("\nTraceback ")[0].strip()[:_LONGEST_MESSAGE]
    message = f"{request.model}: {said}"
    retry_after = _retry_after(error)
    if kind == "ContentPolicyViolationError" or (status in _MAY_BE_FILTERED and _FILTERED.search(said)):
        return PromptRefused(message, filtered=True, remedy="try another model")
    if status == 429:
        if _NO_CREDIT in said or any(getattr(cause, "code", None) == _NO_CREDIT for cause in _chain(error)):
            return RequestRefused(message, remedy=_REMEDIES[402])
        return RateLimited(message, retry_after=retry_after, remedy="lower the limits of requests or tokens a minute")
    if status == 401 or _KEY_IS_MISSING.search(said) or (status == 400 and _KEY_IS_WRONG.search(said)):
        # Where the key is missing here, litellm may call that a status 500, and nothing was sent.
        return RequestRefused(message, remedy=_REMEDIES[401])
    if status == 408 or kind == "Timeout":
        return ConnectionFailed(message, retry_after=retry_after, remedy=TAKES_LONGER)
    if kind in _NOT_SENT or (status == 400 and _NO_PROVIDER.search(said)):
        return RequestRefused(message, remedy="check model name and parameters")
    if status == 402 or (status == 400 and _CREDIT_IS_GONE.search(said)):
        return RequestRefused(message, remedy=_REMEDIES[402])
    if status in _ABOUT_THE_MODEL or (status == 400 and _MODEL_IS_UNKNOWN.search(said)):
        return ModelRefused(message, remedy=_REMEDIES[404 if status == 400 else int(status or 0)])
    if kind == "ContextWindowExceededError" or status == 413 or (status == 400 and _TOO_LONG.search(said)):
        return PromptRefused(message, remedy="the prompt is too long for this model")
    if isinstance(status, int) and 400 <= status < 500 and received != 200:
        return PromptRefused(message, remedy="check parameters and prompt")
    if (broken := _broken_connection(error)) is not None:
        reason = scrub(broken)[:_LONGEST_MESSAGE]
        # What litellm says of it differs by provider, and may be no more than "Connection error."
        return ConnectionFailed(
            f"{request.model}: the connection failed: {reason or said}",
            retry_after=retry_after,
            remedy="check the network and the address of the API",
        )
    return ProviderDown(
        message, retry_after=retry_after, remedy="look at the provider's status, and resume the run later"
    )


_ABOUT_THE_MODEL: Final = frozenset({403, 404})
"""Statuses that another model might not give, and every request to this one would get."""

_NOT_SENT: Final = frozenset({"UnsupportedParamsError"})
"""What litellm itself refuses, whatever the prompt."""

_REMEDIES: Final = {
    401: "check the provider's key in the environment",
    402: "the account has no credit left: top it up, or take another key",
    403: "the key has no right to this model",
    404: "check the model name and the address of the API",
}

# Named, not imported: litellm chooses between the two libraries.
_CONNECTION_ERRORS: Final = frozenset({("httpx", "TransportError"), ("aiohttp", "ClientConnectionError")})
_LIBRARY_ERROR: Final = ("openai", "APIConnectionError")

_MAY_BE_FILTERED: Final = frozenset({400, 403, 422, 451})
_FILTERED: Final = re.compile(
    r"content exists risk|content[ _-]?(?:filter|policy|management)|moderation|\bflagged\b|data_inspection_failed"
    r"|inappropriate content|sensitive (?:content|words?)",
    re.IGNORECASE,
)
"""How providers say, in errors that litellm does not know, that their filter turned a prompt away."""

_CREDIT_IS_GONE: Final = re.compile(r"credit balance is too low|insufficient (?:balance|credits?|funds)", re.IGNORECASE)
"""Said with status 400 by some."""

_MODEL_IS_UNKNOWN: Final = re.compile(
    r"model[ _]not[ _](?:exist|found)|not a valid model|(?:invalid|unknown|no such) model\b|model \S+ does not exist",
    re.IGNORECASE,
)
"""Said with status 400 by some."""

_NO_PROVIDER: Final = re.compile(r"LLM Provider NOT provided")
"""litellm's own words, before anything is sent."""

_TOO_LONG: Final = re.compile(r"context[ _](?:length|window|size)|prompt is too long", re.IGNORECASE)
"""How servers that litellm does not know say so."""

_SSL_CONTEXT: Final = re.compile(r" ssl:(?:<[^>]*>|\w+)")
"""What aiohttp says after a host: an address in memory."""

_KEY_IS_WRONG: Final = re.compile(r"(?:incorrect|invalid) api[ _]?key|api[ _]?key not valid", re.IGNORECASE)
"""Said with status 400 by some."""

_KEY_IS_MISSING: Final = re.compile(r"missing credentials|missing (?:\w+ )?api[ _]?key", re.IGNORECASE)


def _broken_connection(error: BaseException) -> str | None:
    """What broke the connection, if one lies behind the error: litellm calls that a status 500 as well."""
    found = None
    for cause in _chain(error):
        kinds = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(cause).__mro__}
        # The client library itself, that is: litellm derives errors of every kind from this one.
        by_library = (type(cause).__module__.partition(".")[0], type(cause).__name__) == _LIBRARY_ERROR
        if isinstance(cause, ConnectionError) or kinds & _CONNECTION_ERRORS or by_library:
            # The deepest one knows best.
            found = _SSL_CONTEXT.sub("", str(cause)).strip() or found or type(cause).__name__
    return found


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and what lies behind it."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _retry_after(error: Exception) -> float | None:
    """Seconds of the Retry-After header, which is a number or a date; null if there is none that makes sense."""
    headers = getattr(error, "litellm_response_headers", None) or {}
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
