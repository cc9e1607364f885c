"""Read plans written as JSON: lists of strings, lists or objects, alone or under a key such as ``plan``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hazardmill.evaluation.answers.text import MOST_TOKENS, Names, Tokens, read_line

_BEGINS: Final = re.compile(r"^[ \t]*+(?:[\w\"' -]{0,40}[:=][ \t]*+)?(?P<value>[\[{])", re.MULTILINE)
_MOST_VALUES: Final = 20
"""How many places are tried for a JSON value: each attempt may read to the end of the text."""

_PLANS: Final = (
    "plan",
    "final_plan",
    "actions",
    "steps",
    "action_sequence",
    "sequence",
    "solution",
    "answer",
    "final_answer",
)
_ACTIONS: Final = ("action", "name", "action_name", "act", "operator", "skill", "command", "step")
_ARGUMENTS: Final = ("args", "arguments", "parameters", "params", "objects", "argument", "parameter")

_DECODER: Final = json.JSONDecoder(strict=False)

Found = tuple[Tokens, ...]


def plans_in_values(text: str, names: Names) -> Iterator[Found]:
    """Yield the plans among the JSON values of a text, in order; an empty list is an empty plan.

    Args:
        text: The text; values may stand anywhere at the start of a line, after a key or not.
        names: Names of the task that the planner was shown.

    Yields:
        The steps of each plan. Values that are no plans are skipped.
    """
    place = 0
    for _ in range(_MOST_VALUES):
        begins = _BEGINS.search(text, place)
        if begins is None:
            return
        try:
            value, place = _DECODER.raw_decode(text, begins.start("value"))
            plan = _plan(value, names)
        except (ValueError, RecursionError):
            place = begins.end()
            continue
        if plan is not None:
            yield plan


def _plan(value: Any, names: Names) -> Found | None:  # noqa: ANN401  # any JSON
    """Return the steps of a value; None if it is not a plan."""
    if isinstance(value, dict):
        lower = {str(key).lower().replace(" ", "_"): item for key, item in value.items()}
        for key in _PLANS:
            if isinstance(lower.get(key), list):
                return _plan(lower[key], names)
            if isinstance(lower.get(key), str):
                return tuple(_steps(lower[key], names))
        step = _of_object(lower, names)
        return None if step is None else (step,)
    if not isinstance(value, list):
        return None
    if _is_one_step(value, names):
        return (tuple(value),)
    steps: list[Tokens] = []
    for item in value:
        found = tuple(_item(item, names))
        if not found:
            # The list holds something other than steps.
            return None
        steps.extend(found)
    return tuple(steps)


def _is_one_step(value: list[Any], names: Names) -> bool:
    """Return whether a list is one step given as its words, rather than a list of steps."""
    words = tuple(item for item in value if isinstance(item, str))
    return 1 < len(words) == len(value) and names.fits(words) and any(word.lower() in names.objects for word in words)


def _item(item: Any, names: Names) -> Iterator[Tokens]:  # noqa: ANN401  # any JSON
    if isinstance(item, str):
        yield from _steps(item, names)
    elif isinstance(item, list) and item and all(isinstance(part, str | int) for part in item):
        words = tuple(word for part in item for word in _plain_words(str(part)))
        if words:
            yield words
    elif isinstance(item, dict):
        step = _of_object({str(key).lower().replace(" ", "_"): part for key, part in item.items()}, names)
        if step is not None:
            yield step


def _steps(text: str, names: Names) -> Iterator[Tokens]:
    """Yield the steps of a string, read as lines; if they hold none, its words form one step."""
    lines = [read_line(line, names, explicit=True) for line in text.splitlines()]
    steps = [step for line in lines for step in line.steps]
    if steps:
        yield from steps
    elif words := _plain_words(text)[:MOST_TOKENS]:
        yield words


def _of_object(lower: Mapping[str, Any], names: Names) -> Tokens | None:
    named = next((lower[key] for key in _ACTIONS if isinstance(lower.get(key), str)), None)
    if named is None:
        return None
    step = next(_steps(named, names), ())
    given = next((lower[key] for key in _ARGUMENTS if lower.get(key)), None)
    if given is None or not step:
        return step or None
    if isinstance(given, dict):
        given = list(given.values())
    parts = given if isinstance(given, list) else [given]
    return (step[0], *(word for part in parts if isinstance(part, str | int) for word in _plain_words(str(part))))


def _plain_words(text: str) -> Tokens:
    """Return the words of a text that can stand in a plan string."""
    return tuple(re.sub(r"[()\[\]{},;\"']", " ", text).split())
