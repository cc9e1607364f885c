"""The short notation in which patterns write robot acts: ``"holding_cup, !lid_on_cup -> cup_on_tray, !holding_cup"``.

Left of the arrow stands what the act needs, right of it what it does. ``!`` negates. An effect may end in
``if condition``; integers are written ``level += 1``, ``level -= 1``, ``level := 0`` and compared as in Python.
``?x`` is the parameter ``x`` of the act.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

Place = Literal["start", "end", "anywhere"]

_ATOM: Final = re.compile(r"!?([a-z][a-z0-9_]*)(\(.*\))?")
_CHANGE: Final = re.compile(r"(?P<target>[a-z][a-z0-9_]*)\s*(?P<operator>\+=|-=|:=)\s*(?P<value>.+)")
_OPERATIONS: Final = {"+=": "increases", "-=": "decreases", ":=": "assigns"}


@dataclass(frozen=True, slots=True)
class Step:
    """One act in short notation, and at which of the pattern's two places it is done."""

    act: str
    needs: tuple[str, ...] = ()
    does: tuple[str, ...] = ()
    at: Place = "anywhere"
    parameters: tuple[tuple[str, str], ...] = ()

    def cast(self, names: Mapping[str, str]) -> Step:
        """The same with the record's nouns in place of the roles."""
        return replace(
            self,
            act=self.act.format_map(names),
            needs=tuple(part.format_map(names) for part in self.needs),
            does=tuple(part.format_map(names) for part in self.does),
            parameters=tuple((name, type_.format_map(names)) for name, type_ in self.parameters),
        )

    def needing(self, *more: str) -> Step:
        """The same, needing more."""
        return replace(self, needs=tuple(dict.fromkeys((*self.needs, *more))))

    def doing(self, *more: str) -> Step:
        """The same, doing more."""
        return replace(self, does=tuple(dict.fromkeys((*self.does, *more))))


def step(act: str, what: str, at: Place = "anywhere", **parameters: str) -> Step:
    """A step from its notation; ``parameters`` as ``name="type"``."""
    needs, _, does = what.partition("->")
    return Step(act, parts(needs), parts(does), at, tuple(parameters.items()))


def parts(text: str) -> tuple[str, ...]:
    """The comma-separated parts of a notation, commas in brackets left alone."""
    return tuple(part.strip() for part in re.split(r",(?![^()]*\))", text) if part.strip())


def split_condition(effect: str) -> tuple[str, str | None]:
    """An effect and its condition."""
    what, _, condition = effect.partition(" if ")
    return what.strip(), condition.strip() or None


def change(effect: str) -> tuple[str, str, str] | None:
    """``(method, integer fluent, value)`` of an effect on an integer; null for one on a Boolean."""
    found = _CHANGE.fullmatch(effect)
    return (_OPERATIONS[found["operator"]], found["target"], found["value"]) if found else None


def fluent_of(literal: str) -> str | None:
    """The name of the fluent of a plain literal; null if it is a longer expression."""
    found = _ATOM.fullmatch(literal)
    return found[1] if found else None


def negated(literal: str) -> str:
    """The opposite literal."""
    return literal[1:] if literal.startswith("!") else f"!{literal}"


def python(literal: str, act: str = "") -> str:
    """A literal or expression as Python code."""
    text = re.sub(r"\?([a-z]+)", rf"{act}.\1", literal)
    return f"~{text[1:]}" if text.startswith("!") else text
