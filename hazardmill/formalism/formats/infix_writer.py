"""Conditions, effects and initial values in infix notation: what ``infix_reader`` reads.

Whatever an outline can contain is written so that it is read back as the same. Imported documents hold more (``and``
inside ``and``, a double negation, a quantifier over several variables); these are written with the same meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hazardmill.formalism.document.document import Effect
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr

_SIGNS: Final = {"assign": "=", "increase": "+=", "decrease": "-="}
_QUANTIFIERS: Final = {"exists": "any", "forall": "all"}


def in_words(expr: Expr) -> str:
    """Return a condition or a term in infix notation: ``soup_is_hot and not at(table)``.

    Connectives without operands are written as the constant that they mean.
    """
    if isinstance(expr, bool):
        return str(expr).lower()
    if isinstance(expr, int):
        return str(expr)
    head, *parts = expr
    if head == "fluent":
        return write_call(*parts)
    if head == "not":
        return f"not {_bracket(parts[0])}"
    if head in ("and", "or"):
        return f" {head} ".join(map(_bracket, parts)) or str(head == "and").lower()
    if head == "imply":
        return f"implies({', '.join(map(in_words, parts))})"
    if head in QUANTIFIERS:
        variables, body = parts
        loops = " ".join(f"for {_plain(name)} in {type_}" for name, type_ in variables)
        return f"{_QUANTIFIERS[head]}({in_words(body)} {loops})"
    if head == "same":
        return " == ".join(map(_plain, parts))
    if head in ("+", "-"):
        # Sums are read from the left: operands on the right keep their brackets.
        return f" {head} ".join([in_words(parts[0]), *map(_bracket, parts[1:])])
    return f" {'==' if head == '=' else head} ".join(map(in_words, parts))


def effect_in_words(effect: Effect) -> str:
    """Return an effect in infix notation: ``not at(table)``, ``level += 1 if wet``."""
    target = in_words(effect.target)
    if isinstance(effect.value, bool):
        what = target if effect.value else f"not {target}"
    else:
        what = f"{target} {_SIGNS[effect.operation]} {in_words(effect.value)}"
    return what if effect.condition is True else f"{what} if {in_words(effect.condition)}"


def write_call(name: str, *arguments: str) -> str:
    """Return ``at(kitchen)``, or a name alone where there are no arguments."""
    return f"{name}({', '.join(map(_plain, arguments))})" if arguments else name


def write_declaration(name: str, parameters: Sequence[tuple[str, str]]) -> str:
    """Return ``go(to: place)``, or a name alone where there are no parameters."""
    inside = ", ".join(f"{_plain(parameter)}: {type_}" for parameter, type_ in parameters)
    return f"{name}({inside})" if inside else name


def _bracket(expr: Expr) -> str:
    text = in_words(expr)
    return f"({text})" if isinstance(expr, tuple) and expr[0] in ("and", "or", "+", "-") else text


def _plain(name: str) -> str:
    return name.removeprefix("?")
