from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.store.store import Store

from .conftest import Hazardmill


@pytest.fixture
def store(hazardmill: Hazardmill, neiss: Path) -> Store:
    words = ["--source", "neiss", "--input", neiss, "--limit", 5, "--store", "s", "--run-id", "r", "--json"]
    assert hazardmill("run", "generate", *words).code == 0
    return Store.open("s")


def test_drafts_that_come_out_as_they_are_stored(store: Store, hazardmill: Hazardmill) -> None:
    ended = hazardmill("run", "recheck", "--store", "s", "--json")
    assert ended.code == 0 and ended.err == ""
    drafts = [row for row in store.rows("drafts") if row["code"] is not None]
    assert (ended.json["drafts"], ended.json["differing"], ended.json["differences"]) == (len(drafts), 0, [])
    told = hazardmill("run", "recheck", "r", "--store", "s")
    assert told.code == 0 and f"digest of all verdicts: {ended.json['digest']}" in told.out
    assert f"{len(drafts)} of {len(drafts)} drafts" in told.err


def test_what_differs_is_told_and_ends_with_1(store: Store, hazardmill: Hazardmill) -> None:
    row = store.rows("checks", {"check_name": "policy"})[0]
    with store.writer("r") as writer:
        writer.append_sync({"checks": [{**row, "reason": "weather"}]})
    ended = hazardmill("run", "recheck", "--store", "s")
    assert ended.code == 1
    assert "different from what the store says: 1" in ended.out
    assert f"r {row['record_id']} draft {row['draft']}, policy: reason: was weather (version " in ended.out


def test_an_unknown_run_ends_with_2_and_a_store_without_drafts_with_3(store: Store, hazardmill: Hazardmill) -> None:
    ended = hazardmill("run", "recheck", "nobody", "--store", "s")
    assert ended.code == 2 and "there is no run nobody in this store" in ended.err
    Store.open("empty", create=True)
    ended = hazardmill("run", "recheck", "--store", "empty")
    assert ended.code == 3 and "no draft was executed" in ended.err and "run list --store " in ended.err
