"""``hazardmill run record``, and runs that answer from what it wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hazardmill import resources
from hazardmill.llm import prompts as prompts_module
from hazardmill.store.schemas import TABLES
from hazardmill.store.store import Store

from .conftest import Ended, Hazardmill, OnceASession

COMPARED = ("records", "dangers", "drafts", "checks", "tasks", "outcomes")
ORIGIN = {"backend", "model_asked", "identities", "prompt_hash", "document"}
"""Columns that say how answers came about: of those that a digest covers, all that may differ. A document says it of
itself too; its hash leaves that out."""


@pytest.fixture
def generate(hazardmill: Hazardmill, neiss: Path) -> Hazardmill:
    """Run records of the NEISS sample."""

    def run(*words: object, limit: int = 4) -> Ended:
        given = ("--source", "neiss", "--input", neiss, "--limit", limit, "--jail", "minimal")
        return hazardmill("run", "generate", *given, *words)

    return run


@pytest.fixture
def recorded(generate: Hazardmill, hazardmill: Hazardmill, once: OnceASession) -> Ended:
    """A run in the store `first`, and its recording in `recordings`."""

    def record() -> Ended:
        generate("--model", "offline-author", "--store", "first", "--run-id", "one")
        return hazardmill("run", "record", "one", "--store", "first", "--out", "recordings", "--json")

    return once("recording", record)


def replayed(generate: Hazardmill, *words: object, store: str = "again", limit: int = 4) -> Ended:
    return generate(
        "--model", "recorded", "--recordings", "recordings", "--store", store, "--run-id", "two", *words, limit=limit
    )


def rows(store: str, table: str) -> list[dict[str, object]]:
    columns = [name for name in TABLES[table].stable_columns if name not in ORIGIN]
    return [{name: row[name] for name in columns} for row in Store(store).rows(table)]


def test_a_recorded_run_comes_out_as_it_did(recorded: Ended, generate: Hazardmill) -> None:
    assert recorded.code == 0, recorded.err
    [made] = recorded.json
    asked = Store("first").rows("llm_calls")
    assert made["source"] == "neiss" and made["models"] == ["offline-author"]
    assert (made["records"], made["answers"]) == (4, len(asked))

    ended = replayed(generate)
    assert ended.code == 0, ended.err
    assert "pending: " not in ended.err and "earlier prompts" not in ended.err
    for table in COMPARED:
        assert rows("again", table) == rows("first", table), table
    calls = Store("again").rows("llm_calls")
    assert len(calls) == len(asked)
    assert {(call["backend"], call["model_asked"], call["model_answered"]) for call in calls} == {
        ("recorded", "recorded", "offline-author")
    }
    assert {call["usd_upper"] for call in calls} == {0.0}
    assert all(call["recorded_for"] == call["prompt_hash"] and len(call["recording"]) == 64 for call in calls)
    assert {call["recording"] for call in asked} == {None}


def test_answers_are_found_after_a_prompt_was_edited_and_say_so(
    recorded: Ended, generate: Hazardmill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(resources.prompts_folder(), tmp_path / "prompts")
    judge = folder / "judge" / "task.md.j2"
    judge.write_text(judge.read_text() + "\nThink twice.\n")
    monkeypatch.setattr(prompts_module, "prompts_folder", lambda: folder)

    ended = replayed(generate)
    assert ended.code == 0
    for table in COMPARED:
        assert rows("again", table) == rows("first", table), table
    calls = Store("again").rows("llm_calls")
    older = [call["stage"] for call in calls if call["recorded_for"] != call["prompt_hash"]]
    assert older and {*older} == {"judge"}
    assert f"{len(older)} of {len(calls)} recorded answers are to earlier prompts (judge): " in ended.err


def test_a_record_without_an_answer_stays_pending_and_the_rest_goes_on(recorded: Ended, generate: Hazardmill) -> None:
    ended = replayed(generate, "--json", limit=6)
    assert ended.code == 0
    assert ended.json["funnel"]["sources"]["neiss"]["pending"] == 2
    store = Store("again")
    assert store.count("outcomes") == 4
    last = max(store.rows("runs"), key=lambda row: row["sequence"])
    assert last["state"] == "stopped" and '"pending":2' in last["counts"]
    told = [line for line in ended.err.splitlines() if line.startswith("stays pending: ")]
    assert len(told) == 2
    selection = [*json.loads(next(row["selection"] for row in store.rows("runs") if row["sequence"] == 0))]
    for record_id, line in zip(selection[4:], told, strict=True):
        assert f"(record {record_id})" in line and "recordings/neiss/recorded/answers.jsonl.zst" in line
        assert "no answer is recorded for this extract request (round 1, repair 0, sample 0)" in line
        assert "--model" in line
    missing = store.rows("llm_calls", {"error": "NotRecorded"})
    assert [call["answered"] for call in missing] == [False, False]


def test_a_damaged_file_leaves_all_records_of_its_source_pending(recorded: Ended, generate: Hazardmill) -> None:
    path = Path("recordings", "neiss", "recorded", "answers.jsonl.zst")
    path.write_bytes(path.read_bytes()[:-20])
    ended = replayed(generate)
    assert ended.code == 0 and Store("again").count("outcomes") == 0
    assert ended.err.count("recorded answers are damaged") == 4


def test_a_source_that_has_no_recording_is_told_of(generate: Hazardmill) -> None:
    ended = generate("--model", "recorded", "--recordings", ".", "--store", "again", limit=1)
    assert ended.code == 0 and "recorded answers cannot be read: No such file" in ended.err


def test_a_run_that_has_nothing_to_record_is_refused(
    generate: Hazardmill, hazardmill: Hazardmill, recorded: Ended
) -> None:
    ended = hazardmill("run", "record", "three", "--store", "first", "--out", "more")
    assert ended.code == 2 and "there is no generation run three in this store" in ended.err
    # A run that found all answers in the ledger has paid for none.
    assert generate("--model", "offline-author", "--store", "first", "--run-id", "three").code == 0
    ended = hazardmill("run", "record", "three", "--store", "first", "--out", "more")
    assert ended.code == 3 and "run three has no answer to a finished record" in ended.err
    assert "hazardmill run list --store " in ended.err and "hazardmill run resume three --store " in ended.err
    assert not Path("more").exists()


def test_recorded_answers_are_not_mixed_with_a_model_or_an_address(generate: Hazardmill) -> None:
    ended = generate("--model", "recorded", "--judge-model", "openai/gpt-4o-mini", "--store", "s")
    assert ended.code == 2 and "recorded cannot be mixed with other models" in ended.err
    ended = generate("--model", "recorded", "--api-base", "http://127.0.0.1:1/v1", "--store", "s")
    assert ended.code == 2 and "recorded does not use a server" in ended.err


def test_a_recorded_run_costs_nothing_and_needs_no_price(
    recorded: Ended, hazardmill: Hazardmill, generate: Hazardmill, neiss: Path
) -> None:
    ended = hazardmill(
        "run", "estimate", "--source", "neiss", "--input", neiss, "--limit", 4, "--model", "recorded", "--json"
    )
    assert ended.code == 0, ended.err
    assert ended.json["total"]["usd"] == {"low": 0.0, "expected": 0.0, "high": 0.0}
    assert ended.json["unknown_prices"] == []
    assert replayed(generate, "--budget-usd", "0.01").code == 0
