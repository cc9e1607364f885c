"""Rouge-L of plans: the worked example, the package ``rouge``, and the laws of ours."""

from __future__ import annotations

import random
from importlib import import_module

import pytest

from hazardmill.quality.rouge import rouge_l_of_actions, rouge_l_of_package, script_words
from hazardmill.quality.text import rouge_l

HYPOTHESIS = "walk kitchen find cup grab cup find sink switchon faucet rinse cup"
REFERENCE = "walk kitchen find cup grab cup switchon faucet rinse cup switchoff faucet"


def test_the_worked_example() -> None:
    assert rouge_l(HYPOTHESIS, REFERENCE) == pytest.approx(10 / 12, abs=1e-15)
    found = rouge_l_of_package(HYPOTHESIS, REFERENCE)
    assert found is not None
    assert found == pytest.approx(0.888889 - 5e-9, abs=1e-6)
    # P = R = 8/9: 2 P^2 / (2 P + 1e-8).
    assert found == pytest.approx(8 / 9 - 5e-9, abs=1e-12) and found < 8 / 9
    assert len(set(HYPOTHESIS.split())) == len(set(REFERENCE.split())) == 9


def test_actions_count_whole_and_words_one_by_one() -> None:
    plan, reference = "(grab cup) (rinse cup) (drop cup)", "(GRAB cup) (rinse plate) (drop cup)"
    assert rouge_l_of_actions(plan, reference) == pytest.approx(2 / 3)
    assert rouge_l(script_words(plan), script_words(reference)) == pytest.approx(5 / 6)
    assert rouge_l_of_actions(plan, "I will not.") is None
    assert script_words("First (walk kitchen), then (find cup).") == "walk kitchen find cup"


def scripts(rng: random.Random) -> str:
    words = [rng.choice(["walk", "find", "cup", "sink", "Cup", "a.b", "put", "."]) for _ in range(rng.randint(0, 18))]
    return rng.choice([" ", "  ", "\n"]).join(words)


def test_the_numbers_of_the_package_are_those_of_the_package() -> None:
    # Only tests need it: the development environment has it.
    pytest.importorskip("rouge")
    package = import_module("rouge").Rouge(metrics=["rouge-l"])
    rng = random.Random(1)
    refused = 0
    for _ in range(1_000):
        hypothesis, reference = scripts(rng), scripts(rng)
        try:
            wanted = package.get_scores(hypothesis, reference)[0]["rouge-l"]["f"]
        except ValueError:
            refused += 1
            assert rouge_l_of_package(hypothesis, reference) is None
            continue
        assert rouge_l_of_package(hypothesis, reference) == pytest.approx(wanted, abs=1e-9)
    assert 0 < refused < 300


@pytest.mark.parametrize(
    ("hypothesis", "reference", "wanted"),
    [
        # Of 1.0.1, where it is not installed: a union over sentences, repeated words, a blank sentence.
        ("walk kitchen. find cup", "find cup. walk kitchen", 0.999999995),
        ("cup cup cup", "cup", 0.999999995),
        ("a b. ", "a b", 0.7999999952),
        ("a", "b", 0.0),
    ],
)
def test_the_oddities_of_the_package(hypothesis: str, reference: str, wanted: float) -> None:
    assert rouge_l_of_package(hypothesis, reference) == pytest.approx(wanted, abs=1e-9)
