"""Choices that are the same on every machine: each is a hash of what it is for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")


class Draws:
    """Choices keyed on ``parts``; each also on its own purpose, so that adding one moves no other."""

    def __init__(self, *parts: str | int | None) -> None:
        self._parts = parts

    def under(self, *parts: str | int | None) -> Draws:
        """Choices of a part of the whole."""
        return Draws(*self._parts, *parts)

    def number(self, purpose: str) -> int:
        """A whole number below 2**64."""
        text = json.dumps([*self._parts, purpose])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def chance(self, purpose: str, share: float) -> bool:
        """True for this share of keys."""
        return self.number(purpose) < share * 2**64

    def pick(self, purpose: str, options: Sequence[Choice]) -> Choice:
        """One of the options, all alike."""
        return options[self.number(purpose) % len(options)]

    def draw_weighted(self, purpose: str, options: Sequence[tuple[Choice, int]]) -> Choice:
        """One of the options, in proportion to its weight."""
        place = self.number(purpose) % sum(weight for _, weight in options)
        for option, weight in options:
            if place < weight:
                return option
            place -= weight
        raise ValueError("weights are positive")

    def some(self, purpose: str, options: Sequence[Choice], count: int) -> list[Choice]:
        """At most ``count`` different options, in an order of their own."""
        order = sorted(range(len(options)), key=lambda i: self.number(f"{purpose} {i}"))
        return [options[i] for i in order[:count]]
