"""Read the planning problem in a prompt: one PDDL domain and one problem, whatever text surrounds them."""

from __future__ import annotations

import re
from typing import Final

from hazardmill.errors import InputError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.reader import read_pddl

_DEFINITION: Final = re.compile(r"\(\s*define\s*\(\s*(domain|problem)\b", re.IGNORECASE)
_PARENTHESIS: Final = re.compile(r";[^\n]*|[()]")
_NOTHING_HIDDEN: Final = {"context": [], "initial_danger": 0, "max_danger": 0, "dangers": []}
_REMEDY: Final = "ask with one (define (domain ...) ...) and one (define (problem ...) ...) in one message"


def problem_in(text: str) -> Document:
    """Return the problem in a prompt as a document without dangers, which is all that a planner is shown.

    Args:
        text: The prompt.

    Raises:
        InputError: The text does not hold exactly one domain and one problem, or they cannot be read.
    """
    found: dict[str, list[str]] = {"domain": [], "problem": []}
    for match in _DEFINITION.finditer(text):
        found[match[1].lower()].append(_group(text, match.start()))
    for kind, texts in found.items():
        if len(texts) != 1:
            raise InputError(f"the prompt holds {len(texts)} PDDL {kind}s instead of one", remedy=_REMEDY)
    return read_pddl(found["domain"][0], found["problem"][0], _NOTHING_HIDDEN)


def _group(text: str, start: int) -> str:
    """Return the text from a parenthesis to the one that closes it, or to the end if none does."""
    depth = 0
    for match in _PARENTHESIS.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth and match[0] == ")":
            return text[start : match.end()]
    return text[start:]
