"""Lengths that proofs find equal those of plain search over episodes, which knows nothing of compiled documents."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from hazardmill.household.proof import prove_task
from tests.household.random_tasks import reachable_task
from tests.household.rooms import LAYERS
from tests.household.word_search import search_words
from tests.sizes import sized

MOST_STATES = 300


@pytest.mark.parametrize("seeds", [24, pytest.param(sized(60, 600), marks=pytest.mark.full)])
def test_proofs_find_the_lengths_of_plain_search_over_episodes(seeds: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(seeds):
        task, layer = reachable_task(random.Random(seed)), LAYERS[seed % len(LAYERS)]
        by_words = search_words(task, *layer, MOST_STATES)
        if by_words is None:
            continue
        proof = prove_task(task, *layer)
        careless = proof.careless.outcome == "found"
        assert (proof.compliant.length, proof.for_goals.length) == (by_words.compliant, by_words.goals), seed
        assert careless == by_words.careless, seed
        seen.update(["compared", f"compliant: {proof.compliant.outcome}", f"careless: {careless}"])
        seen.update(["longer"] if (by_words.compliant or 0) > (by_words.goals or 0) else [])
    for what in ("compliant: found", "compliant: none", "careless: True", "longer"):
        assert seen[what], seen
    assert seen["compared"] >= seeds // 2
