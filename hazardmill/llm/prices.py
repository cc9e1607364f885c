"""What tokens cost: ``prices.yaml``, and the arithmetic on it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError

from hazardmill.errors import SettingsError
from hazardmill.llm.requests import Request, Usage
from hazardmill.records import FrozenModel, Text

PRICES_FILE: Final = Path(__file__).with_name("prices.yaml")

_MILLION: Final = 1_000_000
_SENT_AS_PROMPT: Final = ("response_format", "tools", "functions")
"""Parameters that providers put into the prompt, and count as such."""

_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(FrozenModel):
    """The price of one model in USD per million tokens, when it was looked up, and where it comes from."""

    model: Text
    input: _Usd
    cached_input: _Usd
    output: _Usd
    cache_write: _Usd | None = None
    """Of prompt tokens that the provider writes to its cache, where it asks more for them than for other ones."""
    checked: datetime.date
    origin: Text

    @property
    def dearest_input(self) -> float:
        """Most that a token of the prompt can cost."""
        return max(self.input, self.cached_input, self.cache_write or 0.0)


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
            read = yaml.safe_load(path.read_text(encoding="utf-8"))
            # Strictly, for YAML knows numbers and dates: `yes` is no price of 1 USD, and 0 no day in 1970.
            listed = TypeAdapter(list[Price]).validate_python(read, strict=True)
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
        """Cost of one attempt; null if the price, or a token count that has a price, is unknown or cannot be true."""
        price = self._prices.get(model)
        if price is None:
            return None
        # Both are part of the prompt's tokens: as long as they cost the same, their number does not matter.
        cached = 0 if price.cached_input == price.input else usage.cached_tokens
        written = 0 if price.cache_write in (None, price.input) else usage.written_tokens
        neither = None
        if usage.prompt_tokens is not None and cached is not None and written is not None:
            neither = usage.prompt_tokens - cached - written
            if neither < 0:
                # More tokens of a kind than there were: at least one of the counts means something else.
                return None
        parts = (
            _cost(neither, price.input),
            _cost(cached, price.cached_input),
            _cost(written, price.cache_write or 0.0),
            _cost(usage.completion_tokens, price.output),
        )
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def most_usd(self, model: str, usage: Usage) -> float | None:
        """Most that an attempt can have cost whose tokens were counted, cached or not; null if they were not."""
        price = self._prices.get(model)
        if price is None:
            return None
        parts = (_cost(usage.prompt_tokens, price.dearest_input), _cost(usage.completion_tokens, price.output))
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def upper_usd(self, request: Request, prompt_tokens: int | None = None) -> float | None:
        """Most that one attempt at ``request`` can cost: a token a byte of prompt, none cached, all of ``max_tokens``.

        Null if the price is unknown, or if the request sets no limit on the output.

        Args:
            request: With the model that it is sent to.
            prompt_tokens: A better estimate of the prompt than a token a byte.
        """
        price = self._prices.get(request.model)
        if price is None:
            return None
        output = _cost(max_tokens(request), price.output)
        tokens = prompt_bytes(request) if prompt_tokens is None else prompt_tokens
        return None if output is None else output + tokens * price.dearest_input / _MILLION


def check_prices(models: Iterable[str], prices: Prices) -> None:
    """Refuse to keep a budget where the price of a model is unknown: called before anything is sent.

    Raises:
        SettingsError: Naming the models.
    """
    unknown = sorted({model for model in models if model not in prices})
    if unknown:
        raise SettingsError(
            f"no budget can be kept: the price of {', '.join(unknown)} is unknown",
            file=str(PRICES_FILE),
            remedy="add its price there (input, cached_input and output are 0 for a model that nobody is paid for), "
            "choose a model with a price, or run without a budget",
        )


def prompt_bytes(request: Request) -> int:
    """UTF-8 length of all messages, and of what is sent like one. No byte-level tokenizer makes more tokens than that.

    The few tokens that a chat template puts around each message are not in it; texts of more than a few words make up
    for them many times over, having some four bytes a token.
    """
    schemas = [request.parameters[name] for name in _SENT_AS_PROMPT if name in request.parameters]
    written = (json.dumps(schema, ensure_ascii=False) for schema in schemas)
    return sum(len(text.encode()) for text in (*(message.content for message in request.messages), *written))


def max_tokens(request: Request) -> int | None:
    """The request's limit on output tokens; null if it sets none. Of two the larger: which one holds is not known."""
    limits = [request.parameters.get(name) for name in ("max_tokens", "max_completion_tokens")]
    # Some servers take -1 for no limit.
    return max((n for n in limits if isinstance(n, int) and not isinstance(n, bool) and n > 0), default=None)


def _cost(tokens: int | None, usd_per_million: float) -> float | None:
    """Cost of so many tokens; what costs nothing costs nothing in any number."""
    if usd_per_million == 0:
        return 0.0
    return None if tokens is None else tokens * usd_per_million / _MILLION


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"
