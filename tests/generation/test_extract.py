from __future__ import annotations

import asyncio
import json

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import RequestRefused, UnusableAnswer
from hazardmill.generation.extract import ExtractResult, extract
from hazardmill.llm.requests import Completion
from hazardmill.records import DeclineReason
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store

from .support import DANGER, FOUND, NONE, danger, opened, record


def extracted(store: Store, backend: ScriptedBackend, jail: Jail) -> ExtractResult:
    with opened(store, backend, jail) as mill:
        return asyncio.run(extract(record(), mill))


def test_a_danger_is_found(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(extract=FOUND)
    extraction = extracted(store, backend, jail)
    assert extraction.danger == danger()
    assert (extraction.no_danger, extraction.error) == (None, None)
    (request,) = backend.asked
    assert request.record_id == "notes:1" and request.input_hash == record().content_hash
    assert request.key.model_dump() == {
        "record_hash": record().content_hash,
        "stage": "extract",
        "round": 1,
        "draft": None,
        "repair": 0,
        "sample": 0,
    }
    assert "SPILLED HOT SOUP" in request.messages[-1].content


def test_a_record_without_danger_has_its_reason(store: Store, jail: Jail) -> None:
    extraction = extracted(store, ScriptedBackend(extract=NONE), jail)
    assert (extraction.danger, extraction.no_danger, extraction.error) == (None, "nothing but sport", None)
    assert extraction.decline_reason is DeclineReason.NO_ROBOT_PART
    assert len(extraction.answers) == 1


@pytest.mark.parametrize(
    ("unusable", "said"),
    [
        (FOUND[:-20], "cut off"),
        ("I would rather not.", "no JSON object"),
        (json.dumps({"danger": {**DANGER, "danger_group": "psychosocial"}}), "danger_group"),
        (json.dumps({"danger": {**DANGER, "danger_type": "cosmic"}}), "danger_type"),
        (FOUND + NONE, "2 JSON objects"),
    ],
)
def test_an_unusable_answer_is_asked_again_and_told_why(unusable: str, said: str, store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(extract=[unusable, FOUND])
    extraction = extracted(store, backend, jail)
    assert extraction.danger == danger()
    assert [answer.text for answer in extraction.answers] == [unusable, FOUND]
    assert said in backend.asked[1].messages[-1].content


def test_three_unusable_answers_are_an_error_with_the_last_reason(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(extract=["no", "still no", "{"])
    extraction = extracted(store, backend, jail)
    assert (extraction.danger, extraction.no_danger) == (None, None)
    assert extraction.error
    assert [answer.text for answer in extraction.answers] == ["no", "still no", "{"]


def test_a_refusal_is_not_asked_again(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(extract=Completion(text="no", model_answered="toy", finish_reason="content_filter"))
    assert "declined" in extracted(store, backend, jail).error
    assert backend.count() == 1


def test_a_request_that_the_provider_declines_is_an_error_of_the_record(store: Store, jail: Jail) -> None:
    extraction = extracted(store, ScriptedBackend(extract=UnusableAnswer("declined by the filter")), jail)
    assert extraction.error == "declined by the filter"
    assert extraction.answers == ()


def test_a_provider_that_cannot_be_asked_is_no_matter_of_the_record(store: Store, jail: Jail) -> None:
    with pytest.raises(RequestRefused, match="wrong key"):
        extracted(store, ScriptedBackend(extract=RequestRefused("wrong key")), jail)


def test_the_guidance_of_the_source_is_shown_and_no_other(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(extract=NONE)
    with opened(store, backend, jail) as mill:
        for source in ("notes", "neiss", "bddl"):
            asyncio.run(extract(record(source=source), mill))
    shown = {str(request.record_id): request.messages[-1].content for request in backend.asked}
    guidance = mill.prompts.extract.guidance
    assert "<guidance>" not in shown["notes:1"]
    for source in ("neiss", "bddl"):
        assert shown[f"{source}:1"].startswith(f"<guidance>\n{guidance[source]}\n</guidance>\n<record ")
