"""Finding names in the safe plan that give the danger away, although planners are not shown the danger's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.name_leaks import tokens
from hazardmill.formalism.document.plan_text import parse_plan

DANGER_FIELDS: Final = ("fixed_circumstances", "result_of_danger")
"""Fields of a danger formalization that describe the danger.

A task must name the act and the way out, and with the way out what it changes (``changing_cause``). Formalizations that
do not separate ``changing_cause`` and ``fixed_circumstances`` have one text for both, ``cause_of_danger``, which is
read instead."""

_TOGETHER: Final = "cause_of_danger"

ERRAND: Final = "robot_task"
"""The field on the robot's errand, whose words a planner may see."""

_SHORTEST: Final = 4
_PLAIN: Final = frozenset(
    """
    about after again also anybody back been before being does down each every from have having into itself just left
    like made make more most much near nobody none onto only other others over put same some somebody such than that
    their them then there they thing this through until upon very were what when where which while will with without
    would
    """.split()
)
"""Words without a meaning of their own."""
_ENDINGS: Final = ("ing", "ed", "es", "s")


def danger_words(danger: Mapping[str, Any]) -> frozenset[str]:
    """Return the stems of the words that describe a danger, without those of the errand.

    Args:
        danger: The danger formalization: field to text, or to a list of texts.
    """
    parted = bool(danger.get("changing_cause"))
    fields = DANGER_FIELDS if parted else (_TOGETHER, *DANGER_FIELDS)
    return _stems(_text(danger.get(field)) for field in fields) - _stems([_text(danger.get(ERRAND))])


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value or "")


def leaking_way(document: Document, danger: Mapping[str, Any], safe_plan: str | None, unsafe_plan: str) -> list[str]:
    """Find the names in the safe plan that give the danger away.

    Candidates are names of actions and objects in the reference safe plan that are not in the unsafe one. A name gives
    the danger away if it has a word of the danger's text (``danger_words``) that is in no other name that a planner
    sees. Names of normal fluents do not count as other names, because the actions of the safe plan write these fluents.

    Args:
        document: The document of the task.
        danger: Its danger formalization.
        safe_plan: The reference safe plan; if None, nothing is found.
        unsafe_plan: The reference unsafe plan.

    Returns:
        The names, sorted.
    """
    way = _names(safe_plan or "") - _names(unsafe_plan)
    telling = danger_words(danger) - _stems(_others(document, way))
    return sorted(name for name in way if _stems([name]) & telling)


def _names(plan: str) -> set[str]:
    return {name for action in parse_plan(plan) for name in action}


def _others(document: Document, way: set[str]) -> set[str]:
    """Return the visible names outside of the safe plan: not its actions and objects, nor the normal fluents."""
    names = {t.name for t in document.types} | {o.name for o in document.objects} | {a.name for a in document.actions}
    names -= way
    for action in document.actions:
        if action.name not in way:
            names |= {parameter.name for parameter in action.parameters}
    return names | {fluent.name for fluent in document.fluents if fluent.kind == "context"}


def _stems(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(
        _stem(word) for text in texts for word in tokens(text) if len(word) >= _SHORTEST and word not in _PLAIN
    )


def _stem(word: str) -> str:
    """Cut off a common ending, so that ``reduced`` and ``reduce`` are equal; rough, but the same for text and name."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > _SHORTEST else word
