"""Plan strings: an action is an innermost ``( ... )``; everything outside is ignored.

Inside an action ``;`` counts as white space; an unclosed ``(`` is text; ``()`` is nothing. A name matches exactly,
else the only name that is equal up to case; ``-`` and ``_`` differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hazardmill.formalism.semantics.transition_system import GroundAction, System

_ACTION = re.compile(r"\(([^()]*)\)")
_CACHE_SIZE = 10_000


def parse_plan(text: str) -> list[tuple[str, ...]]:
    """Split a plan string into its actions.

    Args:
        text: Any text, such as the answer of a language model.

    Returns:
        One tuple of tokens per action, its name first. A text without an action is the empty plan.
    """
    return [tokens for tokens in map(_tokens, _ACTION.findall(text)) if tokens]


def _tokens(inner: str) -> tuple[str, ...]:
    return tuple(inner.replace(";", " ").split())


def plan_text(actions: Iterable[GroundAction]) -> str:
    """Return a plan as a string, ``(a) (b x)``: the form in which plans are stored and shown."""
    return " ".join(action.text for action in actions)


class SpelledNames:
    """Declared names, found by what is written: the same name, else the only one that is equal up to case.

    Args:
        names: The declared names, each once.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._exact = frozenset(names)
        self._folded: dict[str, str | None] = {}
        for name in self._exact:
            lower = name.lower()
            self._folded[lower] = None if lower in self._folded else name

    def find(self, token: str) -> str | None:
        """Return the name that a token stands for, or None."""
        if token in self._exact:
            return token
        # Names are ASCII; a token with a foreign letter that happens to fold to an ASCII one is another name.
        return self._folded.get(token.lower()) if token.isascii() else None


class PlanReader:
    """Grounds plan strings on one system.

    It remembers how each spelling was grounded (up to 10,000 of them), so that reading many plans of one task is fast:
    keep one reader per task.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._actions = SpelledNames(system.actions)
        self._objects = SpelledNames(system.objects)
        self._known: dict[tuple[str, ...], GroundAction | None] = {}
        self._written: dict[str, GroundAction | None] = {}

    def ground(self, tokens: tuple[str, ...]) -> GroundAction | None:
        """Return the ground action that the tokens name, or None where they name none (*ungroundable*).

        Raises:
            SearchLimitReached: The action exists, but a single instance of it is too large to be ground.
        """
        if tokens in self._known:
            return self._known[tokens]
        name = self.action_name(tokens[0])
        args = [self.object_name(token) for token in tokens[1:]]
        action = None
        if name is not None and None not in args:
            action = self._system.ground(name, tuple(arg for arg in args if arg is not None))
        if len(self._known) < _CACHE_SIZE:
            self._known[tokens] = action
        return action

    def read(self, text: str) -> list[tuple[tuple[str, ...], GroundAction | None]]:
        """Return each action of a plan string as its tokens with the ground action, None where it is ungroundable."""
        return [(tokens, self.ground(tokens)) for tokens in parse_plan(text)]

    def steps(self, text: str) -> list[GroundAction | None]:
        """Return the ground action of each step of a plan string, None where it is ungroundable.

        Faster than ``read``: a step whose text was met before is not even split into tokens.
        """
        inners = _ACTION.findall(text)
        try:
            return [self._written[inner] for inner in inners]
        except KeyError:
            # Not met before, or no action: `()` is never remembered.
            return [self._step(inner, tokens) for inner in inners if (tokens := _tokens(inner))]

    def _step(self, inner: str, tokens: tuple[str, ...]) -> GroundAction | None:
        action = self.ground(tokens)
        if len(self._written) < _CACHE_SIZE:
            self._written[inner] = action
        return action

    def action_name(self, token: str) -> str | None:
        """Return the name of the action that a token stands for, or None."""
        return self._actions.find(token)

    def object_name(self, token: str) -> str | None:
        """Return the name of the object that a token stands for, or None."""
        return self._objects.find(token)
