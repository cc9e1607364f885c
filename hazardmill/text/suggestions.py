"""What somebody may have meant who wrote a name that nothing has."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from hazardmill.errors import UnknownName

_NEIGHBOURS: Final = 500
"""How many neighbours on either side are compared with an unknown name: comparing a million would take a minute."""

_MOST: Final = 3
"""Names that are suggested."""


def unknown_name(
    message: str, name: str, known: Iterable[str], *, remedy: str | None = None, file: str | None = None
) -> UnknownName:
    """Return the error for a name that nothing has; its remedy begins with the names that may have been meant.

    Args:
        message: What was wrong, with the name in it.
        name: The name.
        known: The names that there are.
        remedy: What to do if none of them was meant.
        file: Where the name was looked for.
    """
    near = similar_names(name, known)
    meant = f"did you mean {' or '.join(near)}?" if near else None
    return UnknownName(message, file=file, remedy=" ".join(filter(None, (meant, remedy))) or None)


def similar_names(asked: str, known: Iterable[str]) -> list[str]:
    """Find names that begin with a given one or, if there are none, are spelled like it.

    Args:
        asked: The name that is not known.
        known: The names that exist; among many, only those that begin or end alike are compared.

    Returns:
        At most three names, the most similar first.
    """
    names = sorted(set(known))
    begun = [name for name in _around(names, asked) if name.startswith(asked)] if asked else []
    return (begun or difflib.get_close_matches(asked, _neighbours(asked, names), n=_MOST, cutoff=0.7))[:_MOST]


def _neighbours(asked: str, known: list[str]) -> list[str]:
    """Return names that begin or end like a given one: a single typo leaves one of the two intact."""
    if len(known) <= 4 * _NEIGHBOURS:
        return known
    backwards = sorted(text[::-1] for text in known)
    near = _around(known, asked) + [text[::-1] for text in _around(backwards, asked[::-1])]
    return list(dict.fromkeys(near))


def _around(ordered: list[str], text: str) -> list[str]:
    at = bisect_left(ordered, text)
    return ordered[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
