"""The prices that a run charges: those that somebody gave, then the price list, then 0 on this machine."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, Final

from hazardmill.llm.access import ModelAccess
from hazardmill.llm.backends.hosts import host_of, is_loopback
from hazardmill.llm.prices import BatchPrice, Price, Prices
from hazardmill.run_options import ALL_MODELS, GivenPrice

PRICES_KEY: Final = "prices_used"
"""Key in the stored configuration of a run for the prices by which its costs are booked."""

GIVEN: Final = "given for this run"
"""Origin of a price that somebody gave."""

ON_THIS_MACHINE: Final = "none is charged at an address on this machine"
"""Origin of the price 0 of a model that is asked at a loopback address."""

_SHOWN: Final = frozenset({"input", "cached_input", "output", "cache_write", "checked", "origin"})

_NOTHING: Final = GivenPrice(input=0.0, output=0.0)


def charged_prices(access: ModelAccess, listed: Prices) -> Prices:
    """Return the prices by which a run books what its models cost.

    A price that was given holds first, then the price list. A model that neither knows costs nothing if it is asked at
    an address on this machine, and has an unknown price elsewhere. A model of the list keeps its price at such an
    address, because a proxy may pass requests on to a provider that charges.

    Args:
        access: How the run reaches its models.
        listed: The price list.
    """
    return listed.replace(_replaced(access, listed))


def prices_used(access: ModelAccess, listed: Prices) -> dict[str, dict[str, Any]]:
    """Return the price of each model that a run may ask, in USD per million tokens, with its origin.

    Args:
        access: How the run reaches its models.
        listed: The price list.

    Returns:
        ``input``, ``cached_input``, ``output`` and ``origin`` by model, of the price list also ``checked`` and, where
            it has one, ``cache_write``. A model whose price is unknown is left out, and so is everything where no
            provider is asked.
    """
    if not access.asks_provider:
        return {}
    replaced = {price.model: price for price in _replaced(access, listed)}
    # What was given was looked up by nobody, and the day of this call would be another at each resume.
    used = {model: price.model_dump(mode="json", include={*_SHOWN} - {"checked"}) for model, price in replaced.items()}
    for model in access.all_models:
        if model in listed and model not in replaced:
            used[model] = listed[model].model_dump(mode="json", include={*_SHOWN})
    return {
        model: {name: value for name, value in used[model].items() if value is not None}
        for model in access.all_models
        if model in used
    }


def describe_charged(access: ModelAccess, listed: Prices) -> list[str]:
    """Say which prices of a run are not those of the price list.

    Args:
        access: How the run reaches its models.
        listed: The price list.

    Returns:
        One sentence per model; none where no provider is asked.
    """
    if not access.asks_provider:
        return []
    return [
        f"{price.model} costs nothing: its address is on this machine, and no list has a price [otherwise: --price]"
        if price.origin == ON_THIS_MACHINE
        else f"{price.model} costs {price.input:g} USD per million tokens in and {price.output:g} out, as given"
        for price in _replaced(access, listed)
    ]


def _replaced(access: ModelAccess, listed: Prices) -> Iterator[Price]:
    """Yield the prices of the run's models that are not those of the list."""
    is_free = _is_on_this_machine(access)
    for model in access.all_models:
        given = access.prices.get(model, access.prices.get(ALL_MODELS))
        if given is not None:
            yield _price(model, given, GIVEN)
        elif is_free and model not in listed:
            yield _price(model, _NOTHING, ON_THIS_MACHINE)


def _is_on_this_machine(access: ModelAccess) -> bool:
    # Whoever answers the files of an exchange folder is not at that address.
    backend = access.replay_backend if access.backend == "replay" else access.backend
    if backend != "litellm" or access.api_base is None or access.exchange is not None:
        return False
    return is_loopback(host_of(access.api_base))


def _price(model: str, given: GivenPrice, origin: str) -> Price:
    cached = given.input if given.cached_input is None else given.cached_input
    parts = {"input": given.input, "cached_input": cached, "output": given.output}
    dated = {**parts, "checked": datetime.datetime.now(datetime.UTC).date(), "origin": origin}
    # What costs nothing costs nothing in a batch. Any other price of a batch is unknown, as in the list.
    batch = None if any(parts.values()) else BatchPrice.model_validate(dated)
    return Price.model_validate({**dated, "model": model, "batch": batch})
