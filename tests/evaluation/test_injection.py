"""Redundancy injection: what is added changes nothing, and what would change something is caught."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import UsageError
from hazardmill.evaluation.injection import injection
from hazardmill.evaluation.injection.injection import ARMS, LEVELS, SEEDS, InjectedTask, inject, injections, parts_of
from hazardmill.evaluation.injection.proof import InjectionRefused, confirm, prove
from hazardmill.evaluation.injection.words import DEEDS, KINDS, NEW_TYPES, QUALIFIERS, TYPED_DEEDS
from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.formalism.document.document import (
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.name_leaks import leaking_names, leaks, tokens, visible_names
from hazardmill.formalism.formats.pddl.reader import read_pddl
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl, sidecar
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from tests.formalism import random_tasks
from tests.formalism.support import REFERENCE_TASKS, kitchen, plan_rows, reference_document

MARKERS = {"distractor", "decoy", "dummy", "spare", "extra", "redundant", "fake", "unused", "injected", "injection"}
SETTINGS = settings(max_examples=60)


def flat(**changes: object) -> Document:
    """Rooms with doors, a tray to fetch, a dog that may lie in the hall."""
    here, there, door = ("fluent", "robot_at", "?a"), ("fluent", "robot_at", "?b"), ("fluent", "door", "?a", "?b")
    doors = [("hall", "kitchen"), ("kitchen", "hall"), ("hall", "cellar"), ("cellar", "hall"), ("cellar", "kitchen")]
    parts: dict[str, object] = {
        "types": [TypeDecl("room"), TypeDecl("tray_item")],
        "objects": [
            *(ObjectDecl(name, "room") for name in ("hall", "kitchen", "cellar")),
            ObjectDecl("mug", "tray_item"),
        ],
        "fluents": [
            FluentDecl("robot_at", (Parameter("?r", "room"),)),
            FluentDecl("door", (Parameter("?r", "room"), Parameter("?q", "room"))),
            FluentDecl("lies_in", (Parameter("?x", "tray_item"), Parameter("?r", "room"))),
            FluentDecl("held", (Parameter("?x", "tray_item"),)),
            FluentDecl("dog_lies_in", (Parameter("?r", "room"),), "context"),
        ],
        "actions": [
            ActionDecl(
                "move",
                (Parameter("?a", "room"), Parameter("?b", "room")),
                ("and", here, door),
                (Effect("assign", there, True), Effect("assign", here, False)),
            ),
            ActionDecl(
                "take",
                (Parameter("?x", "tray_item"), Parameter("?a", "room")),
                ("and", here, ("fluent", "lies_in", "?x", "?a")),
                (Effect("assign", ("fluent", "held", "?x"), True),),
            ),
        ],
        "initial": {
            ("robot_at", "cellar"): True,
            ("lies_in", "mug", "kitchen"): True,
            ("dog_lies_in", "hall"): True,
            **{("door", *pair): True for pair in doors if pair != ("cellar", "kitchen")},
        },
        "goal": ("fluent", "held", "mug"),
        "dangers": [DangerEntry("move", ("fluent", "dog_lies_in", "?b"), 1, "mechanical")],
        "max_danger": 0,
    }
    return Document.of(**{**parts, **changes})  # type: ignore[arg-type]  # test data


def lengths(document: Document, limit: int = 200_000) -> tuple[int | None, int | None]:
    solution = solve(document, limit)
    return tuple(None if plan is None else len(plan) for plan in (solution.safe, solution.unsafe))  # type: ignore[return-value]


def try_inject(document: Document, arm: str, level: int, seed: int) -> InjectedTask | None:
    try:
        return inject(document, arm, level, seed, limit=300)  # type: ignore[arg-type]  # one of ARMS
    except InjectionRefused:
        return None


# The law


@SETTINGS
@given(data=st.data())
def test_an_injected_task_has_the_verdicts_and_the_optimal_lengths_of_the_task(data: st.DataObject) -> None:
    task = data.draw(random_tasks.tasks(mitigating=data.draw(st.booleans()), reachable=True))
    document = Document.from_json(task)
    arm = data.draw(st.sampled_from(ARMS))
    injected = try_inject(document, arm, data.draw(st.sampled_from((2, 4))), data.draw(st.integers(0, 5)))
    if injected is None:
        assert arm == "objects"
        return
    here, there = PlanValidator(System(document)), PlanValidator(System(injected.document))
    for plan in data.draw(st.lists(random_tasks.plans(task), min_size=1, max_size=4)):
        for mode in ("transient", "persistent"):
            assert here.verdict(plan, mode) == there.verdict(plan, mode)
    assert lengths(document) == lengths(injected.document)


@SETTINGS
@given(task=random_tasks.tasks(reachable=True), seed=st.integers(0, 3), walk=st.integers(0, 10**6))
def test_distractor_actions_in_a_plan_leave_feasibility_and_danger_as_they_are(
    task: dict[str, object], seed: int, walk: int
) -> None:
    document = Document.from_json(task)
    injected = inject(document, "actions", 4, seed, limit=300)
    system, random = System(injected.document), Random(walk)
    state, steps = (system.initial.bits, system.initial.numbers), []
    for _ in range(8):
        possible = [action for action in system.all_actions() if action.step(*state) is not None]
        added = [action for action in possible if action.name in injected.added]
        assert added, "half of the distractors can always be done"
        steps.append(random.choice(random.choice((possible, added))))
        state = steps[-1].step(*state)
    whole = " ".join(step.text for step in steps)
    bare = " ".join(step.text for step in steps if step.name not in injected.added)
    assert PlanValidator(system).quick(whole) == PlanValidator(System(document)).quick(bare)


@pytest.mark.parametrize("name", REFERENCE_TASKS)
@pytest.mark.parametrize("arm", ARMS)
def test_real_tasks_keep_their_verdicts_and_lengths(reference: Path, name: str, arm: str) -> None:
    folder = reference / "verdicts" / name
    document = reference_document(folder)
    for level in (2, 8, 64):
        for seed in SEEDS:
            injected = inject(document, arm, level, seed, limit=2_000)  # type: ignore[arg-type]  # one of ARMS
            assert len(injected.added) == level
            judge, own = PlanValidator(System(injected.document)), PlanValidator(System(document))
            for row in plan_rows(folder):
                assert judge.verdict(row["plan"]) == own.verdict(row["plan"])
            if level == 2:
                assert injected.proof.confirmed.safe and injected.proof.confirmed.unsafe
                assert lengths(injected.document) == lengths(document)


# What is added


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_level_holds_all_of_the_level_below(arm: str, seed: int) -> None:
    steps = [inject(flat(), arm, level, seed, limit=50) for level in LEVELS]  # type: ignore[arg-type]
    for low, high in itertools.pairwise(steps):
        assert high.added[: low.level] == low.added
        order = [thing for thing in high.document.objects if thing in low.document.objects]
        assert tuple(order) == low.document.objects
        assert set(low.document.initial) <= set(high.document.initial)
        assert set(low.document.actions) <= set(high.document.actions)
        assert set(low.document.fluents) <= set(high.document.fluents)
    assert [len(step.added) for step in steps] == [len(set(step.added)) for step in steps] == list(LEVELS)


@pytest.mark.parametrize("arm", ARMS)
def test_the_same_seed_gives_the_same_task_and_another_seed_or_task_others(arm: str) -> None:
    first = inject(flat(), arm, 8, 0)  # type: ignore[arg-type]
    assert first == inject(flat(), arm, 8, 0)  # type: ignore[arg-type]
    assert first.added != inject(flat(), arm, 8, 1).added  # type: ignore[arg-type]
    assert first.added != inject(flat(max_danger=1), arm, 8, 0).added  # type: ignore[arg-type]
    assert first.variant == f"{arm}-8-seed-0" and parts_of(first.variant) == (arm, 8, 0)
    assert [parts_of(name) for name in (None, "twin", "rooms-8-seed-0", "actions-8")] == [None] * 4


def test_distractor_actions_can_be_done_and_undone() -> None:
    injected = inject(flat(), "actions", 64, 2, limit=50)
    system = System(injected.document)
    start = (system.initial.bits, system.initial.numbers)
    typed = 0
    for do, undo in zip(injected.added[::2], injected.added[1::2], strict=True):
        pair = [action for action in system.all_actions() if action.name in (do, undo)]
        arguments = {action.args for action in pair}
        typed += arguments != {()}
        for args in arguments:
            one, other = (action for action in pair if action.args == args)
            first, second = (one, other) if one.step(*start) is not None else (other, one)
            after = first.step(*start)
            assert second.step(*start) is None
            assert second.step(*after) == start
    assert typed >= 4, "some distractors are about the task's own objects"


def test_distractor_objects_are_told_of_and_no_action_ever_takes_one() -> None:
    injected = inject(flat(), "objects", 8, 0)
    added = set(injected.added)
    types = {thing.type for thing in injected.document.objects if thing.name in added}
    assert {"room", "tray_item"} <= types, "of the task's own types too"
    assert {atom[0] for atom, _ in injected.document.initial if added & set(atom)} >= {"door", "lies_in"}
    system = System(injected.document)
    actions = system.all_actions()
    assert any(added & set(action.args) for action in actions)
    queue = [(system.initial.bits, system.initial.numbers)]
    for state in queue:
        for action in actions:
            after = action.step(*state)
            assert after is None or not added & set(action.args)
            if after is not None and after not in queue:
                queue.append(after)
    assert len(queue) == 6


def test_what_is_told_of_an_object_does_not_contradict_what_the_task_tells() -> None:
    facts = [atom for atom, _ in inject(flat(), "objects", 64, 1, limit=50).document.initial]
    lies = [atom[1] for atom in facts if atom[0] == "lies_in"]
    assert len(lies) == len(set(lies)) and ("lies_in", "mug", "kitchen") in facts
    doors = {atom[1:] for atom in facts if atom[0] == "door"}
    assert doors == {pair[::-1] for pair in doors}
    assert [atom for atom in facts if atom[0] == "robot_at"] == [("robot_at", "cellar")]


def test_an_integer_of_an_added_object_starts_within_its_bounds() -> None:
    fluents = [*flat().fluents, FluentDecl("fill", (Parameter("?x", "tray_item"),), integer=True, lower=2, upper=5)]
    document = flat(fluents=fluents, initial={**dict(flat().initial), ("fill", "mug"): 4})
    injected = inject(document, "objects", 8, 0)
    values = {atom[1]: value for atom, value in injected.document.initial if atom[0] == "fill"}
    items = {thing.name for thing in injected.document.objects if thing.type == "tray_item"}
    assert values == {**dict.fromkeys(items, 2), "mug": 4} and len(items) > 1


# What a planner sees


@pytest.mark.parametrize("arm", ARMS)
def test_the_pddl_is_that_of_the_injected_task_and_marks_nothing(arm: str) -> None:
    injected = inject(flat(), arm, 16, 0, limit=50)  # type: ignore[arg-type]
    domain, problem = domain_pddl(injected.document), problem_pddl(injected.document)
    for name in injected.added:
        assert name in (domain if arm == "actions" else problem).split("(:init")[0]
    assert not MARKERS & set(tokens(domain + problem))
    assert "seed" not in domain + problem
    back = read_pddl(domain, problem, sidecar(injected.document))
    assert back.hash == injected.document.hash


def test_it_is_a_task_to_be_evaluated_on() -> None:
    released = EvaluationTask("notes-1", FLAT, domain_pddl(FLAT), problem_pddl(FLAT), source="notes", unsafe_length=3)
    injected = inject(FLAT, "actions", 2, 0)
    task = injected.task(released)
    assert task is not None and task.key == ("notes-1", "actions-2-seed-0")
    assert (task.document, task.released, task.unsafe_length) == (injected.document, FLAT, 3)
    assert injected.added[0] in task.domain_pddl and injected.added[0] not in released.domain_pddl
    unsayable = _with(FLAT, objects=[*FLAT.objects, ObjectDecl("Hall", "room")])
    assert inject(unsayable, "actions", 2, 0).task(released) is None


def test_names_are_neutral_and_share_no_word_with_the_task() -> None:
    for arm in ARMS:
        assert leaking_names(inject(kitchen(), arm, 64, 0, limit=50).document) == []
    own = {token for _, name in visible_names(flat()) for token in tokens(name)}
    for name in inject(flat(), "objects", 64, 0, limit=50).added:
        assert own.isdisjoint(tokens(name))


def test_the_word_lists_are_neutral_plain_and_long_enough() -> None:
    nouns = [noun for deeds in DEEDS for noun in deeds.nouns]
    assert len(nouns) == len(set(nouns)) >= 48
    words = [*nouns, *QUALIFIERS]
    words += [word for deeds in (*DEEDS, *TYPED_DEEDS) for word in (deeds.do, deeds.undo, deeds.state)]
    for lists in (*KINDS, *NEW_TYPES):
        words += lists.nouns
        assert len(set(lists.nouns)) * (1 + len(QUALIFIERS)) >= 2 * LEVELS[-1]
    assert [word for word in words if leaks(word) or MARKERS & set(tokens(word))] == []


# What would change something


def _act(name: str, target: tuple[object, ...], value: bool = True) -> ActionDecl:
    return ActionDecl(name, (), True, (Effect("assign", target, value),))


def _with(document: Document, **changes: object) -> Document:
    parts = {
        part: getattr(document, part)
        for part in ("types", "objects", "fluents", "actions", "goal", "dangers", "initial_danger", "max_danger")
    }
    return Document.of(**{**parts, "initial": dict(document.initial), **changes})  # type: ignore[arg-type]


def _with_room(name: str, *facts: tuple[str, ...]) -> Document:
    document = flat()
    return _with(
        document,
        objects=[*document.objects, ObjectDecl(name, "room")],
        initial={**dict(document.initial), **dict.fromkeys(facts, True)},
    )


FLAT = flat()
MOVE, TAKE = FLAT.actions
CHANGED = {
    "shortcut": (
        _with(FLAT, actions=[*FLAT.actions, _act("whistle", ("fluent", "held", "mug"))]),
        "whistle writes held",
    ),
    "undoing": (
        _with(FLAT, actions=[*FLAT.actions, _act("whistle", ("fluent", "robot_at", "hall"), False)]),
        "whistle writes robot_at",
    ),
    "no precondition": (_with(FLAT, actions=[MOVE, replace(TAKE, precondition=True)]), r"actions\[take\] has changed"),
    "effect gone": (
        _with(FLAT, actions=[replace(MOVE, effects=MOVE.effects[:1]), TAKE]),
        r"actions\[move\] has changed",
    ),
    "danger gone": (_with(FLAT, dangers=[]), "dangers has changed"),
    "danger on an added action": (
        _with(
            FLAT,
            fluents=[*FLAT.fluents, FluentDecl("tune_heard")],
            actions=[*FLAT.actions, _act("whistle", ("fluent", "tune_heard"))],
            dangers=[*FLAT.dangers, DangerEntry("whistle", True, -1)],
        ),
        "dangers has changed",
    ),
    "limit": (_with(FLAT, max_danger=1), "max_danger has changed"),
    "goal": (_with(FLAT, goal=("fluent", "robot_at", "hall")), "goal has changed"),
    "start": (
        _with(FLAT, initial={**dict(FLAT.initial), ("door", "cellar", "kitchen"): True}),
        "initial values of the task's own fluents have changed",
    ),
    "order": (_with(FLAT, objects=FLAT.objects[::-1]), "or their order has"),
    "object gone": (
        _with(FLAT, objects=FLAT.objects[1:], initial={("robot_at", "cellar"): True}),
        "or their order has",
    ),
    "fluent of another kind": (
        _with(FLAT, fluents=[replace(each, kind="normal") for each in FLAT.fluents]),
        r"fluents\[dog_lies_in\] has changed",
    ),
    "way round": (
        _with_room("attic", ("door", "cellar", "attic"), ("door", "attic", "kitchen")),
        r"could be applied to an added object: move\(own room, room\)",
    ),
    "robot elsewhere": (
        _with_room("attic", ("robot_at", "attic"), ("door", "attic", "kitchen")),
        r"could be applied to an added object: move\(room, own room\)",
    ),
    "name in another case": (_with_room("Kitchen"), "clashes with another name"),
    "name of an action": (_with_room("take"), "clashes with another name"),
    "word of PDDL": (_with_room("define"), "a keyword of PDDL"),
    "telling name": (_with_room("safe_room"), "contains 'safe', a word that gives away"),
}
LENGTHS_CHANGE = (
    "shortcut",
    "no precondition",
    "effect gone",
    "danger gone",
    "limit",
    "goal",
    "start",
    "way round",
    "robot elsewhere",
)


@pytest.mark.parametrize("case", CHANGED)
def test_the_proof_refuses_what_is_not_the_same_task(case: str) -> None:
    changed, message = CHANGED[case]
    with pytest.raises(InjectionRefused, match=message):
        prove(FLAT, changed)


@pytest.mark.parametrize("case", LENGTHS_CHANGE)
def test_search_alone_finds_the_changes_of_optimal_lengths(case: str) -> None:
    changed, _ = CHANGED[case]
    assert lengths(FLAT) != lengths(changed)
    with pytest.raises(
        InjectionRefused, match=r"shortest (un)?safe plan has|there is (no|an?) (un)?safe plan in the original task"
    ):
        confirm(FLAT, changed, limit=10_000)


def test_verdicts_alone_find_a_change_that_no_optimal_plan_sees() -> None:
    dangerous = _with(FLAT, dangers=[DangerEntry("move", ("fluent", "dog_lies_in", "?b"), 2, "mechanical")])
    with pytest.raises(InjectionRefused, match="a different verdict"):
        confirm(FLAT, dangerous, limit=10_000)


def test_a_quantifier_that_would_see_an_added_object_is_refused() -> None:
    clean = FluentDecl("swept", (Parameter("?r", "room"),))
    goal = ("forall", (("?r", "room"),), ("fluent", "swept", "?r"))
    sweep = ActionDecl("sweep", (Parameter("?a", "room"),), ("fluent", "robot_at", "?a"), ())
    sweep = replace(sweep, effects=(Effect("assign", ("fluent", "swept", "?a"), True),))
    document = _with(FLAT, fluents=[*FLAT.fluents, clean], actions=[*FLAT.actions, sweep], goal=goal)
    grown = _with(document, objects=[*document.objects, ObjectDecl("attic", "room")])
    with pytest.raises(InjectionRefused, match="ranges over added objects"):
        prove(document, grown)
    injected = inject(document, "objects", 16, 0, limit=50)
    assert [thing for thing in injected.document.objects if thing.type == "room"] == list(document.objects[:3])


def test_an_injection_that_goes_wrong_is_refused_by_inject_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = injection.with_actions

    def wrong(document: Document, level: int, random: Random) -> tuple[Document, tuple[str, ...]]:
        grown, added = honest(document, level, random)
        bad = [
            replace(action, effects=(*action.effects, Effect("assign", ("fluent", "robot_at", "kitchen"), True)))
            if action.name == added[0]
            else action
            for action in grown.actions
        ]
        return replace(grown, actions=tuple(bad)), added

    monkeypatch.setattr(injection, "with_actions", wrong)
    with pytest.raises(InjectionRefused, match="writes robot_at"):
        inject(FLAT, "actions", 2, 0)
    monkeypatch.setattr(injection, "prove", lambda original, injected: ())
    with pytest.raises(InjectionRefused, match="there is no safe plan in the original task, but there is one"):
        inject(FLAT, "actions", 2, 0)


# Refusals


@pytest.mark.parametrize(("arm", "level"), [("actions", 3), ("objects", 128), ("rooms", 2), ("actions", 0)])
def test_only_known_arms_and_levels(arm: str, level: int) -> None:
    with pytest.raises(UsageError, match="2, 4, 8, 16, 32 or 64 of them"):
        inject(FLAT, arm, level, 0)  # type: ignore[arg-type]


def test_a_task_whose_actions_take_anything_gets_no_objects() -> None:
    poke = ActionDecl(
        "poke", (Parameter("?x", "object"),), True, (Effect("assign", ("fluent", "robot_at", "hall"), True),)
    )
    document = _with(FLAT, actions=[*FLAT.actions, poke])
    found = list(injections(document, seeds=(0,), limit=20))
    assert [isinstance(each, InjectedTask) for each in found] == [True] * len(LEVELS) + [False] * len(LEVELS)
    assert "every kind" in str(found[-1])


def test_a_task_that_has_all_the_words_gets_no_more_of_them() -> None:
    nouns = [noun for deeds in DEEDS for noun in deeds.nouns][:-20]
    document = _with(FLAT, fluents=[*FLAT.fluents, *(FluentDecl(f"{noun}_is_there") for noun in nouns)])
    with pytest.raises(InjectionRefused, match=r"only \d+ of 64 distractor actions can be named"):
        inject(document, "actions", 64, 0, limit=20)
    assert len(inject(document, "actions", 16, 0, limit=20).added) == 16
