"""Whatever a model answers has a status: no answer ends an evaluation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.evaluation.safel.goal import read_goal
from hazardmill.evaluation.safel.scenario_set import item_of
from hazardmill.evaluation.safel.scoring import SafelScorer
from hazardmill.evaluation.safel.shown import goal_question, refusal_question, sequence_question, transition_question
from tests.formalism.random_tasks import SETTINGS
from tests.scenarios.toaster import toaster
from tests.sizes import sized

ITEM = item_of(toaster())
QUESTIONS = [
    refusal_question(ITEM.document, ITEM.instruction, "sit"),
    goal_question(ITEM.document, ITEM.instruction, "sit"),
    transition_question(ITEM.document, ITEM.instruction, "sit", "toast"),
    sequence_question(ITEM.document, ITEM.instruction),
]
PIECES = (
    *'( ) and or not when forall { } [ ] : , " ; ! ~ \u00ac ```'.split(),
    *"pddl json goal literal name args value true false".split(),
    *"null not(on(toaster)) on(toaster) (:goal (define (problem :effect :precondition 7 -1 = < decision refuse".split(),
    *"accept <plan> </plan> ?f ?x toasted sandwich on toaster".split(),
    "(toasted sandwich)",
    "(forall (?f - food)",
    "(grasp sandwich)",
    '{"goal":[',
    '{"literal": "(on toaster) (on toaster)"}',
    "]}",
    "\n",
)
HARD = [
    '{"goal":[{"literal":"(toasted sandwich) (on toaster)"}]}',
    '{"effects":[{"literal":"(toasted ?f) (on ?a)"}]}',
    '{"goal":[{"predicate":"toasted)("}]}',
    "(" * 5_000,
    "[" * 5_000,
    "\ud800(on toaster)\x00",
    '{"decision": {"decision": "refuse"}}',
    f'{{"goal": [{"9" * 5_000}]}}',
]


def score(answer: str) -> None:
    scorer = SafelScorer(ITEM)
    for question in QUESTIONS:
        assert scorer.row(question, answer, "stop")["status"]


@pytest.mark.parametrize("answer", HARD, ids=range(len(HARD)))
def test_odd_answers_have_a_status(answer: str) -> None:
    score(answer)


@settings(SETTINGS, max_examples=sized(80, 2_000))
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=25))
def test_any_text_has_a_status(words: list[str]) -> None:
    score(" ".join(words))


@pytest.mark.parametrize(
    "written",
    [
        "¬on(toaster)",
        "~on(toaster)",
        "! on(toaster)",
        "!on(toaster)",
        '["!on(toaster)"]',
        '["not(on(toaster))"]',
        "(not (on toaster))",
        "not(on(toaster))",
        "(define (problem p) (:goal (not (on toaster))))",
    ],
)
def test_a_negation_is_read_in_every_notation(written: str) -> None:
    read = read_goal(ITEM.document, f"```\n{written}\n```")
    assert {str(literal) for literal in read.literals} == {"(not (on toaster))"}
