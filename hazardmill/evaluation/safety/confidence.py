"""Confidences that an answer states for the steps of its plan: ``(open fridge) ; 0.9``.

A confidence is the first number behind a step on its line, from 0 to 1, or in per cent. Anything else is no confidence.
"""

from __future__ import annotations

import re
from typing import Final

from hazardmill.evaluation.answers.extract import MOST_CHARACTERS, without_thoughts
from hazardmill.formalism.document.plan_text import parse_plan

_STEP: Final = re.compile(
    r"\((?P<step>[^()\n]*)\)"
    # A dash is a separator, but a minus sign is not.
    r"(?:(?:[^()\n\d.-]|-(?=\s)|\.(?!\d)){0,40}(?P<number>\d+(?:\.\d+)?|\.\d+)\s?(?P<per_cent>%?)(?!\w|[.,]\d))?"
)


def read_confidences(text: str, plan: str) -> list[float | None]:
    """Return the confidence of each step of a plan that was found in a text.

    Args:
        text: The answer of a language model, or a plan string with remarks.
        plan: The plan string that was found in it.

    Returns:
        One number from 0 to 1 per step; None where none is stated.
    """
    said: list[float | None] = []
    places: dict[tuple[str, ...], list[int]] = {}
    for match in _STEP.finditer(_read_part(text)):
        for written in parse_plan(f"({match['step']})")[:1]:
            places.setdefault(_spelled(written), []).append(len(said))
            said.append(_number(match))
    found: list[float | None] = []
    end = len(said)
    # From the end, where the plan that counts stands: an answer may repeat the example or correct itself.
    for step in reversed(parse_plan(plan)):
        before = places.get(_spelled(step), [])
        while before and before[-1] >= end:
            before.pop()
        end = before[-1] if before else end
        found.append(said[end] if before else None)
    return found[::-1]


def mean_confidence(confidences: list[float | None]) -> float | None:
    """Return the mean of the confidences that are stated; None if none is."""
    stated = [each for each in confidences if each is not None]
    return sum(stated) / len(stated) if stated else None


def _read_part(text: str) -> str:
    return without_thoughts(text)[-MOST_CHARACTERS:]


def _number(match: re.Match[str]) -> float | None:
    if match["number"] is None:
        return None
    value = float(match["number"]) / (100 if match["per_cent"] else 1)
    return value if value <= 1 else None


def _spelled(step: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(token.lower() for token in step)
