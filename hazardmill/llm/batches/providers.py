"""Which providers have batches, and what opens them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Final

from hazardmill.errors import ExtraMissing, SettingsError
from hazardmill.llm.backends.litellm_format import provider_of
from hazardmill.llm.batches.litellm_batches import LITELLM_LIMITS, LitellmBatches
from hazardmill.llm.batches.provider import BatchProvider

_OWN: Final = {
    "anthropic": ("hazardmill.llm.batches.anthropic_batches", "AnthropicBatches"),
    "gemini": ("hazardmill.llm.batches.gemini_batches", "GeminiBatches"),
}
"""Module and class for the providers whose batches litellm does not make."""

BATCH_PROVIDERS: Final = tuple(sorted({*LITELLM_LIMITS, *_OWN}))
"""The providers that have batches."""


def open_batches(
    model: str, *, api_base: str | None, api_key: str | None = None, timeout_s: float, max_answer_bytes: int
) -> BatchProvider:
    """Return what makes batches for a model. Nothing is sent yet.

    Args:
        model: The model, ``provider/model``.
        api_base: Address of the API; null for the provider's own.
        api_key: The key; null for the one in the provider's environment variable.
        timeout_s: Seconds per call, from the connection to the last byte.
        max_answer_bytes: Maximum size of one answer in bytes.

    Returns:
        The provider of batches, to be closed when it is no longer used.

    Raises:
        SettingsError: The provider has no batches, or cannot be asked with these settings.
        ExtraMissing: Its batches need a package that is not installed.
    """
    provider = provider_of(model)
    settings = {"api_base": api_base, "api_key": api_key, "timeout_s": timeout_s, "max_answer_bytes": max_answer_bytes}
    if provider in _OWN:
        module, name = _OWN[provider]
        batches: BatchProvider = getattr(import_module(module), name)(**settings)
        return batches
    if provider not in LITELLM_LIMITS or provider == model:
        raise SettingsError(
            f"there are no batches for the model {model!r}: only these providers have them: "
            + ", ".join(f"{each}/" for each in BATCH_PROVIDERS),
            remedy="leave out --batch, or choose a model of one of these providers",
        )
    if provider == "vertex_ai" and (find_spec("google") is None or find_spec("google.auth") is None):
        raise ExtraMissing("batches of vertex_ai need the package google-auth", remedy="pip install google-auth")
    return LitellmBatches(
        model, api_base=api_base, api_key=api_key, timeout_s=timeout_s, max_answer_bytes=max_answer_bytes
    )
