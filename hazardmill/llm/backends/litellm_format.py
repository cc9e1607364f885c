"""What litellm is given for a request, and what its response says: the same for single requests and for batches."""

from __future__ import annotations

from typing import Any, Final

from hazardmill.errors import RequestRefused
from hazardmill.llm.redact import scrub, scrub_answer
from hazardmill.llm.requests import Completion, Request, Usage

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

_LONGEST_NAME: Final = 200
"""Maximum length in characters of a name given by a provider: of the model, or of a finish reason."""


def provider_of(model: str) -> str:
    """Return the provider in one of litellm's model names, ``provider/model``."""
    return model.partition("/")[0]


def check_parameters(request: Request) -> None:
    """Refuse a request that sets a parameter which is ours to set.

    Raises:
        RequestRefused: It sets one.
    """
    if theirs := sorted(_OURS & request.parameters.keys()):
        raise RequestRefused(
            f"a request must not set {', '.join(theirs)}", remedy="remove it from the prompt's front matter"
        )


def messages_for(request: Request) -> list[dict[str, Any]]:
    """Return the messages for litellm, with a cache mark on the system message where the provider needs one.

    The mark changes the price and never the answer, so it is not part of the identity.
    """
    messages: list[dict[str, Any]] = [message.model_dump() for message in request.messages]
    if provider_of(request.model) in _CACHE_WHEN_TOLD and messages and messages[0]["role"] == "system":
        first = messages[0]
        first["content"] = [{"type": "text", "text": first["content"], "cache_control": {"type": "ephemeral"}}]
    return messages


def parameters_for(request: Request) -> dict[str, Any]:
    """Return the parameters for the provider; without the schema where it accepts none, because we check the shape."""
    parameters: dict[str, Any] = dict(request.parameters)
    wanted = parameters.get("response_format")
    if provider_of(request.model) in _NO_SCHEMA and isinstance(wanted, dict) and wanted.get("type") == "json_schema":
        parameters["response_format"] = {"type": "json_object"}
    return parameters


def read_completion(response: Any, model: str) -> Completion:  # noqa: ANN401  # untyped
    """Return what litellm's response says, without known secrets.

    Args:
        response: A ``ModelResponse``, or anything with its attributes.
        model: The model asked, ``provider/model``.
    """
    answered = _name(getattr(response, "model", None) or model)
    usage = _usage(getattr(response, "usage", None), zeros_left_out=provider_of(model) in _LEAVES_ZEROS_OUT)
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
