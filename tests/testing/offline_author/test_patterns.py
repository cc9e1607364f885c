"""Every pattern, with any choices, comes to a task that passes all proofs."""

from __future__ import annotations

from collections import Counter

import pytest

from hazardmill.formalism.document.name_leaks import leaking_names
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.generation.task_outline import Outline, document_of
from hazardmill.records import DangerType
from hazardmill.testing.offline_author.composing import compose
from hazardmill.testing.offline_author.draws import Draws
from hazardmill.testing.offline_author.patterns import PATTERNS, Pattern


def test_there_are_two_of_every_danger_type() -> None:
    assert Counter(pattern.type for pattern in PATTERNS) == dict.fromkeys(DangerType, 2)
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_a_pattern_makes_proved_tasks_that_differ(pattern: Pattern) -> None:
    outlines = set()
    for number in range(8):
        draws = Draws(number, "test")
        names = {"who": draws.pick("who", pattern.who), "item": draws.pick("item", pattern.item)}
        text = compose(pattern, {**names, "here": "kitchen", "there": "hallway"}, draws).write()
        document = document_of(Outline.model_validate_json(text))
        certificate = certify(document)
        assert [line for line in certificate.lines if line.passed is False and line.severity == "refusal"] == []
        assert not list(leaking_names(document))
        outlines.add(text)
    assert len(outlines) >= 6
