"""Transition modelling: normal forms, the score, equality by meaning, how answers are read."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.evaluation.abilities.answers import AnswerOverlap
from hazardmill.evaluation.safel.normal_form import conjuncts, normal_condition, places_of
from hazardmill.evaluation.safel.transition import (
    Asked,
    TransitionScore,
    read_transition,
    score_transition,
)
from hazardmill.formalism.document.document import (
    ActionDecl,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
)
from hazardmill.formalism.document.expressions import Expr, substitute
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.formalism.formats.pddl.reader import read_pddl
from tests.evaluation.safel.figuring import figures_of
from tests.evaluation.safel.toaster import A, F, action, fluent, no, sets, toaster

TOASTER = toaster()
PROBLEM = {"behavior": 0, "virtualhome": 1}
"""Which problem of a published domain is read."""
OTHER = Parameter("?other", "food")
FOODS = [ObjectDecl("sandwich", "food"), ObjectDecl("bun", "food"), ObjectDecl("toaster", "appliance")]


def scored(
    document: Document,
    name: str,
    asked: Asked,
    answer: str,
    *,
    lifted: list[LiftedEffect] | None = None,
    limit: int = 100_000,
) -> TransitionScore:
    declared = action(document, name)
    read = read_transition(document, declared, asked, answer)
    return score_transition(document, declared, read, lifted=lifted, limit=limit)


def fenced(text: str) -> str:
    return f"Let me think (briefly).\n```pddl\n{text}\n```\n"


def with_action(declared: ActionDecl, **changes: object) -> Document:
    actions = [each for each in TOASTER.actions if each.name != declared.name]
    return toaster(actions=[*actions, declared], **changes)


# The worked example


def test_the_score_divides_by_what_is_true_and_never_by_the_shorter_list() -> None:
    score = scored(TOASTER, "insert", "effects", fenced("(inside ?f ?a)"))
    assert score.conditions == AnswerOverlap(hits=1, named=1, true=3)
    assert (score.conditions.recall, score.conditions.precision) == (1 / 3, 1.0)
    assert score.equal is False


def test_the_whole_half_scores_one_in_any_order() -> None:
    score = scored(TOASTER, "insert", "effects", fenced("(and (not (held ?f)) (hand_free) (inside ?f ?a))"))
    assert (score.conditions.recall, score.conditions.precision, score.equal) == (1.0, 1.0, True)
    score = scored(TOASTER, "toast", "preconditions", fenced("(and (not (wrapped ?f)) (on ?a) (inside ?f ?a))"))
    assert (score.conditions.recall, score.conditions.precision, score.equal) == (1.0, 1.0, True)


def test_a_missing_precaution_costs_its_share() -> None:
    score = scored(TOASTER, "toast", "preconditions", fenced("(and (inside ?f ?a) (on ?a))"))
    assert score.conditions == AnswerOverlap(hits=2, named=2, true=3)
    assert score.equal is False


def test_where_nothing_is_true_there_is_no_score() -> None:
    document = with_action(ActionDecl("wait", (), True, ()))
    for asked in ("effects", "preconditions"):
        score = scored(document, "wait", asked, fenced("(and)"))
        assert score.conditions == AnswerOverlap(0, 0, 0)
        assert (score.conditions.recall, score.equal) == (None, True)
    assert scored(document, "wait", "effects", fenced("(hand_free)")).conditions == AnswerOverlap(0, 1, 0)


# Normal forms

PLACES = places_of((F, A))
INSIDE, ON, WRAPPED = fluent("inside", "?f", "?a"), fluent("on", "?a"), fluent("wrapped", "?f")


@pytest.mark.parametrize(
    ("left", "right", "count"),
    [
        (("and", INSIDE, ON), ("and", ON, ("and", INSIDE), INSIDE), 2),
        (no(no(INSIDE)), INSIDE, 1),
        (("and", INSIDE, True), INSIDE, 1),
        (True, ("and",), 0),
        (("or", INSIDE, ON), ("or", ON, INSIDE), 1),
        (no(("or", INSIDE, ON)), ("and", no(ON), no(INSIDE)), 2),
        (("imply", INSIDE, ON), ("or", ON, no(INSIDE)), 1),
        (("same", "?f", "sandwich"), ("same", "sandwich", "?f"), 1),
        ((">", fluent("level"), 2), ("<", 2, fluent("level")), 1),
        (no((">=", fluent("level"), 2)), ("<", fluent("level"), 2), 1),
        (
            ("forall", (("?x", "food"),), ("and", fluent("held", "?x"), fluent("wrapped", "?x"))),
            ("and", *(("forall", (("?y", "food"),), fluent(name, "?y")) for name in ("wrapped", "held"))),
            2,
        ),
        (
            ("exists", (("?x", "food"), ("?y", "appliance")), fluent("inside", "?x", "?y")),
            ("exists", (("?p", "food"),), ("exists", (("?q", "appliance"),), fluent("inside", "?p", "?q"))),
            1,
        ),
    ],
)
def test_these_are_the_same_conditions(left: Expr, right: Expr, count: int) -> None:
    assert normal_condition(left, PLACES) == normal_condition(right, PLACES)
    assert len(conjuncts(normal_condition(left, PLACES))) == count


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (INSIDE, no(INSIDE)),
        (fluent("near", "?f", "?a"), fluent("near", "?a", "?f")),
        (("exists", (("?x", "food"),), WRAPPED), ("exists", (("?x", "appliance"),), WRAPPED)),
        (
            ("exists", (("?x", "food"), ("?y", "food")), fluent("near", "?x", "?y")),
            ("exists", (("?x", "food"), ("?y", "food")), fluent("near", "?y", "?x")),
        ),
        (("forall", (("?x", "food"),), WRAPPED), ("exists", (("?x", "food"),), WRAPPED)),
    ],
)
def test_these_are_not(left: Expr, right: Expr) -> None:
    assert normal_condition(left, PLACES) != normal_condition(right, PLACES)


OBJECTS = {"food": ("sandwich", "bun"), "appliance": ("toaster",), "tool": ()}
GROUND = [
    fluent("hand_free"),
    *(fluent("wrapped", food) for food in OBJECTS["food"]),
    *(fluent("near", left, right) for left in OBJECTS["food"] for right in OBJECTS["food"]),
]
ARGUMENTS = st.sampled_from(["sandwich", "bun", "?x", "?y"])


def _quantified(head: str, variables: tuple[tuple[str, str], ...], body: Expr) -> Expr:
    return (head, variables, body)


CONDITIONS: st.SearchStrategy[Expr] = st.recursive(
    st.one_of(
        st.booleans(),
        st.just(fluent("hand_free")),
        st.builds(lambda arg: fluent("wrapped", arg), ARGUMENTS),
        st.builds(lambda left, right: fluent("near", left, right), ARGUMENTS, ARGUMENTS),
        st.builds(lambda left, right: ("same", left, right), ARGUMENTS, ARGUMENTS),
    ),
    lambda inner: st.one_of(
        st.builds(no, inner),
        st.builds(lambda head, parts: (head, *parts), st.sampled_from(["and", "or"]), st.lists(inner, max_size=3)),
        st.builds(lambda left, right: ("imply", left, right), inner, inner),
        st.builds(
            _quantified,
            st.sampled_from(["forall", "exists"]),
            st.sampled_from([(("?x", "food"),), (("?x", "food"), ("?y", "food")), (("?y", "tool"),)]),
            inner,
        ),
    ),
    max_leaves=8,
)


def holds(expr: Expr, true: frozenset[Expr], bound: dict[str, str], level: int = 1) -> bool:
    """Whether a condition holds, as written or in normal form, in as few words as possible."""
    if isinstance(expr, bool):
        return expr
    head, *parts = expr
    if head in ("and", "or"):
        return (all if head == "and" else any)(holds(part, true, bound, level) for part in parts)
    if head == "imply":
        return not holds(parts[0], true, bound, level) or holds(parts[1], true, bound, level)
    if head == "not":
        return not holds(parts[0], true, bound, level)
    if head == "same":
        return bound.get(parts[0], parts[0]) == bound.get(parts[1], parts[1])
    if head == "fluent":
        return fluent(parts[0], *(bound.get(arg, arg) for arg in parts[1:])) in true
    # A normal form binds one variable at a time, named by its place.
    variables = ((f"?{level}", parts[0]),) if isinstance(parts[0], str) else parts[0]
    choices = itertools.product(*(OBJECTS[type_] for _, type_ in variables))
    names = [name for name, _ in variables]
    inner = level + len(variables)
    found = (holds(parts[1], true, {**bound, **dict(zip(names, things, strict=True))}, inner) for things in choices)
    return all(found) if head == "forall" else any(found)


@given(condition=CONDITIONS, true=st.frozensets(st.sampled_from(GROUND)), outer=st.sampled_from(OBJECTS["food"]))
def test_a_normal_form_means_the_same(condition: Expr, true: frozenset[Expr], outer: str) -> None:
    places = {"?x": "#1", "?y": "#2"}
    normal = normal_condition(condition, places)
    assert holds(normal, true, {"#1": outer, "#2": "bun"}) == holds(condition, true, {"?x": outer, "?y": "bun"})


@given(condition=CONDITIONS)
def test_order_and_double_negations_make_no_difference(condition: Expr) -> None:
    def turned(expr: Expr) -> Expr:
        if isinstance(expr, bool) or expr[0] in ("fluent", "same"):
            return no(no(expr))
        if expr[0] in ("forall", "exists"):
            renamed = tuple((f"{name}-2", type_) for name, type_ in expr[1])
            binding = {name: f"{name}-2" for name, _ in expr[1]}
            return (expr[0], renamed, substitute(turned(expr[2]), binding))
        if expr[0] == "imply":
            return ("or", turned(expr[2]), no(turned(expr[1])))
        return (expr[0], *map(turned, reversed(expr[1:])))

    assert normal_condition(turned(condition), {}) == normal_condition(condition, {})


# Conditional effects and forall

BURNS = Effect("assign", fluent("toasted", "?f"), True, ("and", WRAPPED, ON))


def test_a_conditional_effect_matches_as_a_pair() -> None:
    document = with_action(ActionDecl("toast", (F, A), INSIDE, (BURNS, sets("hand_free"))))
    whole = "(and (hand_free) (when (and (on ?a) (wrapped ?f)) (toasted ?f)))"
    assert scored(document, "toast", "effects", fenced(whole)).conditions == AnswerOverlap(2, 2, 2)
    nested = "(and (hand_free) (when (on ?a) (when (not (not (wrapped ?f))) (toasted ?f))))"
    assert scored(document, "toast", "effects", fenced(nested)).conditions == AnswerOverlap(2, 2, 2)
    for half in ("(toasted ?f)", "(when (on ?a) (toasted ?f))", "(when (and (on ?a) (wrapped ?f)) (not (toasted ?f)))"):
        assert scored(document, "toast", "effects", fenced(half)).conditions == AnswerOverlap(0, 1, 2)


def test_what_stands_under_one_when_is_a_pair_each() -> None:
    when = ("and", WRAPPED, ON)
    effects = (replace(BURNS), sets("on_counter", "?f", when=when))
    document = with_action(ActionDecl("toast", (F, A), INSIDE, effects))
    answer = "(when (and (wrapped ?f) (on ?a)) (and (toasted ?f) (on_counter ?f)))"
    assert scored(document, "toast", "effects", fenced(answer)).conditions == AnswerOverlap(2, 2, 2)


def dropping() -> tuple[Document, list[LiftedEffect]]:
    """Grasping lets go of all other food: as a document has it, and as it was written."""
    lifted = [
        LiftedEffect("assign", fluent("held", "?f"), True),
        LiftedEffect("assign", fluent("held", "?other"), False, no(("same", "?other", "?f")), (OTHER,)),
    ]
    unfolded = [
        Effect("assign", fluent("held", thing), False, no(("same", thing, "?f"))) for thing in ("sandwich", "bun")
    ]
    declared = ActionDecl("grasp", (F,), True, (sets("held", "?f"), *unfolded))
    return with_action(declared, objects=FOODS), lifted


FORALL = "(and (forall (?x - food) (when (not (= ?f ?x)) (not (held ?x)))) (held ?f))"


def test_effects_as_written_are_the_truth_where_they_are_known() -> None:
    document, lifted = dropping()
    score = scored(document, "grasp", "effects", fenced(FORALL), lifted=lifted)
    assert (score.conditions, score.equal) == (AnswerOverlap(2, 2, 2), True)


def test_without_them_the_answer_is_unfolded_too() -> None:
    document, _ = dropping()
    score = scored(document, "grasp", "effects", fenced(FORALL))
    assert (score.conditions, score.equal) == (AnswerOverlap(3, 3, 3), True)


def test_an_unused_variable_of_forall_makes_no_difference() -> None:
    document, lifted = dropping()
    answer = "(forall (?x - food) (and (held ?f) (when (not (= ?x ?f)) (not (held ?x)))))"
    assert scored(document, "grasp", "effects", fenced(answer), lifted=lifted).conditions == AnswerOverlap(2, 2, 2)


def test_forall_over_nothing_states_nothing() -> None:
    document = toaster(objects=[ObjectDecl("sandwich", "food")], goal=True)
    answer = fenced("(and (held ?f) (forall (?x - appliance) (hand_free)))")
    assert scored(document, "grasp", "effects", answer, lifted=[]).conditions == AnswerOverlap(0, 1, 0)


def test_changes_of_numbers_are_effects() -> None:
    level = FluentDecl("level", (A,), integer=True)
    change = Effect("increase", fluent("level", "?a"), 2)
    declared = ActionDecl("switch_on", (F, A), True, (change, sets("on", "?a")))
    document = with_action(declared, fluents=[*TOASTER.fluents, replace(level, upper=10)])
    right = scored(document, "switch_on", "effects", fenced("(and (increase (level ?a) 2) (on ?a))"))
    assert (right.conditions, right.equal) == (AnswerOverlap(2, 2, 2), True)
    wrong = scored(document, "switch_on", "effects", fenced("(and (increase (level ?a) 1) (on ?a))"))
    assert (wrong.conditions, wrong.equal) == (AnswerOverlap(1, 2, 2), False)
    otherwise = scored(document, "switch_on", "effects", fenced("(and (assign (level ?a) (+ (level ?a) 2)) (on ?a))"))
    assert (otherwise.conditions, otherwise.equal) == (AnswerOverlap(1, 2, 2), True)


# Equality by meaning


def test_de_morgan_and_what_always_holds_cost_nothing_by_meaning() -> None:
    answer = "(and (not (or (wrapped ?f) (not (on ?a)))) (inside ?f ?a) (not (held ?f)))"
    score = scored(TOASTER, "toast", "preconditions", fenced(answer))
    # Nothing that is inside is held, in any state that can be reached: the fourth condition adds nothing to the three.
    assert score.conditions == AnswerOverlap(hits=3, named=4, true=3)
    assert score.equal is True


def test_an_effect_that_changes_nothing_costs_nothing_by_meaning() -> None:
    answer = "(and (inside ?f ?a) (hand_free) (not (held ?f)) (not (on_counter ?f)))"
    score = scored(TOASTER, "insert", "effects", fenced(answer))
    assert (score.conditions, score.equal) == (AnswerOverlap(3, 4, 3), True)


def test_a_stricter_precondition_means_something_else() -> None:
    score = scored(TOASTER, "insert", "preconditions", fenced("(and (held ?f) (not (wrapped ?f)))"))
    assert (score.conditions, score.equal) == (AnswerOverlap(1, 2, 1), False)


def test_past_the_limit_equality_is_unknown_and_the_score_is_not() -> None:
    score = scored(TOASTER, "toast", "preconditions", fenced("(and (inside ?f ?a) (not (held ?f)))"), limit=1)
    assert (score.conditions, score.equal) == (AnswerOverlap(1, 2, 3), None)
    score = scored(TOASTER, "insert", "effects", fenced("(and (inside ?f ?a) (hand_free))"), limit=1)
    assert (score.conditions, score.equal) == (AnswerOverlap(2, 2, 3), None)


# How answers are read

FORMS = [
    "(and (inside ?f ?a) (hand_free) (not (held ?f)))",
    "(inside ?f ?a)\n(hand_free)\n(not (held ?f))",
    ":effect (and (inside ?f ?a) (hand_free) (not (held ?f)))",
    "(:action insert :parameters (?x - food ?y - appliance) :precondition (held ?x)\n"
    ":effect (and (inside ?x ?y) (hand_free) (not (held ?x))))",
    ":parameters (?a - food ?f - appliance)\n:effect (and (inside ?a ?f) (hand_free) (not (held ?a)))",
    "(and (INSIDE ?F ?A) (hand_free) (not (held f)))",
    '{"effects": ["(inside ?f ?a)", "(hand_free)", "(not (held ?f))"]}',
    '["inside ?f ?a", "hand_free", "not held ?f"]',
    '{"parameters": ["?x", "?y"], "preconditions": ["held ?x"], "effects": [["inside", "?x", "?y"], "hand_free", '
    '{"predicate": "held", "arguments": ["?x"], "value": false}]}',
    "inside(?f, ?a)\nhand_free()\nnot held(?f)",
]


@pytest.mark.parametrize("text", FORMS)
def test_effects_are_found_in_every_form(text: str) -> None:
    for answer in (fenced(text), text):
        score = scored(TOASTER, "insert", "effects", answer)
        assert (score.status, score.conditions, score.undeclared) == ("answered", AnswerOverlap(3, 3, 3), ())


def test_conditional_effects_are_found_in_json() -> None:
    document, lifted = dropping()
    for text in (
        '["held ?f", ["forall", [["?x", "food"]], ["when", ["not", ["=", "?x", "?f"]], ["not", ["held", "?x"]]]]]',
        '["held ?f", ["forall", "?x - food", {"condition": "(not (= ?x ?f))", "effect": "(not (held ?x))"}]]',
    ):
        assert scored(document, "grasp", "effects", text, lifted=lifted).conditions == AnswerOverlap(2, 2, 2)


def test_the_asked_half_is_taken_where_an_answer_gives_both() -> None:
    answer = fenced("(:action insert :parameters (?f ?a) :precondition (held ?f) :effect (inside ?f ?a))")
    assert scored(TOASTER, "insert", "preconditions", answer).conditions == AnswerOverlap(1, 1, 1)
    assert scored(TOASTER, "insert", "effects", answer).conditions == AnswerOverlap(1, 1, 3)
    prose = "Precondition: (held ?f)\nEffects: (inside ?f ?a)"
    assert scored(TOASTER, "insert", "preconditions", prose).conditions == AnswerOverlap(1, 1, 1)
    only = read_transition(TOASTER, action(TOASTER, "insert"), "effects", fenced(":precondition (held ?f)"))
    assert only.status == "malformed"


def test_names_are_not_corrected() -> None:
    score = scored(TOASTER, "insert", "effects", fenced("(and (inside ?f ?b) (hands_free) (not (held ?f)))"))
    assert score.undeclared == ("?b", "hands_free")
    assert (score.conditions, score.equal) == (AnswerOverlap(1, 3, 3), False)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("", "empty"),
        ("I cannot help with that.", "refused"),
        ("The sandwich is inside then.", "malformed"),
        (fenced("(and (inside ?f ?a) (or (hand_free) (on ?a)))"), "malformed"),
        (fenced("(when (on ?a))"), "malformed"),
    ],
)
def test_an_unreadable_answer_states_nothing(answer: str, status: str) -> None:
    score = scored(TOASTER, "insert", "effects", answer)
    assert (score.status, score.conditions, score.equal) == (status, AnswerOverlap(0, 0, 3), False)


def test_a_forall_that_stands_for_too_much_is_not_read() -> None:
    document = toaster(objects=[*FOODS, *(ObjectDecl(f"bread_{number}", "food") for number in range(60))])
    variables = " ".join(f"?v{number} - food" for number in range(9))
    read = read_transition(
        document, action(document, "insert"), "effects", fenced(f"(forall ({variables}) (held ?v1))")
    )
    assert (read.status, read.effects) == ("malformed", None)
    assert read.problem is not None and "more than 10000" in read.problem


@pytest.mark.parametrize("name", ["behavior", "virtualhome"])
def test_a_published_domain_is_read_as_its_document_has_it(name: str, reference: Path) -> None:
    folder = reference / "data" / "eai" / name
    domain = folder / f"{name}.pddl"
    side = {"context": [], "bounds": {}, "initial_danger": 0, "max_danger": 0, "dangers": []}
    problem = sorted((folder / "problem_pddl").rglob("*.pddl"))[PROBLEM[name]]
    document = read_pddl(domain, problem, side)
    text = domain.read_text(encoding="utf-8")
    written = {match[1]: match[0] for match in re.finditer(r"\(:action\s+(\S+).*?(?=\(:action|\Z)", text, re.DOTALL)}
    assert len(written) == len(document.actions) > 20
    for declared in document.actions:
        for asked in ("effects", "preconditions"):
            read = read_transition(document, declared, asked, fenced(written[declared.name]))
            assert (read.status, read.undeclared) == ("answered", ()), declared.name
            # Its own `forall` is the truth, or is unfolded as the document has it.
            for lifted in {None, read.effects}:
                score = score_transition(document, declared, read, lifted=lifted)
                assert {score.conditions.recall, score.conditions.precision} <= {None, 1.0}, declared.name
                assert score.equal is True


# Figures


def test_primitive_and_new_actions_have_a_mean_each() -> None:
    def one(new: bool | None, hits: int, named: int, true: int, equal: bool | None = False) -> TransitionScore:
        return TransitionScore("a", new, "effects", "answered", AnswerOverlap(hits, named, true), equal, ())

    figures = figures_of(
        [
            one(False, 1, 1, 2),
            one(False, 2, 4, 2, True),
            one(False, 0, 0, 0, None),
            one(True, 1, 2, 4),
            one(None, 9, 9, 9),
        ]
    )
    measures = {name: estimate.value for name, estimate in figures.measures.items()}
    assert (measures["P-score"], measures["N-score"], measures["mean"]) == (0.75, 0.25, 0.5)
    assert (figures.counts["primitive"], figures.measures["P-score"].n) == (3, 2)
    assert (measures["P-precision"], measures["N-precision"]) == (0.75, 0.5)
    # One of two whose meaning is known.
    assert (measures["P-equal"], figures.measures["P-equal"].n, figures.counts["unknown"]) == (0.5, 2, 1)
    alone = {name: estimate.value for name, estimate in figures_of([one(False, 1, 1, 2)]).measures.items()}
    assert (alone["P-score"], alone["N-score"], alone["mean"]) == (0.5, None, None)
