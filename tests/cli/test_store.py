from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from hazardmill.runs.run import Run
from hazardmill.store.store import Store

from .conftest import Hazardmill, OnceASession


@pytest.fixture(autouse=True)
def stores(hazardmill: Hazardmill, neiss: Path, once: OnceASession) -> None:
    """Two records in the store `s`, and in `g` a whole run of six in three batches."""

    def both() -> None:
        assert hazardmill("ingest", "--source", "neiss", neiss, "--limit", 2, "--store", "s").code == 0
        words = ("--source", "neiss", "--input", neiss, "--limit", 6, "--wave-size", 2, "--run-id", "whole")
        assert hazardmill("run", "generate", *words, "--store", "g").code == 0

    once("store of records and of a run", both)


def test_verify_is_quiet_about_a_good_store(hazardmill: Hazardmill) -> None:
    assert hazardmill("store", "verify", "--store", "s").out.startswith("all well up to commit ")
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


def test_export_prints_what_it_wrote(hazardmill: Hazardmill, empty_folder: Path) -> None:
    ended = hazardmill("store", "export", "--to", "parquet", "exported", "--store", "s")
    last, _ = Store.open("s").last_commit()
    assert ended.code == 0 and f" up to commit {last}\ndescribed in exported/export.json\n" in ended.out
    made = hazardmill("store", "export", "--to", "parquet", "again", "--store", "s", "--json").json
    assert made == json.loads((empty_folder / "exported" / "export.json").read_text())


def test_the_digest_of_an_unknown_run_is_refused(hazardmill: Hazardmill) -> None:
    ended = hazardmill("store", "digest", "--store", "s", "--run", "nope")
    assert ended.code == 2
    assert "there is no run nope in this store" in ended.err


@pytest.mark.parametrize("verb", ["verify", "digest", "compact", "rebuild"])
def test_a_folder_that_is_no_store_is_named(verb: str, hazardmill: Hazardmill, empty_folder: Path) -> None:
    ended = hazardmill("store", verb, "--store", "nowhere")
    assert ended.code != 0
    assert "nowhere: there is no store here" in ended.err
    assert not (empty_folder / "nowhere").exists()


@pytest.fixture
def generated() -> Store:
    return Store.open("g")


def parts(store: Store, table: str) -> list[Path]:
    return sorted((store.path / table).glob("*.parquet"))


def paid(store: Store) -> list[str]:
    return sorted(row["identity"] for row in store.rows("llm_calls"))


def test_compact_makes_few_parts_and_changes_no_digest(hazardmill: Hazardmill, generated: Store) -> None:
    before = generated.digest(), generated.digest("whole"), hazardmill("report", "--store", "g", "--json").out
    ended = hazardmill("store", "compact", "--store", "g")
    assert ended.code == 0
    assert "parts: " in ended.out and "MB" in ended.out
    again = Store.open("g")
    assert (again.digest(), again.digest("whole")) == before[:2]
    assert [len(parts(again, name)) for name in ("outcomes", "drafts", "llm_calls")] == [1, 1, 1]
    assert hazardmill("store", "verify", "--store", "g").out.startswith("all well up to commit ")
    assert hazardmill("query", "select count(*) n from outcomes", "--store", "g", "--json").json == [{"n": 6}]
    assert "nothing to do" in hazardmill("store", "compact", "--store", "g").out
    assert hazardmill("store", "compact", "--store", "g", "--target", 1, "--json").json["commits"] == 0
    assert hazardmill("run", "resume", "whole", "--store", "g").code == 0


@pytest.mark.parametrize("table", ["drafts", "outcomes", "tasks"])
def test_a_rebuilt_run_is_resumed_to_the_same_end_and_pays_nothing(
    hazardmill: Hazardmill, generated: Store, table: str
) -> None:
    digest, asked = generated.digest(), paid(generated)
    bad = parts(generated, table)[0]
    bad.write_bytes(bad.read_bytes()[:-50])
    assert hazardmill("store", "verify", "--store", "g").code == 1
    told = hazardmill("store", "rebuild", "--dry-run", "--store", "g")
    assert told.code == 0
    assert "would be retracted" in told.out and "the store would be whole" in told.out and bad.exists()
    ended = hazardmill("store", "rebuild", "--store", "g")
    assert ended.code == 0
    assert f"{table}/{bad.name}: the part does not match" in ended.out
    assert "resume with: hazardmill run resume whole --store g" in ended.out
    assert ended.out.endswith("the store is whole\n")
    assert not bad.exists() and len(list((generated.path / "quarantine").iterdir())) == 2
    assert hazardmill("store", "verify", "--store", "g").out.startswith("all well up to commit ")
    resumed = hazardmill("run", "resume", "whole", "--store", "g")
    assert resumed.code == 0
    again = Store.open("g")
    assert again.digest() == digest
    assert paid(again) == asked


def test_what_stays_lost_is_said_and_is_exit_1(hazardmill: Hazardmill, generated: Store) -> None:
    parts(generated, "llm_calls")[0].unlink()
    ended = hazardmill("store", "rebuild", "--store", "g")
    assert ended.code == 1
    assert "LOST: " in ended.out and "of the ledger" in ended.out
    ended = hazardmill("store", "rebuild", "--store", "g", "--json")
    assert ended.code == 1, "the answers are still not there"
    assert ended.json["whole"] is False and ended.json["damages"] == []


def test_nothing_is_found_in_a_good_store(hazardmill: Hazardmill, generated: Store) -> None:
    ended = hazardmill("store", "rebuild", "--store", "g")
    assert (ended.code, ended.out) == (0, "no file is damaged\nthe store is whole\n")


def work(run: Run, batches: int) -> None:
    async def some() -> None:
        async with run.session() as session:
            for batch in run.waves()[:batches]:
                await session.work_through([batch])

    asyncio.run(some())
