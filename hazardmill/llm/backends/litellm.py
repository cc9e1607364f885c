"""The litellm backend: providers and local servers, one attempt per call, with errors translated to ours."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeVar

from hazardmill.errors import ConnectionFailed, ExtraMissing
from hazardmill.llm.backends.hosts import host_of, is_loopback
from hazardmill.llm.backends.litellm_errors import TAKES_LONGER, translate_call
from hazardmill.llm.backends.litellm_format import check_parameters, messages_for, parameters_for, read_completion
from hazardmill.llm.redact import ScrubbedLog, keep_secret, scrub, secrets_in_address
from hazardmill.llm.requests import AnswerKey, Completion, Request
from hazardmill.run_options import ATTEMPT_TIMEOUT_S, MAX_ANSWER_BYTES

if TYPE_CHECKING:
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

OFFLINE_KEY_HEADER: Final = "X-Hazardmill-Key"
"""Carries the answer key, as JSON, to a server on this machine; the offline author served over HTTP reads it."""

NO_KEY: Final = "none"
"""The key for servers that need none, because the client libraries do."""
_LOGS: Final = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai._base_client", "httpx")
"""Loggers of the libraries that send requests for us."""
_SCRUBBED: Final = ScrubbedLog()

T = TypeVar("T")


class LitellmBackend:
    """Asks providers and local servers by litellm's ``provider/model`` names.

    Args:
        api_base: Address of the API, for local servers and gateways; by default the provider's own.
        api_key: The key; by default litellm reads the provider's environment variable.
        timeout_s: Seconds per attempt, from the connection to the last byte of the answer.
        max_answer_bytes: Maximum size of an answer in bytes, unpacked.
        client: litellm's HTTP client to send with; by default litellm's own for the provider.

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
        client: AsyncHTTPHandler | None = None,
    ) -> None:
        self._api_base = api_base
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._max_answer_bytes = max_answer_bytes
        self._client = client
        keep_secret(api_key, *secrets_in_address(api_base or ""))
        self.host = None if api_base is None else host_of(api_base)
        self._local = self.host is not None and is_loopback(self.host)

    async def complete(self, request: Request) -> Completion:
        """Return the answer to one attempt. Known secrets are removed from it and from errors.

        Raises:
            RequestRefused: The request sets a parameter that it must not set, or the provider refuses it.
            ProviderError: A subclass says what failed; it is retryable if another attempt may help.
        """
        check_parameters(request)
        litellm = load_litellm()

        async def ask() -> Completion:
            return read_completion(await self._ask(litellm, request), request.model)

        return await attempt(ask, request.model, timeout_s=self._timeout_s, most_bytes=self._max_answer_bytes)

    async def _ask(self, litellm: Any, request: Request) -> Any:  # noqa: ANN401  # an untyped module
        return await litellm.acompletion(
            model=request.model,
            messages=messages_for(request),
            # litellm's own retries differ by provider, and would pay for attempts that no ledger sees.
            max_retries=0,
            timeout=self._timeout_s,
            client=self._client,
            **self._where(litellm, request),
            **parameters_for(request),
        )

    async def close(self) -> None:
        """Close litellm's connections, including those of other backends in this process."""
        await close_connections()

    def _where(self, litellm: Any, request: Request) -> dict[str, Any]:  # noqa: ANN401  # an untyped module
        where: dict[str, Any] = {}
        if self._api_base is not None:
            where["api_base"] = self._api_base
        if self._api_key is not None:
            where["api_key"] = self._api_key
        elif self._local and not litellm.validate_environment(request.model)["keys_in_environment"]:
            # Local servers need no key, but the client libraries do.
            where["api_key"] = NO_KEY
        if self._local and request.key is not None:
            where["extra_headers"] = {OFFLINE_KEY_HEADER: AnswerKey.model_dump_json(request.key)}
        return where


async def attempt(
    ask: Callable[[], Awaitable[T]],
    whose: str,
    *,
    timeout_s: float,
    most_bytes: int,
    deadline: asyncio.Timeout | None = None,
) -> T:
    """Make one call of litellm under the limits on time and size, and translate its errors.

    Args:
        ask: Makes the call and reads its answer.
        whose: What messages of errors begin with, such as the model.
        timeout_s: Seconds from the connection to the last byte of the answer.
        most_bytes: Maximum size of the answer in bytes, unpacked.
        deadline: The timeout to use, if ``ask`` moves it; by default one of ``timeout_s`` seconds.

    Returns:
        What ``ask`` returns.

    Raises:
        ProviderError: The call failed. Secrets are removed, and no original error is attached.
    """
    from hazardmill.llm.backends.answer_limits import AnswerLimits, limit_answers

    limits = AnswerLimits(most_bytes)
    deadline = deadline or asyncio.timeout(timeout_s)
    try:
        # litellm's own timeout restarts with every byte.
        async with deadline:
            with limit_answers(limits), _unobserved():
                answer = await ask()
        if limits.broken is None:
            return answer
    except Exception as error:
        # litellm raises many classes of its own, and a JSON body that is not a completion surfaces as whatever
        # breaks first.
        failure = None if deadline.expired() else translate_call(error, whose, limits.status)
    finally:
        await limits.close_clients()
    # Outside of the handler, because the original error may hold the key and would be attached as context.
    if (broken := limits.broken) is not None:
        failure = type(broken)(scrub(f"{whose}: {broken.message}"), remedy=broken.remedy)
    if failure is None:
        failure = ConnectionFailed(f"{whose}: no complete answer within {timeout_s:g} s", remedy=TAKES_LONGER)
    raise failure


async def close_connections() -> None:
    """Close the connections that litellm keeps, whoever opened them in this process."""
    load_litellm()
    from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

    await close_litellm_async_clients()


def load_litellm() -> Any:  # noqa: ANN401  # an untyped module
    """Import litellm at first use, with its network look-ups and own retries turned off.

    The import takes seconds. Unless told otherwise, litellm fetches price lists at import.

    Returns:
        The module.

    Raises:
        ExtraMissing: litellm is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    try:
        import litellm
    except ImportError as error:
        raise ExtraMissing("litellm is not installed", extra="llm") from error
    for name in _LOGS:
        logging.getLogger(name).addFilter(_SCRUBBED)
    # Otherwise it prints advice to the terminal at every error.
    litellm.suppress_debug_info = True
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    # Otherwise it resends a request if the connection breaks before an answer: an attempt missing from the ledger.
    AsyncHTTPHandler.single_connection_post_request = _not_again
    from litellm.litellm_core_utils.litellm_logging import Logging

    # Otherwise it prices each answer twice, which takes a third of its time; prices are ours (hazardmill.llm.prices).
    Logging.response_cost_calculator = _no_cost
    from hazardmill.llm.backends.answer_limits import limit_litellm

    limit_litellm()
    return litellm


@contextmanager
def _unobserved() -> Iterator[None]:
    """Keep litellm from preparing prompts and answers for observers, of which there are none: it takes time."""
    from litellm._internal_context import is_internal_call

    token = is_internal_call.set(True)
    try:
        yield
    finally:
        is_internal_call.reset(token)


def _no_cost(*_: object, **__: object) -> None:
    """Replace litellm's own calculation of what an answer cost."""


async def _not_again(*_: object, **__: object) -> NoReturn:
    """Replace litellm's second try by raising the error of the first, which is being handled when this is called."""
    error = sys.exc_info()[1]
    assert error is not None, "litellm tries again outside of its handler"
    raise error
