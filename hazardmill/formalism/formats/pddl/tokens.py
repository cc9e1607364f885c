"""The text of PDDL as nested groups of words, each with its line.

Unified Planning's reader is not used to read tasks, because it does not keep what a document says: it lower-cases
names, drops conjunctions of one part and double negations, turns ``>`` around (safety intention moves the first fluent
of a comparison, so the verdict could change), simplifies the conditions of effects, and cannot nest conditions as
deeply as a document may. The tests compare this reader with it.
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
"""Deepest nesting of parentheses; a document nests its conditions at most half as deep."""

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
    """A word of PDDL: anything between white space and parentheses.

    Attributes:
        text: The word as written.
        line: Its line in the file, from 1.
    """

    text: str
    line: int

    @property
    def lower(self) -> str:
        """The word in lower case, as PDDL compares it."""
        return self.text.lower()


@dataclass(frozen=True, slots=True)
class Group:
    """A parenthesized list of PDDL.

    Attributes:
        items: The words and groups in it.
        line: The line of its opening parenthesis, from 1.
    """

    items: tuple[Node, ...]
    line: int

    @property
    def head(self) -> str:
        """The first word in lower case, empty where there is none."""
        return self.items[0].lower if self.items and isinstance(self.items[0], PddlWord) else ""

    @property
    def rest(self) -> tuple[Node, ...]:
        """All items but the first."""
        return self.items[1:]


Node: TypeAlias = PddlWord | Group


@dataclass(frozen=True, slots=True)
class PddlText:
    """The text of a PDDL file, with the name that errors use for it.

    Attributes:
        file: Path of the file, or a phrase for a text that is in no file.
        text: The PDDL.
    """

    file: str
    text: str

    @classmethod
    def of(cls, given: Path | str, what: str) -> PddlText:
        """Return a text to read: the content of a file if a ``Path`` is given, else the ``str`` itself.

        Args:
            given: The path or the text.
            what: ``domain`` or ``problem``, for messages.

        Raises:
            PlanningInputError: The file cannot be read, or is not UTF-8.
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
                f"the {what} is not UTF-8 (byte {error.start})", file=str(given), remedy="save it as UTF-8"
            ) from error

    def refuse(self, message: str, at: Node | int, remedy: str) -> PlanningInputError:
        """Make an error at a line of this text; the caller raises it."""
        line = at if isinstance(at, int) else at.line
        return PlanningInputError(message, file=self.file, line=line, remedy=remedy)

    def group(self) -> Group:
        """Return the one group that the text consists of.

        Raises:
            PlanningInputError: Parentheses do not match, are nested deeper than ``MAX_DEPTH``, or there is something
                else around the group.
        """
        open_groups: list[tuple[list[Node], int]] = []
        found: Group | None = None
        for token, line in _tokens(self.text):
            if found is not None:
                raise self.refuse(f"{token!r} follows the closing parenthesis", line, "remove what follows")
            if token == "(":
                open_groups.append(([], line))
                if len(open_groups) > MAX_DEPTH:
                    raise self.refuse(f"nested more than {MAX_DEPTH} deep", line, "nest conditions less deeply")
            elif not open_groups:
                raise self.refuse(f"expected '(define', got {token!r}", line, "give PDDL, or a Path to read a file")
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
        """Return the name of the domain or problem that the text defines, and its sections by keyword.

        Args:
            kind: ``domain`` or ``problem``.
            allowed: Keywords of the sections that it may have; only ``:action`` may occur more than once.

        Raises:
            PlanningInputError: It is no such definition, or has a section that is not allowed.
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
                raise self.refuse(f"{head} occurs twice", node, "join the two")
            found[head].append(node)
        return spell(named.rest[0]), found

    def unexpected_error(self, node: Node, head: str, remedy: str) -> PlanningInputError:
        """Make an error for a construct that is not allowed where it stands; the caller raises it."""
        if head in _STRANGE:
            return self.refuse(
                f"{_STRANGE[head]} cannot be expressed ({head})", node, "leave it out: the formalism has none"
            )
        return self.refuse(f"{spell(node)} has no place here", node, remedy)


def spell(node: Node) -> str:
    """Return a node as text, cut to 60 characters."""
    text = _whole(node)
    return text if len(text) <= 60 else text[:57] + "..."


def _whole(node: Node) -> str:
    return node.text if isinstance(node, PddlWord) else "(" + " ".join(map(_whole, node.items)) + ")"


def _tokens(text: str) -> Sequence[tuple[str, int]]:
    tokens = []
    for number, line in enumerate(text.split("\n"), 1):
        tokens += [(token, number) for token in _TOKEN.findall(line) if not token.startswith(";")]
    return tokens
