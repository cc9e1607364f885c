"""Providers and local servers, through litellm: one attempt a call, its errors made ours."""

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
_LOGS: Final = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai._base_client", "httpx")
"""Loggers of those who ask for us."""
_SCRUBBED: Final = ScrubbedLog()
_LONGEST_NAME: Final = 200
"""Characters of a name that a provider gives: of the model, of the reason why an answer ends."""


class LitellmBackend:
    """Asks ``provider/model`` names as litellm knows them.

    Args:
        api_base: Address of the API, for local servers and gateways; the provider's own by default.
        api_key: Key to use; by default litellm reads the provider's environment variable.
        timeout_s: Seconds that one attempt may take, from the connection to the last byte of the answer.
        max_answer_bytes: Most bytes of an answer, unpacked.

    Raises:
        SettingsError: ``api_base`` is no address.
    """

    name: ClassVar[str] = "litellm"
    metered: ClassVar[bool] = True
    """A request that was sent may cost money even if no answer comes back."""

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
        """One attempt. No text that comes of it, answer or error, has a known secret in it.

        Raises:
            ProviderError: One of its kinds; retryable where another attempt may help.
        """
        if theirs := sorted(_OURS & request.parameters.keys()):
            raise RequestRefused(
                f"a request must not set {', '.join(theirs)}", remedy="take it out of the prompt's front matter"
            )
        litellm = load_litellm()
        from hazardmill.llm.backends.answer_limits import AnswerLimits, limit_answers

        limits = AnswerLimits(self._max_answer_bytes)
        deadline = asyncio.timeout(self._timeout_s)
        try:
            # litellm's own limit starts anew with every byte.
            async with deadline:
                with limit_answers(limits):
                    response = await self._ask(litellm, request)
            if limits.broken is None:
                return _completion(response, request)
        except Exception as error:
            # litellm raises a class of its own for each provider's each mood; a body of JSON that is no completion
            # comes out as whatever breaks first.
            failure = None if deadline.expired() else translate(error, request, limits.status)
        # Outside of the handler: the original may hold the key, and would travel along as context.
        if (broken := limits.broken) is not None:
            message = scrub(f"{request.model}: {broken.message}")
            failure = type(broken)(message, remedy=broken.remedy)
        if failure is None:
            failure = ConnectionFailed(
                f"{request.model}: no whole answer within {self._timeout_s:g} s", remedy=TAKES_LONGER
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
            where["extra_headers"] = {OFFLINE_KEY_HEADER: AnswerKey.model_dump_json(request.key)}
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
    for name in _LOGS:
        logging.getLogger(name).addFilter(_SCRUBBED)
    # It prints advice to the terminal at every error otherwise.
    litellm.suppress_debug_info = True
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    # It sends a request again where the connection breaks before an answer: an attempt that no ledger would see.
    AsyncHTTPHandler.single_connection_post_request = _not_again
    from hazardmill.llm.backends.answer_limits import limit_litellm

    limit_litellm()
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
            f"{scrub(api_base, *secrets_in_address(api_base))!r} is no address of an API",
            remedy="give it with scheme, host and path, up to /v1",
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


def _completion(response: Any, request: Request) -> Completion:  # noqa: ANN401  # untyped
    answered = _name(getattr(response, "model", None) or request.model)
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
