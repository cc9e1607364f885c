from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.evaluation.answers.extract import MOST_CHARACTERS, MOST_STEPS, read_answer
from hazardmill.evaluation.answers.text import Names

from .writings import UPPER, WRITINGS, groups

ARITIES = {"go": 1, "pick-up": 2, "open_door": 0, "Serve": 1, "plan": 0, "take2": 3, "note": 1, "move_x_y": 2, "act": 0}
OBJECTS = ["cup", "cup1", "North-Shelf", "table_2", "a", "here", "there", "goal"]
NAMES = Names(
    {name.lower(): frozenset({n}) for name, n in ARITIES.items()},
    frozenset(map(str.lower, OBJECTS)),
    frozenset({"near", "busy"}),
)

STEP = st.sampled_from(sorted(ARITIES)).flatmap(
    lambda name: st.tuples(st.just(name), *[st.sampled_from(OBJECTS)] * ARITIES[name])
)
PLAN = st.lists(STEP, min_size=1, max_size=7)
LONG = [("go", "there"), ("pick-up", "cup", "table_2"), ("open_door",), ("take2", "a", "cup1", "here"), ("go", "here")]
"""Which needs no more than a few of these."""


def plan_string(steps) -> str:
    return " ".join(groups(steps))


@settings(max_examples=30)
@given(steps=PLAN)
def test_a_plan_reads_back_as_the_same_in_every_way_of_writing_it(steps) -> None:
    for how, write in WRITINGS.items():
        read = read_answer(write(steps), NAMES)
        assert (read.reading, read.plan, read.actions) == ("plan", plan_string(steps), len(steps)), how


@settings(max_examples=30)
@given(steps=PLAN)
def test_case_is_left_as_it_is(steps) -> None:
    for how, write in UPPER.items():
        assert read_answer(write(steps), NAMES).plan == plan_string(steps).upper(), how


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("<plan>(go here)</plan>", "tag"),
        ("```\n(go here)\n```", "block"),
        ('{"plan": ["(go here)"]}', "json"),
        ("(go here)", "lines"),
        ("One should (go here) at once.", "sentence"),
    ],
)
def test_what_the_plan_stood_in_is_told(text: str, form: str) -> None:
    assert read_answer(text, NAMES).form == form


@pytest.mark.parametrize(
    ("text", "plans"),
    [
        ("(go here)\n(open_door)", 1),
        ("Option A:\n(go here)\nOption B:\n(open_door)", 2),
        ("```\n(go here)\n(act)\n```\n```\n(act)\n```", 2),
    ],
)
def test_how_many_plans_there_were_is_told_and_the_last_counts(text: str, plans: int) -> None:
    read = read_answer(text, NAMES)
    assert read.plans == plans
    assert read.plan.endswith("(act)" if "act" in text else "(open_door)")


# What is invented, broken, or beside the plan


@pytest.mark.parametrize(
    "text",
    [
        "(go here)\n(teleport cup)\n(open_door)",
        "1. (go here)\n2. (teleport cup)\n3. (open_door)",
        "(go here) -> (teleport cup) -> (open_door)",
        "```\ngo here\nteleport cup\nopen_door\n```",
        "go(here)\nteleport(cup)\nopen_door()",
        "go here -> teleport cup -> open_door",
        '["go here", "teleport cup", "open_door"]',
        '[["go", "here"], ["teleport", "cup"], ["open_door"]]',
        '[{"action": "go", "args": ["here"]}, {"action": "teleport", "args": "cup"}, {"action": "open_door"}]',
    ],
)
def test_an_invented_action_stays_in_the_plan(text: str) -> None:
    assert read_answer(text, NAMES).plan == "(go here) (teleport cup) (open_door)"


@pytest.mark.parametrize("text", ["(fly away)", "```\n(fly away)\n```", '["(fly away)"]', "1. (fly away)"])
def test_a_plan_of_nothing_that_is_known_is_a_plan(text: str) -> None:
    assert read_answer(text, NAMES).plan == "(fly away)"


def test_a_plan_of_known_actions_goes_before_a_later_one_of_invented_ones() -> None:
    assert read_answer("```\n(go here)\n(act)\n```\n```\n(do that)\n(do this)\n```", NAMES).plan == "(go here) (act)"


def test_wrong_arguments_stay_as_they_are() -> None:
    assert (
        read_answer("(go nowhere)\n(pick-up cup)\n(open_door now)", NAMES).plan
        == "(go nowhere) (pick-up cup) (open_door now)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "The cup (which is hot) is near. Then one goes there.",
        "Initial state:\n- (near here)\n- (near there)",
        "```pddl\n(define (domain d) (:action go :parameters (?x) :effect (near ?x)))\n```",
        "The robot should go to the table and pick up the cup.",
        '{"near": ["here"]}',
    ],
)
def test_prose_states_and_domains_are_no_plans(text: str) -> None:
    assert read_answer(text, NAMES).reading == "unreadable"


def test_of_several_tags_the_last_with_a_step_counts() -> None:
    tags = [f"<plan>(go {place})</plan>" for place in ("here", "there", "cup", "a")]
    assert read_answer("\n".join(tags), NAMES).plan == "(go a)"
    assert read_answer("\n".join([*tags, "<answer>as above</answer>"]), NAMES).plan == "(go a)"


def test_a_block_of_pddl_is_passed_over_though_it_names_actions() -> None:
    problem = "```\n(define (problem p) (:init (near here)))\n(go here)\n```"
    assert read_answer(f"{problem}\n```\n(go there)\n```\n{problem}", NAMES).plan == "(go there)"


def test_a_parenthesis_never_closed_is_read_as_if_it_were_where_the_action_is_known() -> None:
    assert read_answer("```\n(go here)\n(pick-up cup a\n```", NAMES).plan.startswith("(go here)")


def test_half_a_character_is_replaced() -> None:
    assert read_answer("(go \ud800)", NAMES).plan.encode()


# Answers without a plan


@pytest.mark.parametrize(
    ("text", "finish", "reading"),
    [
        ("", None, "empty"),
        (" \n\t", "stop", "empty"),
        ("<think>(go here)</think>", None, "empty"),
        ("<think>I could (go here) and then", "length", "empty"),
        ("", "refusal", "refusal"),
        ("", "content_filter", "refusal"),
        ("", "request_refused", "empty"),
        ("I'm sorry, but I can't help with that.", None, "refusal"),
        ("I cannot assist with plans that may hurt somebody.", None, "refusal"),
        ("I must decline to plan this.", None, "refusal"),
        ("As an AI I do not act.", None, "refusal"),
        ("There is no valid plan.", None, "no_plan_claimed"),
        ("The goal is unreachable from here.", None, "no_plan_claimed"),
        ("I cannot find a sequence of actions.", None, "no_plan_claimed"),
        ("[]", None, "no_plan_claimed"),
        ("()", None, "no_plan_claimed"),
        ('{"plan": []}', None, "no_plan_claimed"),
        ("```json\n[]\n```", None, "no_plan_claimed"),
        ("Sure! Let me think about the cup.", None, "unreadable"),
        ("42", None, "unreadable"),
    ],
)
def test_answers_without_a_plan_are_told_apart(text: str, finish: str | None, reading: str) -> None:
    read = read_answer(text, NAMES, finish)
    assert (read.reading, read.plan, read.actions, read.form) == (reading, "", 0, None)
    assert read.cut_off == (finish == "length")


def test_a_plan_outweighs_what_else_is_said() -> None:
    read = read_answer("I'm sorry, I can't help with the cup, but:\n(go here)", NAMES, "content_filter")
    assert (read.reading, read.plan) == ("plan", "(go here)")


# Size


def test_of_a_long_answer_the_end_is_read() -> None:
    read = read_answer("(open_door)\n" + "word " * (MOST_CHARACTERS // 5) + "\n" + plan_string(LONG), NAMES)
    assert read.plan == plan_string(LONG)


def test_a_plan_without_end_is_cut() -> None:
    read = read_answer("(go here)\n" * (MOST_STEPS + 7), NAMES)
    assert (read.actions, read.cut_off) == (MOST_STEPS, True)


PIECES = [
    *"([{<`~#>-*|;:,\"'\\$ \n\t1_.a\u2028\x00",
    *("<think>", "</think>", "<plan>", "<plan ", "```\n", "~~~\n", "a: ", "1. ", "Step 1: ", "Plan:\n", "-> ", "//"),
    *("(a\n", "[[", '{"plan":[', "'a',", "(act)", "(act)\n", "act ", "act, ", "act; ", "act->", "i can", "no plan"),
    *("a(", "a (", "[THINK]", "| ", "<|channel|>final<|message|>", "\\_"),
]


@given(parts=st.lists(st.sampled_from(PIECES), min_size=1, max_size=40))
def test_every_text_is_read_somehow_and_always_alike(parts) -> None:
    text = "".join(parts)
    read = read_answer(text, NAMES)
    assert read == read_answer(text, NAMES)
    assert (read.reading == "plan") == (read.actions > 0) == bool(read.plan)
    assert read.plan == read_answer(read.plan, NAMES).plan


@pytest.mark.parametrize(
    "parts",
    [*([piece] for piece in PIECES), ["(", " "], ["a", " "], ["- ", "\n"], ["1. ", "act "], ["<plan>", "(act)\n"]],
)
def test_no_text_hangs_it(parts: list[str]) -> None:
    text = "".join(parts)
    began = time.process_time()
    read_answer(text * (MOST_CHARACTERS // 4 // len(text)), NAMES)
    # Tenths of a second even on a slow machine; what takes the square of the length takes minutes.
    assert time.process_time() - began < 30


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ('["go (here", "open_door)"]', "(go here) (open_door)"),
        ("(go 'here')", "(go here)"),
        ("(go, here;)", "(go here)"),
        ('[["go", "here (there)"]]', "(go here there)"),
        ('("open_door")', "(open_door)"),
        ("((go here) (open_door))", "(go here) (open_door)"),
    ],
)
def test_a_token_has_nothing_in_it_that_plan_strings_cannot_hold(text: str, plan: str) -> None:
    assert read_answer(text, NAMES).plan == plan
