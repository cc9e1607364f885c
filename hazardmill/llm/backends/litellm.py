"""The litellm backend: providers and local servers, one attempt per call, with errors translated to ours."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import sys
from typing import Any, ClassVar, Final, NoReturn
from urllib.parse import urlsplit

from hazardmill.errors import (
    ConnectionFailed,
    RequestRefused,
    SettingsError,
)
from hazardmill.llm.backends.litellm_errors import TAKES_LONGER, translate
from hazardmill.llm.redact import ScrubbedLog, keep_secret, scrub, scrub_answer, secrets_in_address
from hazardmill.llm.requests import AnswerKey, Completion, Request, Usage
from hazardmill.run_options import ATTEMPT_TIMEOUT_S, MAX_ANSWER_BYTES

OFFLINE_KEY_HEADER: Final = "X-Hazardmill-Key"
"""Carries the answer key, as JSON, to a server on this machine; the offline author served over HTTP reads it."""

_OURS: Final = frozenset(
    {"model", "messages", "api_base", "base_url", "api_key", "max_retries", "num_retries", "timeout", "stream", "n"}
)
"""Parameters that a request must not set: they would change who is asked, retry or stream unnoticed, or pay for answers
that nobody reads."""

_CACHE_WHEN_TOLD: Final = frozenset({"anthropic"})
"""Providers that cache the beginning of a prompt only if the request marks its end."""

_NO_SCHEMA: Final = frozenset({"deepseek"})
"""Providers that can promise JSON, but reject a request that gives a schema."""

_LEAVES_ZEROS_OUT: Final = frozenset({"gemini", "vertex_ai"})
"""Providers that omit the count of cached tokens if nothing was cached: Google's APIs write protocol buffers as JSON,
which omits zeros. Elsewhere a missing count is unknown."""

_NO_KEY: Final = "none"
_LOGS: Final = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai._base_client", "httpx")
"""Loggers of the libraries that send requests for us."""
_SCRUBBED: Final = ScrubbedLog()
_LONGEST_NAME: Final = 200
"""Maximum length in characters of a name given by a provider: of the model, or of a finish reason."""


class LitellmBackend:
    """Asks providers and local servers by litellm's ``provider/model`` names.

    Args:
        api_base: Address of the API, for local servers and gateways; by default the provider's own.
        api_key: The key; by default litellm reads the provider's environment variable.
        timeout_s: Seconds per attempt, from the connection to the last byte of the answer.
        max_answer_bytes: Maximum size of an answer in bytes, unpacked.

    Raises:
        SettingsError: ``api_base`` is not an address.
    """

    name: ClassVar[str] = "litellm"
    metered: ClassVar[bool] = True
    """A sent request may cost money even if no answer comes back."""

    def __init__(
        self,
        api_base: str | None = None,
        api_key: str | None = None,
        *,
        timeout_s: float = ATTEMPT_TIMEOUT_S,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self._api_base = api_base
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._max_answer_bytes = max_answer_bytes
        keep_secret(api_key, *secrets_in_address(api_base or ""))
        self.host = None if api_base is None else _host(api_base)
        self._local = self.host is not None and is_loopback(self.host)

    async def complete(self, request: Request) -> Completion:
        """Return the answer to one attempt. Known secrets are removed from it and from errors.

        Raises:
            RequestRefused: The request sets a parameter that it must not set, or the provider refuses it.
            ProviderError: A subclass says what failed; it is retryable if another attempt may help.
        """
        if theirs := sorted(_OURS & request.parameters.keys()):
            raise RequestRefused(
                f"a request must not set {', '.join(theirs)}", remedy="remove it from the prompt's front matter"
            )
        litellm = load_litellm()
        from hazardmill.llm.backends.answer_limits import AnswerLimits, limit_answers

        limits = AnswerLimits(self._max_answer_bytes)
        deadline = asyncio.timeout(self._timeout_s)
        try:
            # litellm's own timeout restarts with every byte.
            async with deadline:
                with limit_answers(limits):
                    response = await self._ask(litellm, request)
            if limits.broken is None:
                return _completion(response, request)
        except Exception as error:
            # litellm raises many classes of its own, and a JSON body that is not a completion surfaces as whatever
            # breaks first.
            failure = None if deadline.expired() else translate(error, request, limits.status)
        # Outside of the handler, because the original error may hold the key and would be attached as context.
        if (broken := limits.broken) is not None:
            message = scrub(f"{request.model}: {broken.message}")
            failure = type(broken)(message, remedy=broken.remedy)
        if failure is None:
            failure = ConnectionFailed(
                f"{request.model}: no complete answer within {self._timeout_s:g} s", remedy=TAKES_LONGER
            )
        raise failure

    async def _ask(self, litellm: Any, request: Request) -> Any:  # noqa: ANN401  # an untyped module
        return await litellm.acompletion(
            model=request.model,
            messages=_messages(request),
            # litellm's own retries differ by provider, and would pay for attempts that no ledger sees.
            max_retries=0,
            timeout=self._timeout_s,
            **self._where(litellm, request),
            **_parameters(request),
        )

    async def close(self) -> None:
        """Close litellm's connections, including those of other backends in this process."""
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
            # Local servers need no key, but the client libraries do.
            where["api_key"] = _NO_KEY
        if self._local and request.key is not None:
            where["extra_headers"] = {OFFLINE_KEY_HEADER: AnswerKey.model_dump_json(request.key)}
        return where


def load_litellm() -> Any:  # noqa: ANN401  # an untyped module
    """Import litellm at first use, with its network look-ups and own retries turned off.

    The import takes seconds. Unless told otherwise, litellm fetches price lists at import.

    Returns:
        The module.

    Raises:
        SettingsError: litellm is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    try:
        import litellm
    except ImportError as error:
        raise SettingsError(
            "litellm is not installed", remedy="install hazardmill[llm], or use the offline backend"
        ) from error
    for name in _LOGS:
        logging.getLogger(name).addFilter(_SCRUBBED)
    # Otherwise it prints advice to the terminal at every error.
    litellm.suppress_debug_info = True
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    # Otherwise it resends a request if the connection breaks before an answer: an attempt missing from the ledger.
    AsyncHTTPHandler.single_connection_post_request = _not_again
    from hazardmill.llm.backends.answer_limits import limit_litellm

    limit_litellm()
    return litellm


async def _not_again(*_: object, **__: object) -> NoReturn:
    """Replace litellm's second try by raising the error of the first, which is being handled when this is called."""
    error = sys.exc_info()[1]
    assert error is not None, "litellm tries again outside of its handler"
    raise error


def _provider(request: Request) -> str:
    return request.model.partition("/")[0]


def _messages(request: Request) -> list[dict[str, Any]]:
    """Return the messages for litellm, with a cache mark on the system message where the provider needs one.

    The mark changes the price and never the answer, so it is not part of the identity.
    """
    messages: list[dict[str, Any]] = [message.model_dump() for message in request.messages]
    if _provider(request) in _CACHE_WHEN_TOLD and messages and messages[0]["role"] == "system":
        first = messages[0]
        first["content"] = [{"type": "text", "text": first["content"], "cache_control": {"type": "ephemeral"}}]
    return messages


def _parameters(request: Request) -> dict[str, Any]:
    """Return the parameters for the provider; without the schema where it accepts none, because we check the shape."""
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
            f"{scrub(api_base, *secrets_in_address(api_base))!r} is not the address of an API",
            remedy="give it with scheme, host and path, up to /v1",
        )
    return host


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: ``localhost`` or a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _completion(response: Any, request: Request) -> Completion:  # noqa: ANN401  # untyped
    answered = _name(getattr(response, "model", None) or request.model)
    usage = _usage(getattr(response, "usage", None), zeros_left_out=_provider(request) in _LEAVES_ZEROS_OUT)
    choices = getattr(response, "choices", None)
    if not choices:
        # It was paid for, so it is an answer, if an empty one.
        return Completion(text="", model_answered=answered, finish_reason="no_choices", usage=usage)
    message, finish = choices[0].message, choices[0].finish_reason
    refusal = (getattr(message, "provider_specific_fields", None) or {}).get("refusal")
    text = message.content or ""
    if refusal and not text:
        text, finish = refusal, "refusal"
    return Completion(
        text=scrub_answer(text),
        model_answered=answered,
        finish_reason=None if finish is None else _name(finish),
        usage=usage,
    )


def _name(said: str) -> str:
    return scrub(said)[:_LONGEST_NAME]


def _usage(usage: Any, *, zeros_left_out: bool = False) -> Usage:  # noqa: ANN401  # an untyped response
    prompt = _count(getattr(usage, "prompt_tokens", None))
    if not prompt:
        # litellm fills in zeros if the provider sent no usage; every prompt has at least one token.
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
        # More cached tokens than prompt tokens: the count means something else.
        cached_tokens=cached if cached is None or cached <= prompt else None,
        completion_tokens=_count(getattr(usage, "completion_tokens", None)),
        written_tokens=written if written is None or written <= prompt else None,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
