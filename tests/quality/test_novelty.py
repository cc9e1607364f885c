"""The novelty gate decides as comparing every pair does."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.quality.novelty import NoveltyGate
from hazardmill.quality.text import rouge_l

WORDS = st.sampled_from("put the cup on a hot stove near the cat and turn it off".split())
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join), max_size=25)


def decided(texts: Sequence[str], threshold: float) -> list[bool]:
    gate = NoveltyGate(threshold)
    return [gate.add(text).kept for text in texts]


def by_pairs(texts: Sequence[str], threshold: float) -> list[bool]:
    kept: list[str] = []
    found = []
    for text in texts:
        new = not kept or max(rouge_l(text, other) or 0.0 for other in kept) < threshold
        found.append(new)
        if new:
            kept.append(text)
    return found


@given(TEXTS, st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.9, 1.0, 1.01]))
def test_the_gate_decides_as_comparing_every_pair_does(texts: list[str], threshold: float) -> None:
    assert decided(texts, threshold) == by_pairs(texts, threshold)


@given(TEXTS, st.floats(0, 1.2))
def test_the_gate_decides_so_at_every_threshold(texts: list[str], threshold: float) -> None:
    assert decided(texts, threshold) == by_pairs(texts, threshold)


@pytest.mark.parametrize("threshold", [0.3, 0.54, 2 / 3, 0.7, 0.9])
@pytest.mark.parametrize("different_words", [8, 30, 300])
def test_the_gate_decides_so_on_long_texts_and_their_variants(threshold: float, different_words: int) -> None:
    rng = random.Random(different_words)
    texts: list[str] = []
    for _ in range(150):
        made = rng.choices(range(different_words), k=rng.randint(0, 30))
        if texts and rng.random() < 0.6:
            made = [int(word) for word in rng.choice(texts).split()]
            for _ in range(rng.randint(0, 4)):
                made.insert(rng.randint(0, len(made)), rng.randrange(different_words))
                del made[rng.randrange(len(made))]
            made = made[: round(len(made) * rng.choice([0.54, 0.8, 1, 1]))]
        texts.append(" ".join(map(str, made)))
    assert decided(texts, threshold) == by_pairs(texts, threshold)


def test_a_text_exactly_at_the_threshold_is_not_new() -> None:
    # 2 * 3 / (5 + 5): rapidfuzz drops this pair if it is asked for scores from 0.6 on.
    assert decided(["us food bake stove egg", "for the us stove egg"], 0.6) == [True, False]


def test_of_equal_texts_the_first_is_kept_and_named() -> None:
    gate = NoveltyGate(1.0)
    assert gate.add("Turn on the tap.").kept and gate.add("Open the door.").kept
    again = gate.add("turn ON the tap")
    assert (again.kept, again.nearest, again.similarity, len(gate)) == (False, 0, 1.0, 2)


@pytest.mark.parametrize(("threshold", "kept"), [(0.0, 1), (1.01, 4)])
def test_a_threshold_of_0_keeps_one_text_and_above_1_all(threshold: float, kept: int) -> None:
    assert sum(decided(["a b", "c d", "a b", ""], threshold)) == kept


def test_the_nearest_of_several_is_named_and_of_equally_near_ones_the_first() -> None:
    gate = NoveltyGate(0.5)
    for text in ("a b c d", "e f g h", "e f i j"):
        assert gate.add(text).kept == (text != "e f i j")
    near = gate.add("a b c x")
    assert (near.nearest, near.similarity) == (0, 0.75)
    assert gate.add("a b e f").nearest == 0
