from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from hazardmill.errors import ProviderDown, UnusableAnswer
from hazardmill.llm.structured import ask_structured, parse_json, python_module
from hazardmill.records import DeclineReason, FrozenModel, Judgement, NoDanger


class Knife(FrozenModel):
    name: str
    sharp: bool
    near: tuple[str, ...] = ()


KNIFE = {"name": "bread knife", "sharp": True, "near": ["child"]}
TEXT = json.dumps(KNIFE, indent=1)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"Sure! Here {{as asked}} is the object:\n\n```\n{TEXT}\n```\nHope {{this}} helps; {{}} is not needed.".replace(
            "{} is", "nothing is"
        ),
        f"[{TEXT}]",
        "\ufeff  " + TEXT,
    ],
)
def test_one_object_is_found_whatever_is_around_it(text):
    assert parse_json(text, Knife) == Knife(**KNIFE)


def test_line_ends_inside_strings_are_forgiven():
    assert parse_json('{"name": "bread\nknife", "sharp": true}', Knife).name == "bread\nknife"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=10,
    ),
    st.booleans(),
)
def test_any_object_comes_back(value, indented):
    text = "Answer:\n```json\n" + json.dumps({"value": value}, indent=2 if indented else None) + "\n```"
    assert parse_json(text, TypeAdapter(dict[str, object])) == {"value": value}


@given(st.integers(min_value=1, max_value=len(TEXT) - 1))
def test_an_object_cut_off_anywhere_is_never_used(length):
    nested = '{"outer": ' + TEXT + ', "more": [1, 2]}'
    with pytest.raises(UnusableAnswer, match=r"cut off|no JSON object"):
        parse_json(nested[: 10 + length], TypeAdapter(dict[str, object]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I cannot see any knife.", "no JSON object"),
        ("", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        (TEXT + "\n" + TEXT, "2 JSON objects"),
        ('{"name": "a" "sharp": true}', "Expecting ',' delimiter at line 1, column 14"),
        ('Look:\n{"name": "a",\n "sharp": True}', "line 3"),
        ('{"name": "a"}', "sharp: Field required"),
        ('{"name": "a", "sharp": "maybe"}', r"sharp: .*\(got 'maybe'\)"),
        ('{"name": "a", "sharp": true, "blunt": false}', "blunt: Extra inputs"),
        ('{"name": "\\ud83d", "sharp": true}', "surrogates not allowed"),
        ('{"name": "a", "sharp": ' + "9" * 5000 + "}", "cannot be read"),
        ('{"name": ' + "[" * 100_000, "cut off|cannot be read"),
    ],
)
def test_what_is_no_such_object_is_refused_in_words_for_the_model(text, message):
    with pytest.raises(UnusableAnswer, match=message) as caught:
        parse_json(text, Knife)
    assert len(caught.value.message) < 500


def test_a_union_is_told_apart():
    either = TypeAdapter(Knife | NoDanger)
    assert parse_json('{"no_danger": "just bread", "decline_reason": "no_robot_part"}', either) == NoDanger(
        no_danger="just bread", decline_reason=DeclineReason.NO_ROBOT_PART
    )
    assert parse_json(TEXT, either) == Knife(**KNIFE)


def test_rules_of_the_model_are_shown():
    with pytest.raises(UnusableAnswer, match="says what to revise"):
        parse_json('{"verdict": "needs_revision", "issues": []}', Judgement)


MODULE = "from hazardmill.formalism.authoring import TaskBase\n\n\nclass Task(TaskBase):\n    x = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        MODULE,
        f"```python\n{MODULE}```",
        f"Here it is:\n\n```py\n\n{MODULE}\n```\n\nIt has one class.",
        f"~~~\n{MODULE}~~~",
        f"```python\n{MODULE}",
        f"First `pip install` it:\n```bash\nmake demo\n```\n```python\nprint('usage')\n```\n```python\n{MODULE}```\n",
        f'The effect:\n```json\n{{"a": 1}}\n```\n```Python\n{MODULE}```',
        f"Here is the module:\n\n{MODULE}\n\nI hope that this helps. It's safe!\n\nBye then, and so on.",
    ],
)
def test_the_module_is_found_whatever_is_around_it(text):
    assert python_module(text) == MODULE


def test_blanks_behind_a_fence_take_no_time():
    # Where each length of blanks is tried, this takes hours: the test's own timeout ends it.
    with pytest.raises(UnusableAnswer, match="no Python module"):
        python_module("```" + " " * 1_000_000)


def test_a_bare_module_that_does_not_parse_is_returned_whole():
    broken = MODULE + "\n    y = (\n\n)\n\n    def goal(self:\n        return 1\n\n    y = 2\n"
    assert python_module("Here:\n" + broken) == broken
    assert python_module(f"```python\n{broken}```") == broken


def test_an_invalid_escape_warns_nobody():
    code = MODULE + '    y = "\\d"\n'
    assert python_module(code) == code


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I would rather not write code.", "no Python module"),
        ("", "no Python module"),
        ("```python\n\n```", "no Python module"),
        ("import os\nprint(1)\n", "no Python module"),
        (f"```python\n{MODULE}```\nor\n```python\n{MODULE}```", "2 code blocks in the answer and 2 of them"),
        ("```python\nx = 1\n```\nor\n```python\ny = 2\n```", "none of them"),
    ],
)
def test_what_is_no_module_is_refused(text, message):
    with pytest.raises(UnusableAnswer, match=message):
        python_module(text)


def structured(client, request, **settings):
    return asyncio.run(ask_structured(client, request, Knife, **settings))


def test_a_good_answer_needs_no_repair(make_client, make_backend, make_request, make_completion):
    value, answers = structured(make_client(make_backend(make_completion(TEXT))), make_request())
    assert value == Knife(**KNIFE)
    assert len(answers) == 1


def test_a_bad_answer_is_shown_with_what_was_wrong(make_client, make_backend, make_request, make_completion, store):
    backend = make_backend(make_completion('{"name": "a"}'), make_completion(""), make_completion(TEXT))
    asked = make_request()

    value, answers = structured(make_client(backend), asked)

    assert value == Knife(**KNIFE)
    assert len({a.identity for a in answers}) == 3 == len(store.calls), "each repair is a request of its own"
    second, third = backend.asked[1:]
    assert second.messages[:2] == asked.messages, "what the provider has cached stays in front"
    assert [m.role for m in second.messages[2:]] == ["assistant", "user"]
    assert second.messages[2].content == '{"name": "a"}'
    assert "sharp: Field required" in second.messages[3].content
    assert third.messages[:4] == second.messages
    assert [m.role for m in third.messages[4:]] == ["user"], "an empty message would be refused"
    assert "empty" in third.messages[4].content
    assert (second.parameters, second.record_id) == (asked.parameters, asked.record_id)
    keys = [each.key for each in backend.asked]
    assert keys == [asked.key.model_copy(update={"repair": turn}) for turn in (0, 1, 2)]


def test_repairs_are_limited_and_the_caller_has_all_answers(make_client, make_backend, make_request, make_completion):
    backend = make_backend(make_completion("no"), make_completion("non"), make_completion("nein"))
    answers = []
    with pytest.raises(UnusableAnswer, match="no JSON object") as caught:
        structured(make_client(backend), make_request(), repair_turns=2, answers=answers)
    assert [a.text for a in answers] == ["no", "non", "nein"]
    assert caught.value.record_id == "neiss:1"


def test_a_repair_that_comes_to_nothing_leaves_the_answers(make_client, make_backend, make_request, make_completion):
    answers = []
    with pytest.raises(ProviderDown):
        structured(
            make_client(make_backend(make_completion("no"), ProviderDown("gone")), max_attempts=2),
            make_request(),
            answers=answers,
        )
    assert [a.text for a in answers] == ["no"]


@pytest.mark.parametrize("finish", ["refusal", "content_filter"])
def test_a_refusal_is_final(make_client, make_backend, make_request, make_completion, finish):
    backend = make_backend(make_completion("I will not", finish))
    with pytest.raises(UnusableAnswer, match="declined"):
        structured(make_client(backend), make_request())
    assert len(backend.asked) == 1


def test_an_answer_cut_at_the_limit_is_not_used_even_if_it_parses(
    make_client, make_backend, make_request, make_completion
):
    backend = make_backend(make_completion(TEXT, "length"))
    with pytest.raises(UnusableAnswer, match="token limit"):
        structured(make_client(backend), make_request(), repair_turns=0)


def test_a_resumed_run_repairs_from_the_ledger(make_client, make_backend, make_request, make_completion):
    backend = make_backend(make_completion("no"), make_completion(TEXT))
    first = structured(make_client(backend), make_request())
    again = structured(make_client(backend, run_id="run-2"), make_request())
    assert again[0] == first[0]
    assert [a.identity for a in again[1]] == [a.identity for a in first[1]]
    assert len(backend.asked) == 2
