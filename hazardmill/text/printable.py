"""Make text of unknown origin safe to print: nothing in it may move the cursor, colour, retitle or reverse a line.

This module needs only the standard library, because the jail imports it, as it does ``errors``.
"""

from __future__ import annotations

import re
from typing import Final

STEERING: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Characters that steer a terminal: control characters other than tab and line feed, and characters that have no width,
end a line or change its direction."""

ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
"""The memory address in the ``repr`` of an object. It differs between processes and means nothing to a reader."""

_HALF: Final = re.compile(r"[\ud800-\udfff]")
"""Lone surrogates, which UTF-8 cannot encode."""


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with every character that is not printable replaced by its Python escape, such as ``\x1b``.

    Args:
        text: Any text.
        keep: Characters to leave as they are. Line ends are not printable: without ``keep`` the result is one line.
    """
    return "".join(
        sign if sign.isprintable() or sign in keep else sign.encode("unicode_escape").decode() for sign in text
    )


def printable_lines(text: str) -> str:
    """Return a text made printable as by ``printable``, with its line feeds kept."""
    return printable(text, keep="\n")


def escape_in_json(text: str) -> str:
    r"""Return equivalent JSON text in which steering characters and lone surrogates are ``\u`` escapes.

    Args:
        text: JSON. Such characters occur only within its strings, because JSON allows none of them elsewhere.
    """
    return _HALF.sub(_escape, STEERING.sub(_escape, text))


def comment(mark: str, text: str) -> str:
    """Return a comment of exactly one line, which cannot declare an encoding to Python.

    Args:
        mark: What begins a comment, such as ``#`` or ``;``.
        text: Any text; runs of white space become single blanks.
    """
    # PEP 263: "coding" before ":" or "=" in a comment of the first two lines sets the encoding of the whole file.
    return f"{mark} {re.sub(r'coding(?=[:=])', 'coding ', printable(' '.join(text.split())))}"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
