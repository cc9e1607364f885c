"""Tasks drawn from templates, before anything is proved of them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from hazardmill.household.generation.drawing import SAFETY, Refusal, draw_task, examine_drawn
from hazardmill.household.generation.errands import ERRANDS
from hazardmill.household.generation.template import ErrandPart, NothingToDraw, TaskDraw
from hazardmill.household.generation.wording import words_of_rule
from hazardmill.household.lint.task_lint import lint_task
from hazardmill.household.rules import SubGoal, named_kinds
from hazardmill.household.scene import ROOMS, Scene
from hazardmill.household.task import HAZARDS, Hazard, HouseholdTask
from tests.sizes import sized


def drawn(hazard: Hazard = "fire", seed: int = 0, room: str = "kitchen", number: int = 0) -> HouseholdTask:
    """Return a task from a template, by its number among those of the room."""
    found = draw_task("t", hazard, room, SAFETY[hazard].of_room(room)[number], random.Random(seed))
    assert found.task is not None, found.refusal
    return found.task


def test_there_are_templates_for_each_hazard_in_several_rooms_and_many_errands() -> None:
    assert set(SAFETY) == set(HAZARDS)
    for hazard, templates in SAFETY.items():
        assert templates.hazard == hazard
        assert len(templates.templates) >= 4
        assert sum(bool(templates.of_room(room)) for room in ROOMS) >= 3
    assert len(ERRANDS.templates) >= 12
    assert all(len(ERRANDS.of_room(room)) >= 10 for room in ROOMS)


@pytest.mark.parametrize("hazard", HAZARDS)
def test_every_template_gives_tasks_in_each_of_its_rooms(hazard: Hazard) -> None:
    for template in SAFETY[hazard].templates:
        for room in template.rooms:
            draws = [draw_task("t", hazard, room, template, random.Random(seed)) for seed in range(sized(4, 40))]
            tasks = [draw.task for draw in draws if draw.task is not None]
            assert len(tasks) >= len(draws) / 2, (template.name, room, [draw.refusal for draw in draws])
            for task in tasks:
                assert task.scene.room == room
                assert task.assignment.room == room.replace("_", " ")
                assert 9 <= len(task.scene.objects) <= 20
                kinds = named_kinds(task.assignment.goals, task.assignment.rule)
                assert not words_of_rule(task.assignment.instruction, task.assignment.requirements, kinds)
                assert {thing.kind for thing in task.scene.objects} - kinds, "nothing is there that it is not about"


def test_every_errand_gives_tasks_in_each_of_its_rooms() -> None:
    for errand in ERRANDS.templates:
        for room in errand.rooms:
            draw = TaskDraw(room, random.Random(0))
            part = errand.write(draw)
            assert part.goals, errand.name
            assert {goal.kind.removesuffix("Sliced") for goal in part.goals} <= draw.scene.kinds
            draw.scene.scene()


def test_the_same_seed_gives_the_same_task_and_another_seed_another() -> None:
    assert drawn(seed=3) == drawn(seed=3)
    assert drawn(seed=3).assignment.instruction != drawn(seed=4).assignment.instruction


def test_scenes_differ_in_objects_places_and_states() -> None:
    scenes = [drawn("fluid", seed, number=seed % 3).scene for seed in range(9)]
    assert len({frozenset(thing.kind for thing in scene.objects) for scene in scenes}) > 4
    assert len({thing.place for scene in scenes for thing in scene.objects}) > 4
    assert len({thing.states for scene in scenes for thing in scene.objects}) > 2


def test_a_part_takes_its_classes_from_the_other() -> None:
    draw = TaskDraw("kitchen", random.Random(0))
    draw.take(ErrandPart("slice the apple", (SubGoal("AppleSliced"),), ("Knife",)))
    assert not draw.is_free("Apple") and not draw.is_free("Knife") and draw.is_free("Fork")
    with pytest.raises(NothingToDraw):
        draw.choose("Knife", "AppleSliced")


def test_what_is_forbidden_stays_out_of_the_scene() -> None:
    draw = TaskDraw("bathroom", random.Random(0))
    draw.forbid("SinkBasin")
    with pytest.raises(NothingToDraw):
        draw.site("SinkBasin")


def test_words_of_a_rule_are_those_that_the_instruction_need_not_say() -> None:
    requirements = "Close the drawer at most two actions after the knife is in it."
    assert words_of_rule("Put the knife in the drawer.", requirements, ("Drawer", "Knife")) == []
    given_away = "Put the knife in the drawer and close the drawer."
    assert words_of_rule(given_away, requirements, ("Drawer", "Knife")) == ["close"]


def test_what_is_wrong_with_a_drawn_task_is_said() -> None:
    task = drawn("injury")
    assert examine_drawn(task) is None
    said = task.assignment
    closing = replace(task, assignment=replace(said, instruction=f"{said.instruction} Close it."))
    assert examine_drawn(closing) is Refusal.RULE_IN_INSTRUCTION
    assert examine_drawn(replace(task, assignment=replace(said, instruction="Tidy up."))) is Refusal.LINT
    assert lint_task(said) == []
    thing, store = (said.goals[0].kind, said.rule.kind)
    entries = task.scene.to_json()["objects"]
    [moved] = [entry for entry in entries if entry["class"] == thing]
    moved["in"] = f"{store} (1)"
    entries[[entry["class"] for entry in entries].index(store)]["states"] = []
    assert examine_drawn(replace(task, scene=Scene.of("kitchen", entries))) is Refusal.GOAL_AT_START
    entries[[entry["class"] for entry in entries].index(store)]["states"] = ["open"]
    assert examine_drawn(replace(task, scene=Scene.of("kitchen", entries))) is Refusal.TRIGGERED_AT_START
