from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.report.why.model import Story

from .conftest import Hazardmill, OnceASession

RUN = ("run", "generate", "--source", "neiss", "--limit", 4, "--run-id", "mill", "--store", "store", "--json")


@pytest.fixture
def outcomes(hazardmill: Hazardmill, neiss: Path, once: OnceASession) -> dict[str, dict[str, Any]]:
    """What came of four records of the shipped sample, by the offline author."""

    def run() -> dict[str, dict[str, Any]]:
        assert hazardmill(*RUN, "--input", neiss).code == 0
        sql = "select record_id, outcome, task_id from outcomes"
        return {row["record_id"]: row for row in hazardmill("query", sql, "--store", "store", "--json").json}

    return once("a run to ask why of", run)


def test_a_task_is_told_as_text_as_json_and_as_a_page(
    hazardmill: Hazardmill, outcomes: dict[str, dict[str, Any]], empty_folder: Path, neiss: Path
) -> None:
    accepted = next(row for row in outcomes.values() if row["outcome"] == "accepted")
    task_id, record_id = accepted["task_id"], accepted["record_id"]
    before = sorted(path for path in (empty_folder / "store").rglob("*") if path.is_file())

    text = hazardmill("why", task_id, "--store", "store")
    assert (text.code, text.err) == (0, "")
    assert text.out.startswith(f"{record_id}: accepted as task {task_id}")
    assert "THE DANGEROUS PLAN" in text.out and "unchanged: the file still holds it" in text.out
    full = hazardmill("why", task_id, "--store", "store", "--full")
    assert len(full.out) > 2 * len(text.out)

    told = hazardmill("why", record_id, "--run", "mill", "--store", "store", "--json").json
    story = Story.model_validate(told)
    assert json.loads(story.model_dump_json()) == told
    assert (told["format"], told["asked"], told["task"]["task_id"]) == ("hazardmill-why/1", record_id, task_id)
    assert told["origin"]["still"]["path"] == str(neiss)
    assert told["offline"] is True

    page = hazardmill("why", task_id, "--store", "store", "--html", "pages/why.html")
    assert (page.code, page.out) == (0, "pages/why.html\n")
    assert "Written by the offline author" in Path("pages/why.html").read_text(encoding="utf-8")
    both = hazardmill("why", task_id, "--store", "store", "--html", "other.html", "--json")
    assert both.json["record_id"] == record_id and Path("other.html").exists()

    assert sorted(path for path in (empty_folder / "store").rglob("*") if path.is_file()) == before


def test_the_json_has_every_row_of_the_record(hazardmill: Hazardmill, outcomes: dict[str, dict[str, Any]]) -> None:
    def rows(sql: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = hazardmill("query", sql, "--store", "store", "--json").json
        return found

    for record_id in outcomes:
        told = hazardmill("why", record_id, "--store", "store", "--json").json
        calls = rows(f"select * from llm_calls where record_id = '{record_id}'")
        asked = [*told["extraction"]["requests"], *(each for draft in told["drafts"] for each in draft["requests"])]
        assert {each["identity"] for each in asked} == {call["identity"] for call in calls}
        for call in calls:
            (same,) = {json.dumps(each, sort_keys=True) for each in asked if each["identity"] == call["identity"]}
            each = json.loads(same)
            for name in ("answer", "prompt_tokens", "completion_tokens", "usd", "latency_s", "model_answered"):
                assert each[name] == call[name]
            assert {"messages": each["messages"], "parameters": each["parameters"]} == json.loads(call["request"])
        checks = rows(f"select * from checks where record_id = '{record_id}' order by draft, position")
        said = [check for draft in told["drafts"] for check in draft["checks"]]
        assert [(c["name"], c["passed"], c["reason"], c["message"], c["mend"], c["details"]) for c in said] == [
            (c["check_name"], c["passed"], c["reason"], c["message"], c["mend"], json.loads(c["details"]))
            for c in checks
        ]
        for task in rows(f"select * from tasks where record_id = '{record_id}'"):
            assert told["task"]["document"] == json.loads(task["document"])
            assert told["task"]["certificate"] == json.loads(task["certificate"])
            assert told["task"]["unsafe"]["plan"] == task["unsafe_plan"]


def test_the_file_is_not_looked_into_where_that_is_not_wanted(
    hazardmill: Hazardmill, outcomes: dict[str, dict[str, Any]]
) -> None:
    told = hazardmill("why", next(iter(outcomes)), "--store", "store", "--json", "--no-reread").json
    assert told["origin"]["still"] == {
        "state": "not_here",
        "message": "not looked for, as requested",
        "path": None,
        "content_hash": None,
    }


def test_an_unknown_id_is_refused_with_a_way_on(hazardmill: Hazardmill, outcomes: dict[str, dict[str, Any]]) -> None:
    record_id = next(iter(outcomes))
    ended = hazardmill("why", record_id[:-1], "--store", "store")
    assert (ended.code, ended.out) == (2, "")
    assert "[did you mean neiss:2499001" in ended.err
    assert 'hazardmill query "select record_id, outcome, task_id from outcomes limit 10" --store store' in ended.err
    assert hazardmill("why", record_id, "--store", "nowhere").code == 3


def test_a_page_that_cannot_be_written_says_so(hazardmill: Hazardmill, outcomes: dict[str, dict[str, Any]]) -> None:
    Path("file").write_text("")
    ended = hazardmill("why", next(iter(outcomes)), "--store", "store", "--html", "file/why.html")
    assert ended.code == 3 and "cannot write the page" in ended.err
