from __future__ import annotations

import asyncio
from typing import Any

import pytest

from factories.scripted import DEFAULT_USAGE, ScriptedBackend
from hazardmill.errors import RateLimited
from hazardmill.llm.requests import AnswerKey, Completion, Message, Request, Usage


def request(stage: str = "author", draft: int | None = None, turns: int = 1, record_id: str = "a:1") -> Request:
    messages = [Message(role="user", content="q")]
    for _ in range(turns - 1):
        messages += [Message(role="assistant", content="a"), Message(role="user", content="again")]
    key = AnswerKey(record_hash="h", stage=stage, draft=draft)
    return Request(stage=stage, model="m", messages=tuple(messages), record_id=record_id, key=key)


def said(backend: ScriptedBackend, *asked: Request) -> list[str]:
    async def ask() -> list[Completion]:
        return [await backend.complete(one) for one in asked]

    return [completion.text for completion in asyncio.run(ask())]


def test_one_line_answers_every_request_of_its_stage() -> None:
    backend = ScriptedBackend(author="code", judge="fine")
    assert said(backend, request(draft=1), request(draft=4), request("judge", 4)) == ["code", "code", "fine"]


def test_several_lines_are_one_a_draft_and_the_last_repeats() -> None:
    backend = ScriptedBackend(author=["one", "two"])
    asked = [request(draft=1), request(draft=2, turns=3), request(draft=3), request(draft=1)]
    assert said(backend, *asked) == ["one", "two", "two", "one"]


def test_outside_of_drafts_several_lines_are_one_a_turn() -> None:
    backend = ScriptedBackend(extract=["one", "two"])
    asked = [request("extract", turns=turns) for turns in (1, 2, 3)]
    assert said(backend, *asked) == ["one", "two", "two"]


def test_a_line_may_be_worked_out_awaited_or_raised() -> None:
    async def late(asked: Request) -> str:
        await asyncio.sleep(0)
        return f"late {asked.record_id}"

    backend = ScriptedBackend(author=[lambda asked: f"now {asked.model}", late, RateLimited("slow down")])
    assert said(backend, request(draft=1), request(draft=2)) == ["now m", "late a:1"]
    with pytest.raises(RateLimited):
        said(backend, request(draft=3))


def test_completions_come_as_they_are_and_texts_with_model_and_usage() -> None:
    whole = Completion(text="x", model_answered="other", finish_reason="length", usage=Usage())
    backend = ScriptedBackend(author=[whole, "y"])

    async def ask() -> tuple[Any, Any]:
        return await backend.complete(request(draft=1)), await backend.complete(request(draft=2))

    first, second = asyncio.run(ask())
    assert first == whole
    assert (second.model_answered, second.finish_reason, second.usage) == ("m", "stop", DEFAULT_USAGE)


def test_requests_are_counted_by_stage_and_record() -> None:
    backend = ScriptedBackend(extract="e", author="a")
    said(backend, request("extract"), request(draft=1), request(draft=1, record_id="a:2"))
    assert (backend.count(), backend.count("author"), backend.count(record_id="a:1")) == (3, 2, 2)
    assert backend.count("author", "a:2") == 1 and backend.count("judge") == 0
    assert [asked.stage for asked in backend.asked] == ["extract", "author", "author"]


def test_a_stage_without_a_script_is_an_error_of_the_test() -> None:
    with pytest.raises(LookupError, match="nothing for stage judge"):
        said(ScriptedBackend(author="x"), request("judge", 1))
