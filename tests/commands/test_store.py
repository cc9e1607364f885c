from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.store.store import Store

from .conftest import Hazardmill


@pytest.fixture(autouse=True)
def ingested(hazardmill: Hazardmill, neiss: Path) -> None:
    assert hazardmill("ingest", "--source", "neiss", neiss, "--limit", 2, "--store", "s").code == 0


def test_verify_is_quiet_about_a_good_store(hazardmill: Hazardmill) -> None:
    assert hazardmill("store", "verify", "--store", "s").out == "all well\n"
    assert hazardmill("store", "verify", "--store", "s", "--json").json == []


def test_verify_finds_damage_and_is_exit_1(hazardmill: Hazardmill, empty_folder: Path) -> None:
    (part,) = (empty_folder / "s" / "records").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    ended = hazardmill("store", "verify", "--store", "s")
    assert ended.code == 1
    assert part.name in ended.out and "1 finding(s)" in ended.out
    ended = hazardmill("store", "verify", "--store", "s", "--json")
    assert ended.code == 1 and len(ended.json) == 1


def test_digest_prints_a_hash_a_table(hazardmill: Hazardmill) -> None:
    digests = Store.open("s").digest()
    assert hazardmill("store", "digest", "--store", "s", "--json").json == digests
    lines = hazardmill("store", "digest", "--store", "s").out.splitlines()
    assert lines == [f"{value}  {table}" for table, value in digests.items()]


def test_the_digest_of_an_unknown_run_is_refused(hazardmill: Hazardmill) -> None:
    ended = hazardmill("store", "digest", "--store", "s", "--run", "nope")
    assert ended.code == 3
    assert "there is no run nope here" in ended.err


@pytest.mark.parametrize("verb", ["verify", "digest"])
def test_a_folder_that_is_no_store_is_named(verb: str, hazardmill: Hazardmill, empty_folder: Path) -> None:
    ended = hazardmill("store", verb, "--store", "nowhere")
    assert ended.code != 0
    assert "nowhere: there is no store here" in ended.err
    assert not (empty_folder / "nowhere").exists()
