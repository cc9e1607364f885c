from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import (
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
)
from hazardmill.formalism.search.engines.propositional import propositional
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from .support import kitchen


def both(document: Document) -> Document:
    """``document`` with effects and conditions that only grounding can decide."""
    go = next(action for action in document.actions if action.name == "go")
    wave = ActionDecl(
        "wave",
        (Parameter("?a", "place"), Parameter("?b", "room")),
        ("or", ("forall", (("?r", "room"),), ("fluent", "at", "?r")), ("not", ("same", "?a", "?b")), False),
        (
            Effect("assign", ("fluent", "at", "?a"), False),
            Effect("assign", ("fluent", "at", "?b"), True, ("fluent", "hot")),
            Effect("assign", ("fluent", "rung", "?a"), True, ("=", ("fluent", "steps"), 1)),
        ),
    )
    entry = DangerEntry("wave", ("imply", ("same", "?a", "?b"), ("fluent", "rung", "?a")), -1)
    others = [action for action in document.actions if action.name != "go"]
    return kitchen(actions=[go, *others, wave], dangers=[*document.dangers, entry])


DOCUMENT = both(kitchen())
GROUND, MEANING = propositional(DOCUMENT)


def test_nothing_is_left_to_ground() -> None:
    assert GROUND.types == GROUND.objects == ()
    assert not any(declared.parameters for declared in (*GROUND.fluents, *GROUND.actions))
    assert len(set(MEANING.values())) == len(MEANING) == len(GROUND.actions)
    # (go hall hall) and (go table table) contradict their own precondition.
    assert sorted(args for name, args in MEANING.values() if name == "go") == [("hall", "table"), ("table", "hall")]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(sorted(MEANING)), max_size=7))
def test_plans_mean_the_same(names: list[str]) -> None:
    lifted = " ".join("(" + " ".join((MEANING[name][0], *MEANING[name][1])) + ")" for name in names)
    ground = " ".join(f"({name})" for name in names)
    assert PlanValidator(System(GROUND)).quick(ground) == PlanValidator(System(DOCUMENT)).quick(lifted)


@pytest.mark.parametrize(
    "conditions", list(itertools.product((True, ("fluent", "a"), ("fluent", "b")), repeat=2)), ids=str
)
def test_no_fluent_is_both_set_and_cleared(conditions: tuple[object, object]) -> None:
    target = ("fluent", "goal")
    document = Document.of(
        fluents=[FluentDecl(name) for name in ("a", "b", "goal")],
        actions=[
            ActionDecl(
                "act",
                (),
                True,
                (Effect("assign", target, True, conditions[0]), Effect("assign", target, False, conditions[1])),
            )
        ],
        initial={("goal",): True},
        goal=target,
    )
    for a, b in itertools.product((False, True), repeat=2):
        state = Document.of(**{**vars(document), "initial": {("a",): a, ("b",): b, ("goal",): True}})
        ground, meaning = propositional(state)
        assert PlanValidator(System(ground)).quick(f"({next(iter(meaning))})") == PlanValidator(System(state)).quick(
            "(act)"
        )
        clearing = [effect.condition for effect in ground.actions[0].effects if effect.value is False]
        setting = [effect.condition for effect in ground.actions[0].effects if effect.value is True]
        assert True not in clearing or not setting


def test_a_task_too_large_to_ground_is_refused() -> None:
    objects = [*kitchen().objects, *(ObjectDecl(f"room{i}", "room") for i in range(40))]
    with pytest.raises(NotExpressible, match="too large once it is ground"):
        propositional(kitchen(objects=objects))
