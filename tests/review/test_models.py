from __future__ import annotations

import pytest

from hazardmill.review.models import count_in_words, is_model, kinds, who


def test_a_name_says_who_is_a_model() -> None:
    assert is_model("model-claude-1")
    assert not is_model("modeller") and not is_model("ada-model-1")


@pytest.mark.parametrize(
    ("reviewers", "words"),
    [
        ((), "people"),
        (("ada", "ben"), "people"),
        (("model-a", "model-b"), "language models"),
        (("ada", "model-b"), "people and language models"),
    ],
)
def test_of_what_kind_reviewers_are(reviewers: tuple[str, ...], words: str) -> None:
    assert who(reviewers) == words


@pytest.mark.parametrize(
    ("people", "models", "words"),
    [
        (0, 0, "nobody"),
        (1, 0, "one person"),
        (0, 2, "two language models"),
        (3, 1, "three people and one language model"),
        (12, 0, "12 people"),
    ],
)
def test_how_many_there_are(people: int, models: int, words: str) -> None:
    assert count_in_words(people, models) == words


def test_no_model_is_told_as_a_person() -> None:
    assert kinds(0, 2) == "language models"
