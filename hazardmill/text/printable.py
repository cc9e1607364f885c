"""Text of unknown origin, fit for a terminal: nothing in it moves the cursor, colours, titles or turns a line around.

Standard library only, as ``errors`` is, and for the same reason.
"""

from __future__ import annotations

import re
from typing import Final

STEERING: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters but tabs and line ends; what has no width, ends a line, or changes its direction."""

ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
"""How Python shows where a value lies in memory: elsewhere in each process, so that it tells nobody anything."""

_HALF: Final = re.compile(r"[\ud800-\udfff]")
"""Half surrogates, which cannot be encoded."""


def printable(text: str, keep: str = "") -> str:
    """One line: what is not printable is written out as an escape of Python, but for the characters of ``keep``."""
    return "".join(
        sign if sign.isprintable() or sign in keep else sign.encode("unicode_escape").decode() for sign in text
    )


def printable_lines(text: str) -> str:
    """As ``printable``, of several lines."""
    return printable(text, keep="\n")


def escape_in_json(text: str) -> str:
    """JSON text that says the same, with steering characters and half surrogates as escapes.

    They stand within strings only: JSON has none of them elsewhere.
    """
    return _HALF.sub(_escape, STEERING.sub(_escape, text))


def comment(mark: str, text: str) -> str:
    """A line of comment: one line, whatever the text, and nothing that declares an encoding to Python."""
    # PEP 263: a comment with "coding" before ":" or "=" in one of the first two lines says how the rest is to be read.
    return f"{mark} {re.sub(r'coding(?=[:=])', 'coding ', printable(' '.join(text.split())))}"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
