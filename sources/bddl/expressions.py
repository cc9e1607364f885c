"""Parses text to nested expressions: the parentheses of BDDL, with line numbers, without interpreting them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from hazardmill.ingest.sources import InputRefusal

MAX_DEPTH: Final = 40
"""Maximum nesting; published activities stay under ten. The bound makes later recursion safe."""

_TOKEN = re.compile(r"(?P<skip>[ \t\r\f\v]+|;[^\n]*)|(?P<newline>\n)|(?P<paren>[()])|(?P<word>\\|[^\s();\\]+)")


@dataclass(frozen=True, slots=True)
class Word:
    """A name, a keyword, or any other text between blanks and parentheses, in lower case."""

    text: str
    line: int


@dataclass(slots=True)
class Group:
    """The content of one pair of parentheses."""

    line: int
    items: list[Word | Group] = field(default_factory=list)

    @property
    def head(self) -> str:
        """The first word; empty if the group does not begin with one."""
        return self.items[0].text if self.items and isinstance(self.items[0], Word) else ""

    @property
    def words(self) -> list[Word]:
        """The direct members that are words."""
        return [item for item in self.items if isinstance(item, Word)]

    @property
    def groups(self) -> list[Group]:
        """The direct members that are groups."""
        return [item for item in self.items if isinstance(item, Group)]

    def form(self) -> str:
        """Return the group as text, for comparing and quoting."""
        return f"({' '.join(item.text if isinstance(item, Word) else item.form() for item in self.items)})"


class BddlError(Exception):
    """A problem file is refused; says why. Never leaves this source."""

    def __init__(self, reason: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.refusal = InputRefusal(reason, message, remedy)


def parse(text: str) -> list[Word | Group]:
    """Parse the expressions of a file, in order. Comments run from ``;`` to the end of the line.

    Raises:
        BddlError: Parentheses do not match, or nest too deeply.
    """
    top = Group(0)
    stack = [top]
    for token in _tokens(text):
        if token.text == "(":
            if len(stack) > MAX_DEPTH:
                raise BddlError(
                    "too_deep", f"line {token.line} nests deeper than {MAX_DEPTH}", "flatten the expression"
                )
            group = Group(token.line)
            stack[-1].items.append(group)
            stack.append(group)
        elif token.text == ")":
            if len(stack) == 1:
                raise BddlError("unbalanced", f"line {token.line} closes a parenthesis that is not open", _BALANCE)
            stack.pop()
        else:
            stack[-1].items.append(token)
    if len(stack) > 1:
        raise BddlError("unbalanced", f"the parenthesis opened on line {stack[-1].line} is never closed", _BALANCE)
    return top.items


_BALANCE = "balance the parentheses; a file that ends early was not downloaded whole"


def _tokens(text: str) -> Iterator[Word]:
    # Everything that is no blank matches one of the alternatives, so that finditer leaves nothing out.
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "newline":
            line += 1
        elif match.lastgroup != "skip":
            yield Word(match[0].lower(), line)
