"""Choices that are the same on every machine: each is a hash of its purpose."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")


class Draws:
    """Choices keyed by ``parts`` and by their own purpose, so that adding a choice changes no other.

    Args:
        parts: What the choices depend on.
    """

    def __init__(self, *parts: str | int | None) -> None:
        self._parts = parts

    def under(self, *parts: str | int | None) -> Draws:
        """Return the choices for a part of the whole."""
        return Draws(*self._parts, *parts)

    def number(self, purpose: str) -> int:
        """Return a whole number below 2**64."""
        text = json.dumps([*self._parts, purpose])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def chance(self, purpose: str, share: float) -> bool:
        """Return true for this share of keys."""
        return self.number(purpose) < share * 2**64

    def pick(self, purpose: str, options: Sequence[Choice]) -> Choice:
        """Return one of the options, all equally likely."""
        return options[self.number(purpose) % len(options)]

    def draw_weighted(self, purpose: str, options: Sequence[tuple[Choice, int]]) -> Choice:
        """Return one of the options, with probability in proportion to its weight."""
        place = self.number(purpose) % sum(weight for _, weight in options)
        for option, weight in options:
            if place < weight:
                return option
            place -= weight
        raise ValueError("every weight must be positive")

    def some(self, purpose: str, options: Sequence[Choice], count: int) -> list[Choice]:
        """Return up to ``count`` different options, in random order."""
        order = sorted(range(len(options)), key=lambda i: self.number(f"{purpose} {i}"))
        return [options[i] for i in order[:count]]
