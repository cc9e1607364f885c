"""What Anthropic's batches have of their own."""

from __future__ import annotations

import json

import pytest

from hazardmill.errors import ProviderDown, RequestRefused
from hazardmill.llm.batches.provider import BatchState

from ..test_providers import STRUCTURED
from .native_servers import AnthropicServer, reply


@pytest.fixture
def anthropic(serve):
    return serve(AnthropicServer)


def test_the_batch_is_told_where_to_cache_and_which_features_its_lines_need(anthropic):
    plain, structured = anthropic.line("1"), anthropic.line("2", parameters={"response_format": STRUCTURED})
    anthropic.complete(structured)
    anthropic.do("create", "wave", [plain, structured])

    ordinary, headers = anthropic.server.sent("ordinary")[0], anthropic.server.sent("create")[0]
    assert headers["anthropic-beta"] == ordinary["anthropic-beta"]
    assert headers["anthropic-version"] == ordinary["anthropic-version"]
    system = anthropic.server.lines[0]["params"]["system"]
    assert system[0]["cache_control"] == {"type": "ephemeral"}


def test_no_feature_is_asked_for_without_need(anthropic):
    anthropic.do("create", "wave", [anthropic.line()])
    assert "anthropic-beta" not in anthropic.server.sent("create")[0]


def test_an_answer_through_a_tool_that_stands_in_for_a_schema_is_its_text(anthropic):
    line = anthropic.line("1", model="anthropic/claude-3-5-haiku-20241022", parameters={"response_format": STRUCTURED})
    anthropic.server.ordinary["content"] = [
        {"type": "tool_use", "id": "t", "name": "json_tool_call", "input": {"a": 2}}
    ]
    wanted = anthropic.complete(line)
    batch_id = anthropic.do("create", "wave", [line])
    anthropic.server.file_of(anthropic.server.answered("1"))
    [result] = anthropic.do("results", batch_id, [line])

    assert json.loads(wanted.text) == {"a": 2}
    assert result.completion == wanted


def test_a_batch_that_was_made_in_spite_of_an_error_cannot_be_found(anthropic):
    anthropic.server.faults["create"] = reply({"type": "error", "error": {"type": "api_error", "message": "x"}}, 500)
    with pytest.raises(ProviderDown):
        anthropic.do("create", "wave", [anthropic.line()])

    assert len(anthropic.server.batches) == 1
    assert not anthropic.batches.can_find
    with pytest.raises(RequestRefused, match="batches have no names"):
        anthropic.do("find", "wave")


@pytest.mark.parametrize(
    ("status", "counts", "state", "answered"),
    [
        ("in_progress", {"processing": 3}, BatchState.RUNNING, None),
        ("canceling", {"processing": 3}, BatchState.RUNNING, None),
        ("ended", {"succeeded": 2, "errored": 1}, BatchState.ENDED, 3),
        ("ended", {"succeeded": 1, "expired": 2}, BatchState.EXPIRED, 3),
        ("ended", {"succeeded": 1, "canceled": 2}, BatchState.CANCELLED, 3),
        ("ended", None, BatchState.ENDED, 0),
    ],
)
def test_the_state_of_a_batch(anthropic, status, counts, state, answered):
    batch_id = anthropic.do("create", "wave", [anthropic.line()])
    anthropic.server.batch = {"processing_status": status, "request_counts": counts}
    found = anthropic.do("status", batch_id)
    assert (found.state, found.answered) == (state, answered)


def test_an_error_may_come_without_the_object_around_it(anthropic):
    error = {"type": "overloaded_error", "message": "busy"}
    [result] = anthropic.results({"custom_id": "1", "result": {"type": "errored", "error": error}})
    assert isinstance(result.error, ProviderDown)
    assert "busy" in result.error.message
