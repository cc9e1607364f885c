"""Providers and local servers, through litellm: one attempt a call, its errors made ours."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Final, NoReturn
from urllib.parse import urlsplit

from hazardmill.errors import (
    ConnectionFailed,
    ModelRefused,
    PromptRefused,
    ProviderDown,
    ProviderError,
    RateLimited,
    RequestRefused,
    SettingsError,
)
from hazardmill.llm.requests import Completion, OfflineKey, Request, Usage
from hazardmill.llm.scrub import encodable, scrub

OFFLINE_KEY_HEADER: Final = "X-Hazardmill-Key"
"""Carries the offline key, as JSON, to a server on this machine: the offline author served over HTTP reads it."""

_OURS: Final = frozenset(
    {"model", "messages", "api_base", "base_url", "api_key", "max_retries", "num_retries", "timeout", "stream", "n"}
)
"""Parameters that a request must not set: they would change who is asked, retry and stream behind our back, or pay for
answers that nobody reads."""

_CACHE_WHEN_TOLD: Final = frozenset({"anthropic"})
"""Providers that cache a prompt's beginning only where the request says up to where."""

_NO_SCHEMA: Final = frozenset({"deepseek"})
"""Providers that promise JSON, but refuse a request that says of which shape."""

_LEAVES_ZEROS_OUT: Final = frozenset({"gemini", "vertex_ai"})
"""Providers that send no count of cached tokens where nothing was cached: Google's APIs write protocol buffers as JSON,
which leaves out a number that is zero. Elsewhere a count that is missing is unknown."""

_NO_KEY: Final = "none"
_NO_CREDIT: Final = "insufficient_quota"
_LONGEST_MESSAGE: Final = 600


class LitellmBackend:
    """Asks ``provider/model`` names as litellm knows them.

    Args:
        api_base: Address of the API, for local servers and gateways; the provider's own by default.
        api_key: Key to use; by default litellm reads the provider's environment variable.
        timeout_s: Seconds that one attempt may take.

    Raises:
        SettingsError: ``api_base`` is no address.
    """

    name: ClassVar[str] = "litellm"
    metered: ClassVar[bool] = True
    """A request that was sent may cost money even if no answer comes back."""

    def __init__(self, api_base: str | None = None, api_key: str | None = None, *, timeout_s: float = 300.0) -> None:
        self._api_base = api_base
        self._api_key = api_key
        self._timeout_s = timeout_s
        self.host = None if api_base is None else _host(api_base)
        self._local = self.host is not None and is_loopback(self.host)

    async def complete(self, request: Request) -> Completion:
        """One attempt.

        Raises:
            ProviderError: One of its kinds; retryable where another attempt may help.
        """
        if theirs := sorted(_OURS & request.parameters.keys()):
            raise RequestRefused(
                f"a request must not set {', '.join(theirs)}", remedy="take it out of the prompt's front matter"
            )
        litellm = load_litellm()
        try:
            response = await litellm.acompletion(
                model=request.model,
                messages=_messages(request),
                # litellm's own retries differ by provider, and would pay for attempts that no ledger sees.
                max_retries=0,
                timeout=self._timeout_s,
                **self._where(litellm, request),
                **_parameters(request),
            )
            return _completion(response, request)
        except Exception as error:
            # litellm raises a class of its own for each provider's each mood; a body of JSON that is no completion
            # comes out as whatever breaks first.
            failure = _translate(error, request, self._api_key)
        # Outside of the handler: the original may hold the key, and would travel along as context.
        raise failure

    async def close(self) -> None:
        """Close litellm's connections, those of other backends in this process included."""
        load_litellm()
        from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

        await close_litellm_async_clients()

    def _where(self, litellm: Any, request: Request) -> dict[str, Any]:  # noqa: ANN401  # an untyped module
        where: dict[str, Any] = {}
        if self._api_base is not None:
            where["api_base"] = self._api_base
        if self._api_key is not None:
            where["api_key"] = self._api_key
        elif self._local and not litellm.validate_environment(request.model)["keys_in_environment"]:
            # Local servers ask for no key; the client libraries do.
            where["api_key"] = _NO_KEY
        if self._local and request.key is not None:
            where["extra_headers"] = {OFFLINE_KEY_HEADER: OfflineKey.model_dump_json(request.key)}
        return where


def load_litellm() -> Any:  # noqa: ANN401  # an untyped module
    """The litellm module, imported at first use: it takes seconds, and fetches lists of its own unless told not to."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    try:
        import litellm
    except ImportError as error:
        raise SettingsError(
            "litellm is not installed", remedy="install hazardmill[llm], or use the offline backend"
        ) from error
    # It prints advice to the terminal at every error otherwise.
    litellm.suppress_debug_info = True
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    # It sends a request again where the connection breaks before an answer: an attempt that no ledger would see.
    AsyncHTTPHandler.single_connection_post_request = _not_again
    return litellm


async def _not_again(*_: object, **__: object) -> NoReturn:
    """In place of litellm's second try, which is made while the error of the first is handled: raises that error."""
    error = sys.exc_info()[1]
    assert error is not None, "litellm tries again outside of its handler"
    raise error


def _provider(request: Request) -> str:
    return request.model.partition("/")[0]


def _messages(request: Request) -> list[dict[str, Any]]:
    """The messages as litellm takes them; what is the same for every record marked, where the provider wants that.

    The mark changes the price and never the answer, so it is no part of the identity.
    """
    messages: list[dict[str, Any]] = [message.model_dump() for message in request.messages]
    if _provider(request) in _CACHE_WHEN_TOLD and messages and messages[0]["role"] == "system":
        first = messages[0]
        first["content"] = [{"type": "text", "text": first["content"], "cache_control": {"type": "ephemeral"}}]
    return messages


def _parameters(request: Request) -> dict[str, Any]:
    """The parameters as the provider takes them: any JSON object where it knows no schemas, for we check the shape."""
    parameters: dict[str, Any] = dict(request.parameters)
    wanted = parameters.get("response_format")
    if _provider(request) in _NO_SCHEMA and isinstance(wanted, dict) and wanted.get("type") == "json_schema":
        parameters["response_format"] = {"type": "json_object"}
    return parameters


def _host(api_base: str) -> str:
    try:
        parts = urlsplit(api_base)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise SettingsError(
            f"{scrub(api_base)!r} is no address of an API", remedy="give it with scheme, host and path, up to /v1"
        )
    return host


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _completion(response: Any, request: Request) -> Completion:  # noqa: ANN401  # an untyped response
    answered = encodable(getattr(response, "model", None) or request.model)
    usage = _usage(getattr(response, "usage", None), zeros_left_out=_provider(request) in _LEAVES_ZEROS_OUT)
    choices = getattr(response, "choices", None)
    if not choices:
        # It was paid for all the same, so it is an answer, if an empty one.
        return Completion(text="", model_answered=answered, finish_reason="no_choices", usage=usage)
    message, finish = choices[0].message, choices[0].finish_reason
    refusal = (getattr(message, "provider_specific_fields", None) or {}).get("refusal")
    text = message.content or ""
    if refusal and not text:
        text, finish = refusal, "refusal"
    return Completion(text=encodable(text), model_answered=answered, finish_reason=finish, usage=usage)


def _usage(usage: Any, *, zeros_left_out: bool = False) -> Usage:  # noqa: ANN401  # an untyped response
    prompt = _count(getattr(usage, "prompt_tokens", None))
    if not prompt:
        # litellm fills in zeros where the provider sent no usage; no prompt has no tokens.
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    dialects = (
        getattr(details, "cached_tokens", None),
        getattr(usage, "prompt_cache_hit_tokens", None),
        getattr(usage, "cache_read_input_tokens", None),
    )
    cached = next((count for count in map(_count, dialects) if count is not None), 0 if zeros_left_out else None)
    written = _count(getattr(usage, "cache_creation_input_tokens", None))
    return Usage(
        prompt_tokens=prompt,
        # More cached than there was is a count of something else.
        cached_tokens=cached if cached is None or cached <= prompt else None,
        completion_tokens=_count(getattr(usage, "completion_tokens", None)),
        written_tokens=written if written is None or written <= prompt else None,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _translate(error: Exception, request: Request, api_key: str | None) -> ProviderError:
    """What litellm raised, as one of ours: by the status that came, then by what lies behind it."""
    status = getattr(error, "status_code", None)
    kind = type(error).__name__
    # litellm writes the whole traceback into some of its messages.
    said = scrub(str(error), api_key).partition("\nTraceback ")[0].strip()[:_LONGEST_MESSAGE]
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
        return ConnectionFailed(message, retry_after=retry_after, remedy="raise the timeout of one attempt")
    if kind in _NOT_SENT or (status == 400 and _NO_PROVIDER.search(said)):
        return RequestRefused(message, remedy="check model name and parameters")
    if status == 402 or (status == 400 and _CREDIT_IS_GONE.search(said)):
        return RequestRefused(message, remedy=_REMEDIES[402])
    if status in _ABOUT_THE_MODEL or (status == 400 and _MODEL_IS_UNKNOWN.search(said)):
        return ModelRefused(message, remedy=_REMEDIES[404 if status == 400 else int(status or 0)])
    if kind == "ContextWindowExceededError" or status == 413 or (status == 400 and _TOO_LONG.search(said)):
        return PromptRefused(message, remedy="the prompt is too long for this model")
    if isinstance(status, int) and 400 <= status < 500:
        return PromptRefused(message, remedy="check parameters and prompt")
    if (broken := _broken_connection(error)) is not None:
        reason = scrub(broken, api_key)[:_LONGEST_MESSAGE]
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
