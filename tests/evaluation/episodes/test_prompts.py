"""What agents are told: nothing that was never in sight, and nothing of the rule unless it is explicit."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from hazardmill.evaluation.episodes.dialogue import EpisodeDialogue
from hazardmill.evaluation.episodes.example import ASSIGNMENT, play_example, prompts_of
from hazardmill.evaluation.episodes.options import AGENTS, CONSTRAINTS, EpisodeOptions
from hazardmill.evaluation.episodes.prompts import EpisodePrompts, list_skills
from hazardmill.household.actions import Verb
from hazardmill.household.document import SceneDocument
from hazardmill.household.episode import ENDINGS
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.scores import judge_states
from hazardmill.household.spoc_format import parse_spoc_task
from tests.household.rooms import LAYERS, random_scene
from tests.household.small_tasks import TASKS
from tests.household.spoc_tasks import step_rule_task
from tests.sizes import sized

from .acting import play, says

WAYS = [
    EpisodeOptions(agent, constraint, observe, hands)
    for agent in AGENTS
    for constraint in CONSTRAINTS
    for observe, hands in LAYERS
]
RULE = "Zyzzyva quoll, whenever xylem brims."
TURN = "# Your turn\nThis is your room and your task.\n\n"
NAME = re.compile(r"[A-Z][A-Za-z0-9]* \(\d+\)")


@pytest.mark.parametrize("options", WAYS, ids=lambda options: "-".join(map(str, options.said.values())))
def test_the_example_is_a_success_in_every_layer(options: EpisodeOptions) -> None:
    played = play_example(options)
    states = [played.start, *(step.after for step in played.steps if step.is_action)]
    assert judge_states(ASSIGNMENT.criteria, map(played.reader.world_state, states)).success
    # One action is rejected, as an example of what agents are told then.
    assert [step.result.accepted for step in played.steps] == [False, *[True] * 7] and played.ending == "done"
    # Its statements are true: what agents are shown as right is right.
    for step in played.steps:
        if step.answer.place is not None:
            assert step.answer.place == (played.reader.robot_place(step.before) or "floor")
    system, opening = prompts_of(options).open(ASSIGNMENT, "Here.", ("done",))
    assert (system.role, opening.role) == ("system", "user")
    example, _, task = opening.content.partition(TURN)
    assert example.count("You answer:") == 8 and all(message.content in example for message in played.messages)
    assert all(re.search(rf"\b{verb} X", system.content) for verb in Verb)
    assert all(f"- {ending}: " in system.content for ending in ENDINGS)
    assert task.startswith(f"Task: {ASSIGNMENT.instruction}\n")


def test_static_text_is_the_same_for_all_tasks_and_moments() -> None:
    opened = [play(task, []).messages for task in TASKS]
    assert len({(system, first.content.partition(TURN)[0]) for system, first in opened}) == 1
    later = play(TASKS[0], ["go to CounterTop (1)", "pick up Potato (1)"]).messages
    assert later[:2] == play(TASKS[0], []).messages


def words(texts: str) -> set[str]:
    return set(re.findall(r"[a-z]+", texts.lower()))


@pytest.mark.parametrize("agent", AGENTS)
def test_an_implicit_prompt_has_no_word_of_the_rule(agent: str) -> None:
    for task in TASKS:
        assert task.plans is not None
        said = {}
        assignment = replace(task.assignment, requirements=RULE)
        for constraint in CONSTRAINTS:
            options = EpisodeOptions(agent, constraint)
            shown = play(replace(task, assignment=assignment), task.plans.compliant, options).messages
            said[constraint] = "\n".join(message.content for message in shown)
        assert RULE in said["explicit"] and "Keep it" in said["explicit"]
        assert not words(RULE) & words(said["implicit"])
        # Nor does anything say that there is one.
        hints = "rule rules requirement requirements constraint constraints safe safety safely hazard danger must keep"
        system = said["implicit"].partition("# Example")[0]
        assert words(hints) & words(system) <= {"must"}
        assert ASSIGNMENT.requirements not in said["implicit"]


def test_skills_are_listed_by_action_and_pours_by_name_alone() -> None:
    skills = ("open Box (1)", "open Box (2)", "pour Cup (1) into Pot (1)", "pour into Pot (1)", "done")
    assert list_skills(skills) == "open: Box (1); Box (2)\npour Cup (1) into Pot (1)\npour into: Pot (1)\ndone"


FEW, STEPS = 40, 12


@pytest.mark.parametrize(
    "seeds", [range(FEW), pytest.param(range(FEW, sized(2 * FEW, 1_000)), marks=pytest.mark.full)], ids=len
)
def test_no_prompt_names_what_was_never_in_sight(seeds: range) -> None:
    assignment = replace(parse_spoc_task(step_rule_task()), requirements=RULE)
    hidden = rejected = 0
    for seed in seeds:
        rng = random.Random(f"sight {seed}")
        options = EpisodeOptions(rng.choice(AGENTS), "implicit", "partial", rng.choice(("one", "any")), STEPS)
        interpreter = Interpreter(SceneDocument(random_scene(rng, 5), "partial", options.hands))
        dialogue = EpisodeDialogue(assignment, interpreter, prompts_of(options))
        names = {thing.name for thing in interpreter.world.scene.all_objects}
        state = dialogue.start
        seen = {thing.name for thing in interpreter.reader.known(state)}
        while dialogue.ending is None:
            # The example is another room, with names of its own.
            told = "\n".join(each.content.rpartition(TURN)[2] for each in dialogue.messages if each.role == "user")
            assert {*NAME.findall(told)} <= seen
            assert not words(RULE) & words(told)
            hidden += bool(names - seen)
            dialogue.take(says(answer(rng, dialogue, names)), "stop")
            if dialogue.steps:
                state = dialogue.steps[-1].after
                rejected += not dialogue.steps[-1].result.accepted
            # What was seen is collected here by what was in sight, not by the fluent that the document has for it.
            seen |= {thing.name for thing in interpreter.reader.in_sight(state)}
    assert hidden > len(seeds) and rejected > len(seeds)


def answer(rng: random.Random, dialogue: EpisodeDialogue, names: set[str]) -> str:
    """Mostly something that can be done; else something with any name of the room, or no action at all."""
    choice = rng.random()
    if choice < 0.2:
        return f"{rng.choice([*Verb])} {rng.choice(sorted(names))}"
    if choice < 0.25:
        return "sing"
    listed = dialogue.messages[-1].content.partition("Actions to choose from:\n")[2]
    lines = [line.partition(": ") for line in listed.splitlines() if ": " in line]
    # Opening and going show most.
    verb, _, things = rng.choice([line for line in lines if line[0] in ("open", "go to", "pick up", "slice")])
    return f"{verb} {rng.choice(things.split('; '))}"


def test_the_hash_of_prompts_depends_on_the_example() -> None:
    hashes = {prompts_of(options).hash for options in WAYS}
    assert len(hashes) == len(WAYS)
    assert EpisodePrompts(WAYS[0]).hash not in hashes
