"""Prices of tokens: reads ``prices.yaml`` and computes costs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from hazardmill.errors import SettingsError
from hazardmill.llm.requests import Request, Usage
from hazardmill.records import FrozenModel, Text

PRICES_FILE: Final = Path(__file__).with_name("prices.yaml")

_MILLION: Final = 1_000_000
_SENT_AS_PROMPT: Final = ("response_format", "tools", "functions")
"""Parameters that providers insert into the prompt and count as prompt tokens."""

_PRICELESS: Final = (
    "give its price (--price in=0.5,out=2 in USD per million tokens, in=0,out=0 for a model that costs nothing), "
    "choose a model that this list has, or run without a budget"
)
_PRICELESS_IN_BATCH: Final = (
    "send single requests (without --batch) if the provider has no batches; otherwise add its price there, as batch, "
    "choose a model with such a price, or run without a budget"
)

_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class TokenPrices(FrozenModel):
    """Prices of one model's tokens in US dollars per million.

    Attributes:
        input: Per prompt token that was not cached.
        cached_input: Per prompt token that was read from the provider's cache; equals ``input`` if that is no cheaper.
        output: Per completion token.
        cache_write: Per prompt token that the provider writes to its cache; null if it costs no more than ``input``.
        checked: Day on which the prices were looked up.
        origin: Where the prices were found.
    """

    input: _Usd
    cached_input: _Usd
    output: _Usd
    cache_write: _Usd | None = None
    """Price of prompt tokens that the provider writes to its cache, if it charges more for them."""
    checked: datetime.date
    origin: Text

    @property
    def dearest_input(self) -> float:
        """The highest price that a prompt token can have."""
        return max(self.input, self.cached_input, self.cache_write or 0.0)

    @property
    def has_cache_discount(self) -> bool:
        """Whether a prompt token from the provider's cache is cheaper than another."""
        return self.cached_input < self.input


class BatchPrice(TokenPrices):
    """Prices of one model's tokens inside a batch, in US dollars per million.

    ``cached_input`` equals ``input`` if the provider grants its cache discount to single requests only: then a batch of
    requests that mostly repeat each other may cost more than the same requests sent singly.
    """


class Price(TokenPrices):
    """The prices of one model in US dollars per million tokens, for single requests and for batches.

    Attributes:
        model: Name of the model, ``provider/model``.
        batch: Prices inside a batch; null if they are unknown. They are never derived from the other prices.
        has_no_batches: True if the provider is known to take no batches of this model; false if it takes them, or if
            that is unknown.
    """

    model: Text
    batch: BatchPrice | None = None
    has_no_batches: bool = False

    @model_validator(mode="after")
    def _has_one_or_the_other(self) -> Price:
        if self.batch is not None and self.has_no_batches:
            raise ValueError(f"{self.model} has a price inside a batch and yet no batches")
        return self


class Prices:
    """Prices by model name (``provider/model``)."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = dict(prices)

    @classmethod
    def load(cls, path: Path = PRICES_FILE) -> Prices:
        """Return the prices in a file, by default the one shipped with hazardmill.

        Raises:
            SettingsError: The file cannot be read, has the wrong shape, or lists a model twice.
        """
        import yaml

        try:
            listed = _read_list(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            detail = _first(error) if isinstance(error, ValidationError) else str(error)
            raise SettingsError(
                f"the price list cannot be used: {detail}",
                file=str(path),
                remedy="give each entry model, input, cached_input, output (USD per million tokens), checked, origin; "
                "give its batch, if it has one, the same without model",
            ) from error
        prices: dict[str, Price] = {}
        for price in listed:
            if price.model in prices:
                raise SettingsError(
                    f"the price list names {price.model} twice", file=str(path), remedy="keep one of the two entries"
                )
            prices[price.model] = price
        return cls(prices)

    def replace(self, prices: Iterable[Price]) -> Prices:
        """Return these prices with others in place of those of the same models."""
        return Prices({**self._prices, **{price.model: price for price in prices}})

    def __contains__(self, model: object) -> bool:
        return model in self._prices

    def __getitem__(self, model: str) -> Price:
        return self._prices[model]

    def find(self, model: str, *, batch: bool = False) -> TokenPrices | None:
        """Return the prices of a model's tokens; null if they are unknown.

        Args:
            model: Model that receives the requests.
            batch: The prices inside a batch, instead of those of single requests.
        """
        price = self._prices.get(model)
        return price.batch if batch and price is not None else price

    def usd(self, model: str, usage: Usage, *, batch: bool = False) -> float | None:
        """Return the cost of one attempt in US dollars.

        Args:
            model: Model that received the request.
            usage: Token counts as reported by the provider.
            batch: Whether the request was part of a batch.

        Returns:
            Dollars; null if the price is unknown, or if a token count that has a price is missing or cannot be true.
        """
        price = self.find(model, batch=batch)
        if price is None:
            return None
        # Both are part of the prompt's tokens. If they cost the same, their number does not matter.
        cached = 0 if price.cached_input == price.input else usage.cached_tokens
        written = 0 if price.cache_write in (None, price.input) else usage.written_tokens
        neither = None
        if usage.prompt_tokens is not None and cached is not None and written is not None:
            neither = usage.prompt_tokens - cached - written
            if neither < 0:
                # More tokens of one kind than there were in total: at least one of the counts means something else.
                return None
        parts = (
            _cost(neither, price.input),
            _cost(cached, price.cached_input),
            _cost(written, price.cache_write or 0.0),
            _cost(usage.completion_tokens, price.output),
        )
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def most_usd(self, model: str, usage: Usage, *, batch: bool = False) -> float | None:
        """Return the maximum cost of an attempt in US dollars, as if none of its prompt was cached.

        Args:
            model: Model that received the request.
            usage: Token counts as reported by the provider.
            batch: Whether the request was part of a batch.

        Returns:
            Dollars; null if the price is unknown, or if the tokens were not counted.
        """
        price = self.find(model, batch=batch)
        if price is None:
            return None
        parts = (_cost(usage.prompt_tokens, price.dearest_input), _cost(usage.completion_tokens, price.output))
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def upper_usd(self, request: Request, prompt_tokens: int | None = None, *, batch: bool = False) -> float | None:
        """Return the maximum cost of one attempt: one token per byte of prompt, none cached, all of ``max_tokens``.

        Args:
            request: With the model that receives it.
            prompt_tokens: A better estimate of the prompt than one token per byte.
            batch: Whether the request is part of a batch.

        Returns:
            Dollars; null if the price is unknown, or if the request does not limit the output.
        """
        price = self.find(request.model, batch=batch)
        if price is None:
            return None
        output = _cost(max_tokens(request), price.output)
        tokens = prompt_bytes(request) if prompt_tokens is None else prompt_tokens
        return None if output is None else output + tokens * price.dearest_input / _MILLION


def check_prices(models: Iterable[str], prices: Prices, *, batch: bool = False) -> None:
    """Refuse to keep a budget if a model's price is unknown. Called before anything is sent.

    Args:
        models: All models that may be asked.
        prices: The known prices.
        batch: Whether the requests are sent in batches, so that it is the price inside a batch that must be known.

    Raises:
        SettingsError: Names the models without such a price.
    """
    unknown = sorted({model for model in models if prices.find(model, batch=batch) is None})
    if unknown:
        raise SettingsError(
            f"the budget cannot be enforced: the price of {', '.join(unknown)}{' inside a batch' * batch} is unknown",
            file=str(PRICES_FILE),
            remedy=_PRICELESS_IN_BATCH if batch else _PRICELESS,
        )


def prompt_bytes(request: Request) -> int:
    """Return the UTF-8 length of all messages and of the parameters that are sent as part of the prompt.

    No byte-level tokenizer produces more tokens than that. The few tokens that a chat template adds around each message
    are not included; texts of more than a few words make up for them many times over, with about four bytes per token.
    """
    schemas = [request.parameters[name] for name in _SENT_AS_PROMPT if name in request.parameters]
    written = (json.dumps(schema, ensure_ascii=False) for schema in schemas)
    return sum(len(text.encode()) for text in (*(message.content for message in request.messages), *written))


def max_tokens(request: Request) -> int | None:
    """Return the request's limit on output tokens; null if it sets none.

    If both ``max_tokens`` and ``max_completion_tokens`` are set, the larger one is returned, because it is not known
    which one the provider applies.
    """
    limits = [request.parameters.get(name) for name in ("max_tokens", "max_completion_tokens")]
    # Some servers accept -1 for no limit.
    return max((n for n in limits if isinstance(n, int) and not isinstance(n, bool) and n > 0), default=None)


# A command loads the list for each part that needs it, and a process may run many commands.
@lru_cache(maxsize=2)
def _read_list(text: str) -> tuple[Price, ...]:
    import yaml

    # Strict, because YAML has its own types: `yes` is not a price of 1 USD, and 0 is not a day in 1970.
    return tuple(TypeAdapter(list[Price]).validate_python(yaml.safe_load(text), strict=True))


def _cost(tokens: int | None, usd_per_million: float) -> float | None:
    """Cost of a number of tokens. If the price is zero, so is the cost, even for an unknown number."""
    if usd_per_million == 0:
        return 0.0
    return None if tokens is None else tokens * usd_per_million / _MILLION


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"
