from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import freeze, is_literal, negate, nnf, render, substitute, walk
from hazardmill.formalism.semantics.condition_compiler import ALWAYS, NEVER, CompiledCondition, conjunction, disjunction
from hazardmill.formalism.semantics.explain import evaluate, ground_nnf, supporting_literals, unmet_literals
from hazardmill.formalism.semantics.transition_system import System

from .oracle import Oracle
from .random_tasks import Maker


@st.composite
def conditions_in_states(draw):
    """A task whose initial state is random, and a ground condition on it."""
    maker = Maker(draw, finite=False)
    task = maker.task()
    return task, maker.condition([], 3)


@settings(
    max_examples=150,
)
@given(conditions_in_states())
def test_a_condition_has_one_truth(case):
    task, condition = case
    expected = Oracle(task).holds(condition, {}, Oracle(task).start)
    system = System(Document.from_json(task))
    state = (system.initial.bits, system.initial.numbers)
    expr = freeze(condition)
    for positive in (True, False):
        assert system.compiler.condition(expr, {}, positive).holds(*state) == (expected == positive)
        assert evaluate(system, ground_nnf(system, expr if positive else negate(expr), {}), *state) == (
            expected == positive
        )
    # What explains a condition is there exactly where it is needed.
    ground = ground_nnf(system, expr, {})
    assert bool(unmet_literals(system, ground, *state)) == (not expected)
    if expected:
        assert all(evaluate(system, literal, *state) for literal in supporting_literals(system, ground, *state))


@given(conditions_in_states())
@settings(
    max_examples=60,
)
def test_negation_normal_form(case):
    form = nnf(freeze(case[1]), positive=False)
    for node in walk(form):
        if isinstance(node, tuple):
            assert node[0] != "imply"
            assert node[0] != "not" or (is_literal(node) and node[1][0] in ("fluent", "same", "="))
    assert nnf(form) == form


def test_forms_that_hold_everywhere_or_nowhere():
    bit = CompiledCondition(1, 1)
    assert conjunction([]) == ALWAYS and disjunction([]) == NEVER
    assert conjunction([bit, CompiledCondition(1, 0)]).never and conjunction([bit, NEVER]).never
    assert disjunction([bit, ALWAYS]).always
    assert conjunction([bit, ALWAYS]) == bit and disjunction([bit, NEVER]) == bit
    assert not bit.always and not bit.never


def test_substitution_respects_inner_variables():
    expr = ("and", ("fluent", "at", "?x"), ("exists", (("?x", "place"),), ("same", "?x", "?y")), ("=", 1, 1))
    bound = ("and", ("fluent", "at", "a"), ("exists", (("?x", "place"),), ("same", "?x", "b")), ("=", 1, 1))
    assert substitute(expr, {"?x": "a", "?y": "b"}) == bound


def test_render():
    expr = (
        "forall",
        (("?x", "place"), ("?y", "room")),
        ("imply", ("fluent", "at", "?x"), ("not", ("same", "?x", "?y"))),
    )
    assert render(expr) == "(forall (?x - place ?y - room) (imply (at ?x) (not (= ?x ?y))))"
    assert render(("and", True, False, (">=", ("-", ("fluent", "n"), 2), ("+", 1, 2)))) == (
        "(and true false (>= (- (n) 2) (+ 1 2)))"
    )
