"""What Gemini's batches have of their own."""

from __future__ import annotations

import json

import pytest

from hazardmill.errors import ProviderDown, RedirectRefused
from hazardmill.llm.batches.provider import BatchState

from .native_servers import KEY, GeminiServer, reply


@pytest.fixture
def gemini(serve):
    return serve(GeminiServer)


def test_the_file_is_uploaded_whole_and_named_in_the_batch(gemini):
    gemini.do("create", "wave", [gemini.line()])

    headers, body = gemini.server.sent("file")
    assert headers["x-goog-upload-command"] == "upload, finalize"
    assert gemini.server.sent("upload")[0]["x-goog-upload-header-content-length"] == str(len(body))
    assert json.loads(gemini.server.sent("create")[1]) == {
        "batch": {"displayName": "wave", "inputConfig": {"fileName": "files/in-1"}}
    }


@pytest.mark.parametrize("to", ["http://127.0.0.2/upload", "https://elsewhere.example/", ""])
def test_requests_are_uploaded_to_no_other_host(gemini, to):
    gemini.server.faults["upload"] = reply({}, x_goog_upload_url=to)
    with pytest.raises(RedirectRefused):
        gemini.do("create", "wave", [gemini.line()])
    assert [name for name, *_ in gemini.server.seen] == ["upload"]


@pytest.mark.parametrize("uploaded", [{}, {"file": {}}, {"file": {"name": "../x"}}])
def test_an_upload_without_a_file_is_the_providers_fault(gemini, uploaded):
    gemini.server.faults["file"] = reply(uploaded)
    with pytest.raises(ProviderDown):
        gemini.do("create", "wave", [gemini.line()])
    assert gemini.server.batches == {}


def test_a_batch_that_was_made_in_spite_of_an_error_is_found_by_its_name(gemini):
    assert gemini.do("find", "wave 2") is None
    gemini.do("create", "wave 1", [gemini.line()])
    gemini.server.faults["create"] = reply({"error": {"code": 500, "message": "x"}}, 500)
    with pytest.raises(ProviderDown):
        gemini.do("create", "wave 2", [gemini.line()])

    assert gemini.do("find", "wave 2") == "batches/1", "on the second page"
    assert gemini.do("find", "wave 1") == "batches/0"
    assert gemini.do("find", "wave") is None


@pytest.mark.parametrize(
    ("state", "about", "wanted"),
    [
        ("BATCH_STATE_PENDING", {}, BatchState.RUNNING),
        ("BATCH_STATE_RUNNING", {}, BatchState.RUNNING),
        ("BATCH_STATE_OF_TOMORROW", {}, BatchState.RUNNING),
        ("BATCH_STATE_SUCCEEDED", {"done": True}, BatchState.ENDED),
        ("JOB_STATE_SUCCEEDED", {"done": True}, BatchState.ENDED),
        ("BATCH_STATE_EXPIRED", {"done": True}, BatchState.EXPIRED),
        ("BATCH_STATE_CANCELLED", {"done": True}, BatchState.CANCELLED),
        ("BATCH_STATE_FAILED", {"done": True}, BatchState.FAILED),
        ("", {"done": True, "error": {"code": 1}}, BatchState.CANCELLED),
        ("", {"done": True, "error": {"code": 3}}, BatchState.FAILED),
        ("", {"done": True, "response": {}}, BatchState.ENDED),
    ],
)
def test_the_state_of_a_batch(gemini, state, about, wanted):
    batch_id = gemini.do("create", "wave", [gemini.line()])
    gemini.server.state, gemini.server.about = state, about
    assert gemini.do("status", batch_id).state is wanted


def test_the_counts_of_a_batch_and_why_it_failed(gemini):
    batch_id = gemini.do("create", "wave", [gemini.line()])
    assert gemini.do("status", batch_id).answered is None

    gemini.server.stats = {"requestCount": "9", "successfulRequestCount": "5", "failedRequestCount": "2"}
    gemini.server.about = {"done": True, "error": {"code": 3, "message": f"line 1 is not valid for {KEY}"}}
    found = gemini.do("status", batch_id)
    assert (found.answered, found.state, found.message) == (7, BatchState.FAILED, "line 1 is not valid for [secret]")


def test_a_batch_without_output_has_no_results(gemini):
    lines = [gemini.line()]
    batch_id = gemini.do("create", "wave", lines)
    gemini.server.state = "BATCH_STATE_EXPIRED"
    assert gemini.do("results", batch_id, lines) == []


def test_results_within_the_answer_are_read_by_their_metadata_and_never_by_their_order(gemini):
    lines = [gemini.line(custom_id) for custom_id in "123"]
    batch_id = gemini.do("create", "wave", lines)
    inlined = [
        {"metadata": {"key": "2"}, "response": gemini.server.ordinary},
        {"response": gemini.server.ordinary},
        {"metadata": {"key": "1"}, "error": {"code": 3, "message": "no"}},
    ]
    gemini.server.about = {"done": True, "response": {"inlinedResponses": {"inlinedResponses": inlined}}}
    results = gemini.do("results", batch_id, lines)
    assert [(result.custom_id, result.error is None) for result in results] == [("2", True), ("1", False)]


def test_the_output_may_stand_in_the_metadata_only(gemini):
    lines = [gemini.line()]
    batch_id = gemini.do("create", "wave", lines)
    gemini.server.file_of(gemini.server.answered("1"))
    gemini.server.about = {"metadata": {"output": {"responsesFile": "files/out-1"}}}
    assert [result.custom_id for result in gemini.do("results", batch_id, lines)] == ["1"]


def test_the_address_may_lack_the_version(gemini):
    provider = gemini.batches("https://gateway.example/google/", KEY, timeout_s=1, max_answer_bytes=1)
    assert provider._media("upload", "/files") == "https://gateway.example/google/upload/v1beta/files"
