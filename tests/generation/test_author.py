from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import RequestRefused, UnusableAnswer
from hazardmill.formalism.document.document import Document
from hazardmill.generation.author import AuthorResult, author
from hazardmill.generation.context import Prompts
from hazardmill.generation.refine import RecordResult
from hazardmill.generation.task_outline import OUTLINE_FORMAT
from hazardmill.generation.wave import refine
from hazardmill.llm.requests import Completion
from hazardmill.records import Draft
from hazardmill.run_options import AuthorFormat, GenerationOptions
from hazardmill.sandbox.check import check
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store

from .support import APPROVED, DANGER, FOUND, SOUP, danger, fenced, opened, record

OUTLINED = {
    "title": "Bring the bowl to the table.",
    "realised_by": "carry_bowl",
    "types": ["place: kitchen, table"],
    "fluents": "bowl_at(place), moving_slowly",
    "context": "soup_is_hot = true, window_is_open = true",
    "initially": "bowl_at(kitchen)",
    "actions": [
        "carry_bowl: bowl_at(kitchen) -> bowl_at(table), not bowl_at(kitchen)",
        "reduce_speed: not moving_slowly -> moving_slowly",
    ],
    "goal": "bowl_at(table)",
    "dangers": ["carry_bowl: soup_is_hot and not moving_slowly"],
    "danger_type": "thermal",
    "causes": ["changing: moving_slowly", "fixed: soup_is_hot"],
}
"""``SOUP`` as an outline."""


def authored(
    store: Store,
    backend: ScriptedBackend,
    jail: Jail,
    number: int = 1,
    earlier: tuple[Draft, ...] = (),
    form: AuthorFormat = "python",
    *,
    structured: bool = False,
) -> AuthorResult:
    with opened(store, backend, jail, options=GenerationOptions(structured=structured)) as mill:
        mill = replace(mill, prompts=Prompts.load(form))
        return asyncio.run(author(record(), danger(), number, earlier, mill))


def milled(
    store: Store, jail: Jail, *answers: str, form: AuthorFormat = "document"
) -> tuple[RecordResult, ScriptedBackend]:
    backend = ScriptedBackend(extract=FOUND, author=[*answers], judge=APPROVED)
    with opened(store, backend, jail) as mill:
        return asyncio.run(refine(record(), replace(mill, prompts=Prompts.load(form)))), backend


def test_the_module_is_found_in_the_prose_around_it(store: Store, jail: Jail) -> None:
    result = authored(store, ScriptedBackend(author=fenced(SOUP)), jail)
    assert result.code == SOUP
    assert (result.check.name, result.check.passed) == ("answer", True)
    assert [answer.text for answer in result.answers] == [fenced(SOUP)]


def test_the_author_is_shown_record_and_danger_and_no_earlier_draft(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(author=fenced(SOUP))
    authored(store, backend, jail)
    shown = backend.asked[0].messages[-1].content
    assert "SPILLED HOT SOUP" in shown
    assert json.loads(re.search(r"<danger>(.*)</danger>", shown, re.DOTALL)[1]) == DANGER
    assert "<previous_draft>" not in shown and "<feedback>" not in shown


def test_the_author_is_shown_the_earlier_draft_with_what_was_found(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(author=fenced(SOUP))
    previous = Draft(number=1, answer="prose", code="x = 1\n", checks=(), feedback="check: jail")
    authored(store, backend, jail, 2, (previous,))
    shown = backend.asked[0].messages[-1].content
    assert "<previous_draft>\nx = 1\n\n</previous_draft>\n<feedback>\ncheck: jail\n</feedback>" in shown
    assert backend.asked[0].key.draft == 2


@pytest.mark.parametrize(
    "answer",
    [
        "I am not able to write that.",
        "",
        Completion(text=fenced(SOUP)[:300], model_answered="toy", finish_reason="length"),
    ],
)
def test_an_answer_without_whole_code_fails_its_check(answer: str | Completion, store: Store, jail: Jail) -> None:
    result = authored(store, ScriptedBackend(author=answer), jail)
    assert result.code is None
    assert (result.check.name, result.check.passed, result.check.reason) == ("answer", False, "no_code")
    assert result.check.message and "```python" in result.check.mend
    assert ("shorter" in result.check.mend) is isinstance(answer, Completion)
    assert len(result.answers) == 1


def test_a_request_that_the_provider_declines_is_a_failed_draft(store: Store, jail: Jail) -> None:
    result = authored(store, ScriptedBackend(author=UnusableAnswer("declined by the filter")), jail)
    assert result.answers == () and result.code is None
    assert (result.check.passed, result.check.message) == (False, "declined by the filter")


def test_a_provider_that_cannot_be_asked_is_no_matter_of_the_draft(store: Store, jail: Jail) -> None:
    with pytest.raises(RequestRefused):
        authored(store, ScriptedBackend(author=RequestRefused("wrong key")), jail)


def test_in_the_document_format_the_code_is_rendered_of_the_outline(store: Store, jail: Jail) -> None:
    done, _ = milled(store, jail, json.dumps(OUTLINED))
    python, _ = milled(store, jail, fenced(SOUP), form="python")
    assert done.accepted is not None and python.accepted is not None
    assert done.accepted.execution.document.hash == python.accepted.execution.document.hash
    code = done.accepted.draft.code
    assert code.startswith("from hazardmill.formalism.authoring import PlanningTask\n")
    assert [(check.name, check.passed) for check in done.accepted.draft.checks] == [
        (check.name, check.passed) for check in python.accepted.draft.checks
    ]


def test_prose_and_a_fence_around_the_outline_are_passed_over(store: Store, jail: Jail) -> None:
    answer = f"Here it is.\n\n```json\n{json.dumps(OUTLINED, indent=1)}\n```\nAsk me if you wish."
    result = authored(store, ScriptedBackend(author=answer), jail, form="document")
    assert result.check.passed and "class BringBowlToTable(PlanningTask):" in result.code


@pytest.mark.parametrize(
    ("answer", "reason", "said"),
    [
        ("I am not able to write that.", "no_document", "no JSON object"),
        (json.dumps(OUTLINED)[:-40], "no_document", "cut off"),
        (Completion(text=json.dumps(OUTLINED), model_answered="toy", finish_reason="length"), "no_document", "cut off"),
        (json.dumps({**OUTLINED, "goal": None}), "no_document", "goal"),
        (json.dumps({**OUTLINED, "extra": 1}), "no_document", "extra"),
        (json.dumps({**OUTLINED, "goal": "bowl_is(table)"}), "not_a_document", "goal: fluent 'bowl_is'"),
        (json.dumps({**OUTLINED, "goal": "bowl_at(table) and"}), "not_a_document", "cannot be read"),
        (
            json.dumps({**OUTLINED, "actions": ["go(to: place): ->"]}),
            "not_a_document",
            "action 'carry_bowl' is not declared",
        ),
    ],
)
def test_a_broken_outline_fails_the_answer_with_what_is_wrong(
    answer: str | Completion, reason: str, said: str, store: Store, jail: Jail
) -> None:
    result = authored(store, ScriptedBackend(author=answer), jail, form="document")
    assert result.code is None
    assert (result.check.name, result.check.passed, result.check.reason) == ("answer", False, reason)
    assert said in result.check.message and result.check.mend


def test_an_outline_that_no_build_can_say_is_given_as_json(store: Store, jail: Jail) -> None:
    actions = [OUTLINED["actions"][0].replace("carry_bowl", "carry_bowl(sets: place)"), OUTLINED["actions"][1]]
    outline = {**OUTLINED, "actions": actions}
    result = authored(store, ScriptedBackend(author=json.dumps(outline)), jail, form="document")
    assert (result.check.passed, result.check.reason) == (True, None)
    assert result.code is not None and "(JsonTask):" in result.code
    document = check(result.code, jail)
    assert isinstance(document, Document)
    assert {parameter.name for action in document.actions for parameter in action.parameters} == {"?sets"}


def test_an_author_of_outlines_is_shown_the_outline_with_what_was_found(store: Store, jail: Jail) -> None:
    first = {**OUTLINED, "context": "soup_is_hot, window_is_open = true"}
    broken = json.dumps({**OUTLINED, "goal": "bowl_is(table)"})
    answers = [f"Well.\n{json.dumps(first)}\nThere.", broken, json.dumps(OUTLINED)]
    done, backend = milled(store, jail, *answers)
    assert done.accepted is not None and done.accepted.draft.number == 3
    asked = [request.messages[-1].content for request in backend.asked if request.stage == "author"]
    assert "<previous_draft>" not in asked[0]
    assert f"<previous_draft>\n{json.dumps(first)}\n</previous_draft>\n<feedback>\nDraft 1 did not pass." in asked[1]
    assert "reason: no_unsafe_plan" in asked[1]
    assert f"<previous_draft>\n{broken}\n</previous_draft>" in asked[2]
    assert "check: answer\nreason: not_a_document\nfound: goal: fluent 'bowl_is' is not declared" in asked[2]


@pytest.mark.parametrize(("form", "structured"), [("document", True), ("document", False), ("python", True)])
def test_a_model_is_held_to_the_schema_only_where_it_can_be(
    form: AuthorFormat, structured: bool, store: Store, jail: Jail
) -> None:
    backend = ScriptedBackend(author=json.dumps(OUTLINED))
    authored(store, backend, jail, form=form, structured=structured)
    wanted = OUTLINE_FORMAT if form == "document" and structured else None
    assert backend.asked[0].parameters.get("response_format") == wanted
    assert "max_tokens" in backend.asked[0].parameters
