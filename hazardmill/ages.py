"""Finding and coarsening ages over 89 in texts: such an age can identify a person.

HIPAA's Safe Harbor method combines them into "90 or older" (45 CFR 164.514(b)(2)(i)(C)). Records of people who were
hurt are coarsened when they are read; a release is searched for ages that were added later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

OLDEST_KEPT: Final = 89
"""Highest age in years that is kept; higher ages become ``COARSE``."""

COARSE: Final = "90+"

# "90 or over" and "90+" are coarse already.
_OR_OVER: Final = r"(?:or|and) (?:over|older|above|up|more)\b"
_OVER_89: Final = rf"(?P<age>9\d|1[0-2]\d)(?!\d|(?<=90)(?: ?(?:y/?o|yrs?|years?))?(?:[ -]?old)? {_OR_OVER})"

_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d)(?<!\d[./-]){_OVER_89}[ -]?(?:y(?:(?:ea)?rs?)?(?:[ -]?olds?)?|y[ ./]?o)(?:[a-z]{{0,2}}[fm]|[wb])?\b",
        rf"\bage[ds]?:? (?:of )?{_OVER_89}(?![%+])",
        r"\b(?P<age>(?:ninety|(?:one )?hundred)(?:[ -](?:and )?\w+)?)[ -]years?[ -]olds?\b",
        r"\b(?P<age>(?:nona|cente)(?:ge)?narians?)\b",
        r"\b(?:his|her|their) (?P<age>(?:(?:early|mid|late)[ -])?(?:90|100)'?s)\b",
    )
)
# Most reports have no such age: this one search saves the five above.
_PERHAPS: Final = re.compile(r"9\d|1[0-2]\d|ninety|hundred|narian", re.IGNORECASE)


def ages_over_89(text: str) -> Iterator[re.Match[str]]:
    """Find the ages over 89 in a text, in figures or in words.

    Args:
        text: A text in English.

    Yields:
        Matches whose group ``age`` is the age itself, sorted by position per pattern; they may overlap.
    """
    if _PERHAPS.search(text):
        for pattern in _PATTERNS:
            yield from pattern.finditer(text)


def coarsen_ages(text: str) -> str:
    """Return a text with each age over 89 replaced by ``90+``.

    ``93YOF`` becomes ``90+YOF``, and "a nonagenarian" becomes "a 90+".
    """
    for start, end in sorted({match.span("age") for match in ages_over_89(text)}, reverse=True):
        text = text[:start] + COARSE + text[end:]
    return text
