"""Reviewers that are language models: their names say so, and so does whatever tells of a review."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

PREFIX: Final = "model-"
"""What the name of a reviewer begins with that is a language model, and no person's does."""

_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def is_model(reviewer: str) -> bool:
    """Whether a reviewer is a language model."""
    return reviewer.startswith(PREFIX)


def who(reviewers: Iterable[str]) -> str:
    """Of what kind reviewers are: ``people``, ``language models``, or both; ``people`` where there are none."""
    named = set(reviewers)
    models = sum(map(is_model, named))
    return kinds(len(named) - models, models)


def kinds(people: int, models: int) -> str:
    """``people``, ``language models``, or ``people and language models``."""
    return "people and language models" if people and models else "language models" if models else "people"


def count_in_words(people: int, models: int) -> str:
    """``two language models``, ``three people and one language model``."""
    said = [
        f"{_number(count)} {one if count == 1 else many}"
        for count, one, many in ((people, "person", "people"), (models, "language model", "language models"))
        if count
    ]
    return " and ".join(said) or "nobody"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"
