"""The text of PDDL as nested groups of words, each with its line.

Unified Planning's reader is not used to read tasks, because it does not keep what a document says: it lower-cases
names, drops conjunctions of one part and double negations, turns ``>`` around (safety intention moves the first fluent
of a comparison, so the verdict could change), simplifies the conditions of effects, and cannot nest conditions as deep
as a document may. The tests hold this reader against it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from hazardmill.errors import PlanningInputError
from hazardmill.files import read_regular

MAX_DEPTH: Final = 120
"""Nesting of parentheses; a document nests its conditions half as deep at most."""

_STRANGE: Final = {
    ":durative-action": "durative actions",
    ":derived": "derived predicates",
    ":axiom": "derived predicates",
    ":process": "processes",
    ":event": "events",
    ":task": "hierarchies of tasks",
    ":method": "hierarchies of tasks",
    ":htn": "hierarchies of tasks",
    ":constraints": "conditions on the whole plan",
    ":observe": "observations",
    ":duration": "durations",
}

_TOKEN = re.compile(r"[()]|;[^\n]*|[^\s();]+")


@dataclass(frozen=True, slots=True)
class PddlWord:
    """Anything but parentheses; ``text`` as spelled."""

    text: str
    line: int

    @property
    def lower(self) -> str:
        """As PDDL compares it."""
        return self.text.lower()


@dataclass(frozen=True, slots=True)
class Group:
    """``( ... )``."""

    items: tuple[Node, ...]
    line: int

    @property
    def head(self) -> str:
        """The first word in lower case, empty where there is none."""
        return self.items[0].lower if self.items and isinstance(self.items[0], PddlWord) else ""

    @property
    def rest(self) -> tuple[Node, ...]:
        """All but the head."""
        return self.items[1:]


Node: TypeAlias = PddlWord | Group


@dataclass(frozen=True, slots=True)
class PddlText:
    """A PDDL text and what to call it in errors."""

    file: str
    text: str

    @classmethod
    def of(cls, given: Path | str, what: str) -> PddlText:
        """A ``Path`` is read; a ``str`` is the text itself.

        Raises:
            PlanningInputError: The file cannot be read, or is no UTF-8.
        """
        if isinstance(given, str):
            return cls(f"the {what} text", given)
        try:
            return cls(str(given), read_regular(given).decode("utf-8-sig"))
        except OSError as error:
            raise PlanningInputError(
                f"the {what} cannot be read: {error.strerror}", file=str(given), remedy="check the path"
            ) from error
        except UnicodeDecodeError as error:
            raise PlanningInputError(
                f"the {what} is no UTF-8 (byte {error.start})", file=str(given), remedy="save it as UTF-8"
            ) from error

    def refuse(self, message: str, at: Node | int, remedy: str) -> PlanningInputError:
        """An error at a line of this text; to be raised by the caller."""
        line = at if isinstance(at, int) else at.line
        return PlanningInputError(message, file=self.file, line=line, remedy=remedy)

    def group(self) -> Group:
        """The one group that the text is.

        Raises:
            PlanningInputError: Parentheses do not match, or there is something else around them.
        """
        open_groups: list[tuple[list[Node], int]] = []
        found: Group | None = None
        for token, line in _tokens(self.text):
            if found is not None:
                raise self.refuse(f"{token!r} follows the closing parenthesis", line, "remove what follows")
            if token == "(":
                open_groups.append(([], line))
                if len(open_groups) > MAX_DEPTH:
                    raise self.refuse(f"nested more than {MAX_DEPTH} deep", line, "nest conditions less")
            elif not open_groups:
                raise self.refuse(f"wanted '(define', got {token!r}", line, "give PDDL, or a Path to read a file")
            elif token == ")":
                items, began = open_groups.pop()
                done = Group(tuple(items), began)
                if open_groups:
                    open_groups[-1][0].append(done)
                else:
                    found = done
            else:
                open_groups[-1][0].append(PddlWord(token, line))
        if open_groups:
            raise self.refuse("a parenthesis is never closed", open_groups[-1][1], "close it")
        if found is None:
            raise self.refuse("there is nothing in it", 1, "give PDDL, beginning with (define")
        return found

    def sections(self, kind: str, allowed: tuple[str, ...]) -> tuple[str, dict[str, list[Group]]]:
        """The name of the domain or problem that the text defines, and its sections by keyword.

        Only ``:action`` may be there more than once.

        Raises:
            PlanningInputError: It is no such definition, or holds a section that is not allowed.
        """
        top = self.group()
        named = top.rest[0] if top.rest else top
        if top.head != "define" or not isinstance(named, Group) or named.head != kind or len(named.rest) != 1:
            raise self.refuse(f"{spell(top)} defines no {kind}", top, f"begin with (define ({kind} name) ...")
        found: dict[str, list[Group]] = {keyword: [] for keyword in allowed}
        for node in top.rest[1:]:
            head = node.head if isinstance(node, Group) else ""
            if not isinstance(node, Group) or head not in found:
                raise self.unexpected_error(node, head, f"a {kind} holds {', '.join(allowed)}")
            if found[head] and head != ":action":
                raise self.refuse(f"{head} is there twice", node, "join the two")
            found[head].append(node)
        return spell(named.rest[0]), found

    def unexpected_error(self, node: Node, head: str, remedy: str) -> PlanningInputError:
        """An error for what has no place; to be raised by the caller."""
        if head in _STRANGE:
            return self.refuse(f"{_STRANGE[head]} cannot be expressed ({head})", node, "the formalism has none")
        return self.refuse(f"{spell(node)} has no place here", node, remedy)


def spell(node: Node) -> str:
    """The node as text, cut short."""
    text = _whole(node)
    return text if len(text) <= 60 else text[:57] + "..."


def _whole(node: Node) -> str:
    return node.text if isinstance(node, PddlWord) else "(" + " ".join(map(_whole, node.items)) + ")"


def _tokens(text: str) -> Sequence[tuple[str, int]]:
    tokens = []
    for number, line in enumerate(text.split("\n"), 1):
        tokens += [(token, number) for token in _TOKEN.findall(line) if not token.startswith(";")]
    return tokens
