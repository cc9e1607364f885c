"""What tokens cost: ``prices.yaml``, and the arithmetic on it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError

from hazardmill.errors import SettingsError
from hazardmill.llm.requests import Request, Usage
from hazardmill.records import Frozen, Text

PRICES_FILE: Final = Path(__file__).with_name("prices.yaml")

_MILLION: Final = 1_000_000
_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(Frozen):
    """The price of one model in USD per million tokens, when it was looked up, and where it comes from."""

    model: Text
    input: _Usd
    cached_input: _Usd
    output: _Usd
    checked: datetime.date
    origin: Text


class Prices:
    """Prices by the name under which a model is asked (``provider/model``)."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = dict(prices)

    @classmethod
    def load(cls, path: Path = PRICES_FILE) -> Prices:
        """Read a price file, by default the one that comes with hazardmill.

        Raises:
            SettingsError: If the file cannot be read, has another shape, or names a model twice.
        """
        import yaml

        try:
            listed = TypeAdapter(list[Price]).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, yaml.YAMLError) as error:
            detail = _first(error) if isinstance(error, ValidationError) else str(error)
            raise SettingsError(
                f"the price list cannot be used: {detail}",
                file=str(path),
                remedy="each entry needs model, input, cached_input, output (USD per million tokens), checked, origin",
            ) from error
        prices: dict[str, Price] = {}
        for price in listed:
            if price.model in prices:
                raise SettingsError(
                    f"the price list names {price.model} twice", file=str(path), remedy="keep one of the two entries"
                )
            prices[price.model] = price
        return cls(prices)

    def __contains__(self, model: object) -> bool:
        return model in self._prices

    def __getitem__(self, model: str) -> Price:
        return self._prices[model]

    def usd(self, model: str, usage: Usage) -> float | None:
        """Cost of one attempt; null if the price, or a token count that has a price, is unknown."""
        price = self._prices.get(model)
        if price is None:
            return None
        # Cached tokens are part of the prompt's: as long as they cost the same, their number does not matter.
        cached = 0 if price.cached_input == price.input else usage.cached_tokens
        parts = (
            _cost(None if usage.prompt_tokens is None or cached is None else usage.prompt_tokens - cached, price.input),
            _cost(cached, price.cached_input),
            _cost(usage.completion_tokens, price.output),
        )
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def upper(self, request: Request) -> float | None:
        """Most that one attempt at ``request`` can cost: a token a byte of prompt, none cached, all of ``max_tokens``.

        Null if the price is unknown, or if the request sets no ``max_tokens``.
        """
        price = self._prices.get(request.model)
        if price is None:
            return None
        output = _cost(max_tokens(request), price.output)
        return None if output is None else output + prompt_bytes(request) * price.input / _MILLION


def prompt_bytes(request: Request) -> int:
    """UTF-8 length of all messages. No byte-level tokenizer makes more tokens than that of them."""
    return sum(len(message.content.encode()) for message in request.messages)


def max_tokens(request: Request) -> int | None:
    """The request's limit on output tokens; null if it sets none."""
    for name in ("max_tokens", "max_completion_tokens"):
        limit = request.parameters.get(name)
        if isinstance(limit, int) and not isinstance(limit, bool):
            return limit
    return None


def _cost(tokens: int | None, usd_per_million: float) -> float | None:
    """Cost of so many tokens; what costs nothing costs nothing in any number."""
    if usd_per_million == 0:
        return 0.0
    return None if tokens is None else tokens * usd_per_million / _MILLION


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"
