"""Reads a program file: title, description, actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .grammar import Action, VirtualHomeError, action, is_action, quoted

MAX_TEXT: Final = 4000
"""Maximum characters kept of a title or description; published descriptions have under 700."""

_WHOLE = "give the file as it was published"
_LAYOUT = "put the title on line 1, the description on line 2, and the actions from line 5 on"


@dataclass(frozen=True, slots=True)
class Program:
    """The content of a program file; ``description`` is null if its line is blank."""

    title: str
    description: str | None
    actions: tuple[Action, ...]
    warnings: tuple[str, ...]


def read_program(text: str) -> Program:
    """Parse a file of ``withoutconds``, or of ``executable_programs``, which has the same layout.

    Raises:
        VirtualHomeError: It is something else.
    """
    warnings = ["the program begins with a byte order mark"] if text.startswith("\ufeff") else []
    text = text.removeprefix("\ufeff")
    if "\r\n" in text:
        warnings.append("the program's lines end in CRLF")
    lines = [*text.replace("\r\n", "\n").split("\n"), ""]
    title = _bounded(lines[0], "title", warnings)
    if title.isdecimal():
        raise VirtualHomeError(
            "withconds_file",
            f"the file begins with the number {quoted(title)}, as files of withconds do",
            "give the file of the same name from withoutconds",
        )
    if not title or is_action(title):
        found = f"is the action {quoted(title)}" if title else "is blank"
        raise VirtualHomeError("no_title", f"line 1, the title, {found}", _LAYOUT)
    if is_action(lines[1]):
        start, description = 1, ""
        warnings.append("there is no description: line 2 is an action")
    else:
        start, description = 2, _bounded(lines[1], "description", warnings)
    actions = tuple(action(line, number) for number, line in enumerate(lines[start:], start + 1) if line.strip())
    if not actions:
        raise VirtualHomeError("no_actions", "there is no action after the description", _WHOLE)
    return Program(title, description or None, actions, tuple(warnings))


def _bounded(line: str, what: str, warnings: list[str]) -> str:
    text = " ".join(line.split())
    if len(text) <= MAX_TEXT:
        return text
    warnings.append(f"the {what} has {len(text)} characters; the first {MAX_TEXT} were kept")
    return text[: MAX_TEXT - 3].rstrip() + "..."
