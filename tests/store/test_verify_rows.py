"""What a store whose files are all in order can still lack: rows that other rows stand on."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hazardmill.store import Store
from hazardmill.store.files.chain import seal
from store.damaging import relink
from store.factories import call, outcome, row

Group = dict[str, list[dict[str, Any]]]


def of_record(name: str) -> Group:
    """Everything that a run says of a record that was accepted at its first draft."""
    own = {"record_id": name, "source": "n"}
    return {
        "records": [row("records", **own, content_hash="c" * 64)],
        "dangers": [row("dangers", **own, identities=json.dumps([f"i-{name}"]))],
        "drafts": [row("drafts", **own, draft=1, identities="[]")],
        "checks": [row("checks", **own, draft=1, check_name="answer", position=0)],
        "tasks": [row("tasks", **own, task_id=f"t-{name}")],
        "outcomes": [outcome(name, **{"source": "n", "drafts": 1, "task_id": f"t-{name}"})],
        "llm_calls": [call(f"i-{name}", answered=True, answer="yes", record_id=name)],
    }


def whole(*names: str) -> Group:
    """A run over these records."""
    selection = json.dumps(dict.fromkeys(names, "c" * 64))
    group: Group = {"runs": [row("runs", sequence=0, kind="generate", state="running", selection=selection)]}
    for name in names:
        for table, rows in of_record(name).items():
            group.setdefault(table, []).extend(rows)
    return group


def put(store: Store, group: Group) -> Store:
    with store.writer("r1") as writer:
        writer.append_sync(group)
    return store


def without(table: str, keep: Callable[[dict[str, Any]], bool] = lambda _: False) -> Group:
    group = whole("n:1", "n:2")
    group[table] = [each for each in group[table] if keep(each)]
    return group


def test_a_run_with_all_its_rows_is_well(store: Store) -> None:
    assert put(store, whole("n:1", "n:2")).verify() == []


def test_records_that_are_pending_and_runs_that_end_without_records_are_well(store: Store) -> None:
    group = without("outcomes", lambda each: each["record_id"] == "n:1")
    for table in ("dangers", "drafts", "checks", "tasks"):
        group[table] = [each for each in group[table] if each["record_id"] == "n:1"]
    assert put(store, group).verify() == []


@pytest.mark.parametrize(
    ("table", "code", "said"),
    [
        ("runs", "run_missing", "run r1"),
        ("records", "record_missing", "2 record(s)"),
        ("dangers", "record_incomplete", "2 record(s) of run r1"),
        ("drafts", "record_incomplete", "2 record(s) of run r1"),
        ("checks", "record_incomplete", "2 record(s) of run r1"),
        ("tasks", "record_incomplete", "2 record(s) of run r1"),
        ("outcomes", "record_incomplete", "2 record(s) of run r1"),
        ("llm_calls", "answer_missing", "2 answer(s)"),
    ],
)
def test_rows_that_others_stand_on_are_missed(store: Store, table: str, code: str, said: str) -> None:
    [finding] = put(store, without(table)).verify()
    assert finding.code == code and said in finding.message
    assert re.search("hazardmill (store|run|ingest) .*--store ", finding.remedy)


@pytest.mark.parametrize("table", ["records", "dangers", "outcomes"])
def test_one_row_of_many_is_missed(store: Store, table: str) -> None:
    [finding] = put(store, without(table, lambda each: each["record_id"] == "n:1")).verify()
    assert "1 record(s)" in finding.message and "n:2" in finding.message


def test_a_record_that_no_run_was_started_on_is_missed_too(store: Store) -> None:
    group = whole("n:1")
    for table, rows in of_record("n:9").items():
        group[table] += rows if table != "records" else []
    [finding] = put(store, group).verify()
    assert finding.code == "record_missing" and "n:9" in finding.message


def test_a_part_that_went_with_its_manifest_leaves_rows_that_are_missed(store: Store) -> None:
    """Files alone tell nothing here: the manifests that are left are numbered without a gap, and chained."""
    put(store, {name: rows for name, rows in whole("n:1").items() if name in ("runs", "records", "llm_calls")})
    put(store, {name: rows for name, rows in whole("n:1").items() if name not in ("runs", "records", "llm_calls")})
    first, second = sorted((store.path / "manifests").glob("*.json"))
    for part in json.loads(first.read_text())["body"]["parts"]:
        (store.path / part["table"] / part["file"]).unlink()
    first.unlink()
    body = json.loads(second.read_text())["body"] | {"sequence": 1, "first": 1}
    second.unlink()
    second.with_name(second.name.replace("0000000002", "0000000001")).write_bytes(seal(body))
    relink(store)
    again = Store(store.path)
    assert again.verify_files() == []
    assert {finding.code for finding in again.verify()} == {"run_missing", "record_missing", "answer_missing"}


def test_of_damaged_files_the_damage_is_told_and_not_what_follows_from_it(store: Store) -> None:
    put(store, whole("n:1"))
    (part,) = (store.path / "records").glob("*.parquet")
    part.unlink()
    assert [finding.code for finding in Store(store.path).verify()] == ["part_missing"]


def test_rows_in_the_journal_count(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync(whole("n:1"))
        assert store.verify() == []


def test_an_older_copy_of_everything_leaves_no_trace_and_the_page_says_so(store: Store, project: Path) -> None:
    put(store, whole("n:1"))
    older = shutil.copytree(store.path, store.path.with_name("older"))
    put(store, {"runs": [row("runs", sequence=1, kind="generate", state="completed")]})
    shutil.rmtree(store.path)
    older.rename(store.path)
    again = Store(store.path)
    assert again.verify() == [] and again.last_commit()[0] == 1
    page = re.sub(r"\s+", " ", (project / "generated" / "README.md").read_text(encoding="utf-8"))
    assert "If an older copy took the place of everything, the journal included, nothing in it shows that" in page
