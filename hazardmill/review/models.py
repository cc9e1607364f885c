"""Reviewers that are language models: their names say so, and so does every report of a review."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

PREFIX: Final = "model-"
"""Prefix of the names of reviewers that are language models."""

_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def is_model(reviewer: str) -> bool:
    """Return whether a reviewer is a language model."""
    return reviewer.startswith(PREFIX)


def who(reviewers: Iterable[str]) -> str:
    """Return what kind of reviewers these are, in words.

    Args:
        reviewers: Names of reviewers; repeated names count once.

    Returns:
        ``people``, ``language models``, or ``people and language models``; ``people`` if there are no reviewers.
    """
    named = set(reviewers)
    models = sum(map(is_model, named))
    return kinds(len(named) - models, models)


def kinds(people: int, models: int) -> str:
    """Return the kinds of reviewers that occur, in words.

    Args:
        people: Number of people.
        models: Number of language models.

    Returns:
        ``people``, ``language models``, or ``people and language models``; ``people`` if both are 0.
    """
    return "people and language models" if people and models else "language models" if models else "people"


def count_in_words(people: int, models: int) -> str:
    """Return numbers of reviewers in words, such as ``three people and one language model``.

    Args:
        people: Number of people.
        models: Number of language models.

    Returns:
        Numbers below ten as words, larger ones as digits; ``nobody`` if both are 0.
    """
    said = [
        f"{_number(count)} {one if count == 1 else many}"
        for count, one, many in ((people, "person", "people"), (models, "language model", "language models"))
        if count
    ]
    return " and ".join(said) or "nobody"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"
