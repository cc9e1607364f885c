"""Goal interpretation: the true set of literals, how answers are read, the two recalls."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.evaluation.abilities.answers import AnswerOverlap
from hazardmill.evaluation.safel.goal import (
    GoalScore,
    GroundLiteral,
    read_goal,
    score_goal,
    true_goal,
)
from hazardmill.formalism.document.document import Document, FluentDecl, ObjectDecl
from hazardmill.formalism.document.expressions import Expr
from tests.evaluation.safel.figuring import figures_of
from tests.evaluation.safel.toaster import A, fluent, no, toaster

TOASTED, ON = GroundLiteral("toasted", ("sandwich",)), GroundLiteral("on", ("toaster",))
OFF = GroundLiteral("on", ("toaster",), positive=False)
INSIDE = GroundLiteral("inside", ("sandwich", "box"))
BOX = [ObjectDecl("sandwich", "food"), ObjectDecl("toaster", "appliance"), ObjectDecl("box", "appliance")]


def boxed(goal: Expr = True) -> Document:
    return toaster(objects=BOX, goal=goal)


def example() -> Document:
    return boxed(
        ("and", fluent("toasted", "sandwich"), no(fluent("on", "toaster")), fluent("inside", "sandwich", "box"))
    )


def scored(document: Document, answer: str, finish_reason: str | None = None) -> GoalScore:
    return score_goal(document, read_goal(document, answer, finish_reason))


def literals(goal: Expr) -> frozenset[GroundLiteral]:
    found = true_goal(boxed(goal))
    assert found.excluded is None
    return found.literals


# The worked example


def test_a_wrong_sign_is_no_hit() -> None:
    answer = "```pddl\n(toasted sandwich)\n(inside sandwich box)\n(on toaster)\n```"
    score = scored(example(), answer)
    assert score.unary == AnswerOverlap(hits=1, named=2, true=2)
    assert score.relational == AnswerOverlap(hits=1, named=1, true=1)
    assert (score.unary.recall, score.relational.recall) == (0.5, 1.0)


def test_a_literal_with_both_signs_states_nothing() -> None:
    both = "(toasted sandwich)\n(not (toasted sandwich))\n(on toaster)\n(not (on toaster))\n(inside sandwich box)"
    score = scored(example(), f"```pddl\n{both}\n```")
    assert score.unary == AnswerOverlap(hits=0, named=0, true=2)
    assert score.relational == AnswerOverlap(hits=1, named=1, true=1)


def test_pooled_and_mean_differ_where_scenarios_differ_in_size() -> None:
    first = scored(example(), "```\n(toasted sandwich) (inside sandwich box) (on toaster)\n```")
    goal = ("and", fluent("toasted", "sandwich"), no(fluent("on", "toaster")), no(fluent("on", "box")))
    second = scored(
        boxed((*goal, fluent("hand_free"))),
        "```\n(toasted sandwich) (not (on toaster)) (not (on box)) (hand_free)\n```",
    )
    assert second.unary == AnswerOverlap(4, 4, 4)
    figures = figures_of([first, second])
    assert figures.measures["S_u-R"].value == 5 / 6
    assert figures.measures["S_u-R mean"].value == 0.75
    # The second goal has nothing relational: it is no zero among the mean.
    relational = figures.measures["S_r-R mean"]
    assert (relational.value, relational.n) == (1.0, 1)
    assert figures.answers == 2


# The truth


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (fluent("toasted", "sandwich"), {TOASTED}),
        (("and", fluent("toasted", "sandwich"), ("and", no(no(fluent("toasted", "sandwich"))))), {TOASTED}),
        (("forall", (("?a", "appliance"),), no(fluent("on", "?a"))), {OFF, GroundLiteral("on", ("box",), False)}),
        (no(("exists", (("?a", "appliance"),), fluent("on", "?a"))), {OFF, GroundLiteral("on", ("box",), False)}),
        (no(("imply", fluent("toasted", "sandwich"), fluent("on", "toaster"))), {TOASTED, OFF}),
        (("exists", (("?f", "food"),), fluent("toasted", "?f")), {TOASTED}),
        (
            (
                "forall",
                (("?a", "appliance"),),
                ("imply", no(("same", "?a", "box")), no(fluent("on", "?a"))),
            ),
            {OFF},
        ),
        (True, set()),
    ],
)
def test_a_goal_is_a_set_of_ground_literals(goal: Expr, expected: set[GroundLiteral]) -> None:
    assert literals(goal) == expected


@pytest.mark.parametrize(
    "goal",
    [
        ("or", fluent("toasted", "sandwich"), fluent("on", "toaster")),
        ("imply", fluent("toasted", "sandwich"), fluent("on", "toaster")),
        ("and", fluent("hand_free"), ("exists", (("?a", "appliance"),), fluent("on", "?a"))),
    ],
)
def test_a_goal_with_a_choice_is_excluded_and_counted(goal: Expr) -> None:
    document = boxed(goal)
    assert true_goal(document).excluded == "disjunction"
    score = scored(document, "```\n(toasted sandwich)\n```")
    assert (score.unary, score.relational) == (None, None)
    figures = figures_of([score, scored(example(), "")])
    assert (score.excluded, figures.counts["excluded"]) == ("disjunction", 1)
    assert (figures.answers, figures.measures["S_u-R"].n) == (2, 2)


def test_a_goal_that_never_holds_is_excluded() -> None:
    assert true_goal(boxed(("and", fluent("hand_free"), False))).excluded == "never_holds"


def test_comparisons_of_integers_are_counted_and_left_out() -> None:
    level = fluent("level", "toaster")
    document = toaster(
        fluents=[*toaster().fluents, FluentDecl("level", (A,), integer=True)],
        goal=("and", (">=", level, 3), no(("=", level, 4)), fluent("hand_free")),
    )
    truth = true_goal(document)
    assert (truth.literals, truth.comparisons) == ({GroundLiteral("hand_free")}, 2)
    read = read_goal(document, "```\n(and (hand_free) (>= (level toaster) 3))\n```")
    assert (read.literals, read.comparisons) == ({GroundLiteral("hand_free")}, 1)
    score = score_goal(document, read)
    assert score.unary == AnswerOverlap(1, 1, 1)
    assert figures_of([score]).counts["comparisons"] == 2


# How answers are read

FORMS = [
    "```pddl\n(toasted sandwich)\n(not (on toaster))\n(inside sandwich box)\n```",
    "The goal is\n```\n(:goal (and (toasted sandwich) (not (on toaster)) (inside sandwich box)))\n```\nDone (I hope).",
    "(and (toasted sandwich) (not (on toaster))\n     (inside sandwich box))",
    "Sure (why not):\n- (toasted sandwich)\n- (not (on toaster))\n- (inside sandwich box)\n\nThat is all (really).",
    "1. toasted(sandwich)\n2. not on(toaster)\n3. inside(sandwich, box)",
    "```\n; what it comes down to (on toaster)\n(TOASTED Sandwich) (not(on toaster)) (inside sandwich box)\n```",
    "```\ntoasted sandwich\nnot on toaster\ninside sandwich box\n```",
    '```json\n["(toasted sandwich)", "(not (on toaster))", "(inside sandwich box)"]\n```',
    'Sure: {"goal": ["toasted sandwich", "not on toaster", "inside(sandwich, box)"]} as asked',
    '[["toasted", "sandwich"], ["not", ["on", "toaster"]], ["inside", "sandwich", "box"]]',
    '{"node goals": [["toasted", "sandwich"], ["not", "on", "toaster"]], '
    '"edge goals": [["inside", "sandwich", "box"]]}',
    '["and", ["toasted", "sandwich"], ["not", ["on", "toaster"]], ["fluent", "inside", "sandwich", "box"]]',
    '{"literals": [{"predicate": "toasted", "arguments": ["sandwich"]}, {"predicate": "on", "args": ["toaster"], '
    '"negated": true}, {"name": "inside", "objects": ["sandwich", "box"], "value": true}]}',
    "<think>(on toaster) perhaps</think>```\n(toasted sandwich) (not (on toaster)) (inside sandwich box)\n```",
    "First idea:\n```\n(on toaster)\n```\nBetter:\n"
    "```\n(and (toasted sandwich) (not (on toaster)) (inside sandwich box))\n```",
    "```\n(and (forall (?f - food) (toasted ?f)) (not (on toaster)) (inside sandwich box) (inside sandwich box))\n```",
]


@pytest.mark.parametrize("answer", FORMS)
def test_the_goal_is_found_in_every_form(answer: str) -> None:
    read = read_goal(example(), answer)
    assert read.literals == {TOASTED, OFF, INSIDE}
    assert (read.status, read.undeclared, read.problem) == ("answered", (), None)


def test_names_are_not_corrected() -> None:
    score = scored(
        example(), "```\n(toasted sandwiches) (inside sandwich box) (is_off toaster) (over box toaster)\n```"
    )
    assert score.undeclared == ("sandwiches", "is_off", "over")
    assert score.unary == AnswerOverlap(hits=0, named=2, true=2)
    assert score.relational == AnswerOverlap(hits=1, named=2, true=1)
    assert figures_of([score]).counts["undeclared"] == 1


def test_the_order_of_arguments_counts() -> None:
    assert scored(example(), "```\n(inside box sandwich)\n```").relational == AnswerOverlap(0, 1, 1)


def test_an_answer_of_invented_names_is_wrong_and_not_unreadable() -> None:
    assert read_goal(example(), "```\n(is_warm bread)\n```").status == "answered"
    assert read_goal(example(), "It should be warm (is_warm bread).").status == "malformed"


@pytest.mark.parametrize("answer", ["```\n(and)\n```", "[]", '{"goal": []}'])
def test_an_empty_goal_is_an_answer(answer: str) -> None:
    read = read_goal(example(), answer)
    assert (read.status, read.literals) == ("answered", frozenset())


@pytest.mark.parametrize(
    ("answer", "finish_reason", "status"),
    [
        ("", None, "empty"),
        ("I can't help with that.", None, "refused"),
        ("", "content_filter", "refused"),
        ("The sandwich is warm in the end.", None, "malformed"),
        ("```\n(not (toasted sandwich) (on toaster))\n```", None, "malformed"),
        ("```\n(toasted sandwich\n```", "length", "malformed"),
        ("[[[[" * 5_000, None, "malformed"),
        ("(" * 5_000, None, "malformed"),
        ("(and " * 100 + "(or (on toaster) (on box))" + ")" * 100, None, "answered"),
        ("(and " * 200 + "(on toaster)" + ")" * 200, None, "malformed"),
    ],
)
def test_what_cannot_be_read_names_nothing_and_is_kept_apart(
    answer: str, finish_reason: str | None, status: str
) -> None:
    score = scored(example(), answer, finish_reason)
    assert score.status == status
    assert score.unary == AnswerOverlap(0, 0, 2)
    assert figures_of([score]).statuses == {status: 1}
    assert figures_of([score]).measures["S_u-R"].value == 0


def test_names_that_no_file_can_hold_are_reported_as_escapes() -> None:
    read = read_goal(example(), '[["toasted", "\\ud800bread"], ["on", "' + "x" * 500 + '"]]')
    assert read.undeclared == ("\\ud800bread", "x" * 80)


def test_a_disjunction_in_an_answer_names_no_literal() -> None:
    read = read_goal(example(), "```\n(and (toasted sandwich) (or (on toaster) (on box)))\n```")
    assert (read.literals, read.disjunctions) == ({TOASTED}, 1)


@pytest.mark.parametrize(
    "text", ["(and (hand_free) (not (on toaster)", "(:goal (not (on toaster))", "(not(on toaster)"]
)
def test_of_an_expression_that_was_cut_off_no_part_is_read(text: str) -> None:
    for answer in (text, f"```\n{text}\n```", f"It is {text}", json.dumps([text])):
        read = read_goal(example(), answer)
        assert (read.status, read.literals) == ("malformed", frozenset())


def test_an_open_parenthesis_in_prose_does_no_harm() -> None:
    assert read_goal(example(), "Well :( this is hard (at first. (on toaster)").literals == {ON}


@pytest.mark.parametrize("count", [2, 3, 4_000, 4_001])
def test_a_pair_of_negations_is_none(count: int) -> None:
    for answer in ("not " * count + "(on toaster)", json.dumps(["not " * count + "on toaster"])):
        assert read_goal(example(), answer).literals == {OFF if count % 2 else ON}


def test_an_answer_that_would_unfold_without_end_is_not_read() -> None:
    document = toaster(objects=[*BOX, *(ObjectDecl(f"bread_{number}", "food") for number in range(60))])
    variables = " ".join(f"?v{number} - food" for number in range(9))
    read = read_goal(document, f"```\n(forall ({variables}) (toasted ?v1))\n```")
    assert (read.status, read.literals) == ("malformed", frozenset())
    assert read.problem is not None


NAMES = st.sampled_from(["toasted", "on", "inside", "sandwich", "box", "lid", "?x", "not", "and", "forall", "="])
TREES: st.SearchStrategy[Any] = st.recursive(NAMES, lambda inner: st.lists(inner, max_size=4), max_leaves=12)


@given(value=TREES, text=st.booleans())
def test_no_answer_breaks_the_reader(value: Any, text: bool) -> None:
    answer = (
        str(value).replace("[", "(").replace("]", ")").replace("'", "").replace(",", "") if text else json.dumps(value)
    )
    document = example()
    score = scored(document, answer)
    assert score.unary is not None and score.unary.hits <= min(score.unary.named, 2)


LITERALS = st.sets(
    st.builds(
        lambda name, sign: GroundLiteral(name[0], name[1:], sign),
        st.sampled_from(
            [("toasted", "sandwich"), ("on", "box"), ("on", "toaster"), ("inside", "sandwich", "box"), ("hand_free",)]
        ),
        st.booleans(),
    ),
    min_size=1,
)


@given(chosen=LITERALS)
def test_a_goal_that_is_written_out_is_read_back(chosen: set[GroundLiteral]) -> None:
    parts = [fluent(each.fluent, *each.arguments) for each in sorted(chosen)]
    goal = ("and", *(part if each.positive else no(part) for part, each in zip(parts, sorted(chosen), strict=True)))
    document = boxed(goal)
    assert true_goal(document).literals == chosen
    read = read_goal(document, "```\n" + "\n".join(map(str, chosen)) + "\n```")
    twofold = {each for each in chosen if replace(each, positive=not each.positive) in chosen}
    assert read.literals == chosen - twofold
    if twofold:
        return
    score = score_goal(document, read)
    assert score.unary is not None and score.relational is not None
    assert {score.unary.recall, score.relational.recall} <= {None, 1.0}
