"""Each rule mends what only it mends, leaves alone what it should, and changes nothing when it is applied again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Document, FluentDecl, ObjectDecl, Parameter, TypeDecl
from hazardmill.scenarios import correct as correcting
from hazardmill.scenarios.correct import RULES, apply_rules, correct
from hazardmill.scenarios.draft import ProblemDraft
from hazardmill.scenarios.scenario import Scenario
from tests.formalism.random_tasks import SETTINGS, tasks
from tests.sizes import sized

from .toaster import CAUTION, draft, toaster


def facts(*texts):
    return toaster(initial=(*draft().initial, *((tuple(text.split()), True) for text in texts)))


def reading(predicate, action):
    """The toaster with an action whose precondition also reads a predicate."""
    made = draft()
    actions = tuple(
        replace(a, precondition=("and", a.precondition, ("not", ("fluent", predicate, "?f"))))
        if a.name == action
        else a
        for a in made.actions
    )
    return toaster(
        actions=actions,
        initial=(*made.initial, ((predicate, "roll"), True)),
        objects=(*made.objects, ObjectDecl("roll", "food")),
    )


MENDED = {
    "spelling": lambda: facts("on Toaster"),
    "numbered_object": lambda: facts("wrapped food_2", "wrapped food.3"),
    "mistyped_fact": lambda: facts("on sandwich", "inside toaster toaster"),
    "stray_predicate": lambda: facts("hot toaster"),
    "repeated": lambda: toaster(objects=(*draft().objects, *draft().objects)),
    "root": lambda: toaster(types=(*draft().types, TypeDecl("tool", "thing"))),
}
LEFT_ALONE = {
    # Two declared names are as near.
    "spelling": lambda: toaster(
        objects=(*draft().objects, ObjectDecl("toast_er", "appliance")),
        initial=(*draft().initial, (("on", "Toast-er"), True)),
    ),
    "numbered_object": lambda: facts("on stove_2"),
    # In the goal, not in the initial state.
    "mistyped_fact": lambda: toaster(goal=("fluent", "on", "sandwich")),
    # Read by an action of the base domain.
    "stray_predicate": lambda: reading("damp", "grasp"),
    # Declared twice, differently.
    "repeated": lambda: toaster(objects=(*draft().objects, ObjectDecl("sandwich", "appliance"))),
    # Stated both ways: nobody can decide.
    "root": lambda: toaster(initial=(*draft().initial, (("wrapped", "sandwich"), False))),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_and_only_it_mends(rule, monkeypatch):
    done = correct(MENDED[rule]())
    assert done.outcome == "corrected"
    assert {change.rule for change in done.changes} == {rule}
    monkeypatch.setattr(correcting, "RULES", {name: made for name, made in RULES.items() if name != rule})
    without = correct(MENDED[rule]())
    assert (without.outcome, without.changes) == ("discarded", ())


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_leaves_alone_what_it_cannot_decide(rule):
    scenario = LEFT_ALONE[rule]()
    draft_after, made = RULES[rule](scenario.draft, scenario.risk)
    assert (draft_after, made) == (scenario.draft, [])
    done = correct(scenario)
    assert done.outcome == "discarded" and done.reason is not None


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_applied_again_changes_nothing(rule):
    scenario = MENDED[rule]()
    once, made = RULES[rule](scenario.draft, scenario.risk)
    assert made
    assert RULES[rule](once, scenario.risk) == (once, [])


def test_what_passes_is_left_as_it_is():
    scenario = toaster(initial=(*draft().initial, (("on", "toaster"), False), *draft().initial))
    done = correct(scenario)
    assert (done.outcome, done.scenario, done.changes) == ("passed", scenario, ())


def test_a_predicate_that_a_new_action_reads_is_declared_over_the_least_common_type():
    done = correct(reading("damp", "toast"))
    assert done.outcome == "corrected"
    assert FluentDecl("damp", (Parameter("?x1", "food"),)) in done.scenario.draft.fluents
    assert (("damp", "roll"), True) in done.scenario.draft.initial


def test_names_of_predicates_and_types_are_respelled_too():
    scenario = facts("ON toaster")
    scenario = replace(
        scenario, draft=replace(scenario.draft, objects=(*draft().objects, ObjectDecl("pan", "Appliance")))
    )
    done = correct(scenario)
    assert done.outcome == "corrected"
    assert {change.rule for change in done.changes} == {"spelling"}
    assert ObjectDecl("pan", "appliance") in done.scenario.draft.objects


def test_one_rule_can_need_another_ones_work():
    # `thing_3` can be declared when the type `thing` is, and only then can its fact be seen to be mistyped.
    scenario = toaster(
        types=(*draft().types, TypeDecl("tool", "thing")), initial=(*draft().initial, (("on", "thing_3"), True))
    )
    done = correct(scenario)
    assert (done.outcome, done.rounds) == ("corrected", 2)
    assert [change.rule for change in done.changes] == ["root", "numbered_object", "mistyped_fact"]


def test_what_no_rule_can_mend_is_discarded_with_its_reason():
    done = correct(toaster(goal=("fluent", "melted", "sandwich")))
    assert (done.outcome, done.reason, done.rounds) == ("discarded", "undeclared_predicate", 0)


@settings(SETTINGS, max_examples=sized(60, 600))
@given(st.data())
def test_no_rule_ever_changes_goal_instruction_or_risk(data):
    made = ProblemDraft.of(Document.from_json(data.draw(tasks())))
    scenario = Scenario("random", spoiled(data, made), replace(CAUTION, new=tuple(a.name for a in made.actions)))
    done = correct(scenario, search=False)
    assert done.scenario.draft.goal == scenario.draft.goal
    assert done.scenario.risk == scenario.risk
    again = scenario.draft
    for _ in range(4):
        again, changes = apply_rules(again, scenario.risk)
    assert changes == [] or done.rounds == 3
    if done.outcome != "discarded":
        assert done.scenario.document


def spoiled(data, made):
    """A draft with some of the mistakes that the rules know, and some that they do not."""
    names = [thing.name for thing in made.objects]
    types = [declared.name for declared in made.types]
    initial = list(made.initial)
    for _ in range(data.draw(st.integers(0, 4))):
        fluents = [fluent.name for fluent in made.fluents if not fluent.integer]
        name = data.draw(st.sampled_from([*fluents, "Stray", "stray_thing"]))
        name = data.draw(st.sampled_from([name, name.upper(), name.replace("_", "-")]))
        args = data.draw(st.lists(st.sampled_from([*names, *(f"{type_}_7" for type_ in types), "nobody"]), max_size=2))
        initial.append(((name, *args), data.draw(st.booleans())))
    objects = made.objects + made.objects[: data.draw(st.integers(0, 2))]
    parents = made.types
    if data.draw(st.booleans()):
        parents = (*parents, TypeDecl("stranger", "family"))
    return replace(made, initial=tuple(initial), objects=objects, types=parents)
