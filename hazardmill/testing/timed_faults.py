"""Faults as written in scripts: a kind and, for some kinds, seconds (``500``, ``slow:2.5``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class TimedFault:
    """One fault of a server. Subclasses define the kinds.

    Args:
        kind: What goes wrong.
        seconds: Duration, for kinds that take one; null for the kind's default.

    Raises:
        ValueError: There is no such kind, or it does not take these seconds.
    """

    kind: StrEnum
    seconds: float | None = None

    _kinds: ClassVar[type[StrEnum]]
    _default_seconds: ClassVar[Mapping[str, float | None]]
    """Kinds that take seconds, and their defaults."""

    def __post_init__(self) -> None:
        kind = self._kinds(self.kind)
        object.__setattr__(self, "kind", kind)
        if self.seconds is None:
            object.__setattr__(self, "seconds", self._default_seconds.get(kind))
        elif kind not in self._default_seconds:
            timed = ", ".join(self._default_seconds)
            raise ValueError(f"the fault {kind} does not take a number of seconds; only these do: {timed}")
        elif not 0 <= self.seconds < float("inf"):
            raise ValueError(f"{kind}: seconds must be 0 or more, got {self.seconds:g}")

    def __str__(self) -> str:
        return self.kind.value if self.seconds is None else f"{self.kind}:{self.seconds:g}"

    @classmethod
    def of_word(cls, word: str, *, also: Iterable[str] = ()) -> Self:
        """Return the fault that a word names.

        Args:
            word: A kind, optionally followed by a colon and seconds.
            also: Other accepted words, for the message.

        Raises:
            ValueError: There is no such kind, or it does not take these seconds.
        """
        kind, colon, seconds = word.partition(":")
        if kind not in list(cls._kinds):
            raise ValueError(f"no such fault: {kind!r}; name one of {', '.join([*also, *cls._kinds])}")
        try:
            return cls(cls._kinds(kind), float(seconds) if colon else None)
        except ValueError as error:
            raise ValueError(f"{word}: {error}") from error
