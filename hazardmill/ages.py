"""Ages over 89, which single a person out: where a text tells one, and the same text without it.

HIPAA's Safe Harbor method tells of all of them together as "90 or older" (45 CFR 164.514(b)(2)(i)(C)). Records of
people who were hurt are read so; what is released is looked through for any that came back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

OLDEST_TOLD: Final = 89
"""Years. Who is older is ``COARSE``."""

COARSE: Final = "90+"

# "90 or over" tells of nobody, nor does "90+".
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
# Most reports tell none: one look instead of five.
_PERHAPS: Final = re.compile(r"9\d|1[0-2]\d|ninety|hundred|narian", re.IGNORECASE)


def ages_over_89(text: str) -> Iterator[re.Match[str]]:
    """Places of a text that tell an age over 89; the group ``age`` is what tells it."""
    if _PERHAPS.search(text):
        for pattern in _PATTERNS:
            yield from pattern.finditer(text)


def coarsen_ages(text: str) -> str:
    """The text with each age over 89 told as ``90+``: 93YOF as 90+YOF, a nonagenarian as a 90+."""
    for start, end in sorted({match.span("age") for match in ages_over_89(text)}, reverse=True):
        text = text[:start] + COARSE + text[end:]
    return text
