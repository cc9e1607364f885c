from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hazardmill.errors import InputError, PartGone, UsageError
from hazardmill.ingest.intake import ingest_into
from hazardmill.ingest.shards import MOST, Shard, holds
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.estimates import estimate as estimating
from hazardmill.runs.estimates.estimate import estimate
from hazardmill.runs.inputs import records_of
from hazardmill.runs.run import Run
from hazardmill.runs.status import summarize_runs
from hazardmill.store.store import Store

IDS = st.lists(st.text(max_size=30), unique=True, max_size=50)


def shards(count: int) -> list[str]:
    return [f"{number}/{count}" for number in range(1, count + 1)]


def config(notes: Path | None, shard: str | None, **fields: object) -> RunConfig:
    item = RunInput.model_validate({"source": "notes", "path": notes, "shard": shard, **fields})
    return RunConfig(inputs=(item,), wave_size=2)


@pytest.fixture
def ingested(store: Store, notes: Path) -> Store:
    ingest_into(store, "notes", notes)
    return store


@given(IDS, st.integers(1, 40))
def test_shards_are_disjoint_and_complete(ids: list[str], count: int) -> None:
    found = [[record_id for record_id in ids if holds(shard, record_id)] for shard in shards(count)]
    assert sorted(chain.from_iterable(found)) == sorted(ids)


@given(IDS, st.integers(1, 40), st.integers(2, 5))
def test_a_shard_divided_further_keeps_its_records(ids: list[str], count: int, times: int) -> None:
    for number in range(1, count + 1):
        whole = [record_id for record_id in ids if Shard(number, count).holds(record_id)]
        finer = range((number - 1) * times + 1, number * times + 1)
        parts = [[record_id for record_id in ids if Shard(part, count * times).holds(record_id)] for part in finer]
        assert sorted(chain.from_iterable(parts)) == sorted(whole)


def test_shards_are_even_on_ids_as_they_come() -> None:
    ids = [f"neiss:{190_100_000 + number}" for number in range(20_000)]
    for shard in shards(8):
        assert 2_300 < sum(holds(shard, record_id) for record_id in ids) < 2_700


def test_where_an_id_falls_is_the_same_for_good() -> None:
    # Another hash would divide the records of runs that are under way anew.
    assert [[n for n in range(1, 9) if Shard(n, 8).holds(f"neiss:{number}")] for number in range(6)] == [
        [6],
        [4],
        [6],
        [4],
        [5],
        [1],
    ]


@pytest.mark.parametrize(
    "text", ["2", "0/3", "4/3", "1/0", "-1/3", "01/3", "1/03", " 1/3", "1/3\n", "a/b", "1/10000", "\u0661/\u0663"]
)
def test_what_is_no_shard_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(UsageError, match="is not a shard") as caught:
        Shard.parse(text)
    assert caught.value.remedy is not None and "2/8" in caught.value.remedy
    with pytest.raises(ValidationError, match="is not a shard"):
        RunInput(source="notes", shard=text)


@pytest.mark.parametrize("text", ["1/1", "2/8", f"{MOST}/{MOST}"])
def test_a_shard_is_written_as_it_is_read(text: str) -> None:
    assert str(Shard.parse(text)) == text == RunInput(source="notes", shard=text).shard


@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("by_path", [True, False])
def test_runs_of_all_shards_have_what_one_run_has(
    store: Store, notes: Path, by_path: bool, limit: int | None, tmp_path: Path
) -> None:
    if not by_path:
        ingest_into(store, "notes", notes)
    place = notes if by_path else None
    whole, _ = Run.start(Store(tmp_path / "other") if by_path else store, config(place, None, limit=limit), "whole")
    found: dict[str, str | None] = {}
    empty = 0
    for number, shard in enumerate(shards(3)):
        asked = config(place, shard, limit=limit)
        expected = [record.record_id for record in records_of(store, asked.inputs[0])]
        if not expected:
            empty += 1
            with pytest.raises(InputError, match=f"shard {shard} holds none of the {len(whole.selection)} records"):
                Run.start(store, asked, f"r{number}")
            continue
        run, _ = Run.start(store, asked, f"r{number}")
        assert list(run.selection) == expected == [each for each in whole.selection if holds(shard, each)]
        assert not found.keys() & run.content.keys()
        found |= run.content
    assert found == whole.content and empty < 3


def test_a_run_of_a_shard_takes_in_its_records_alone_and_every_reject(store: Store, notes: Path) -> None:
    run, (intake,) = Run.start(store, config(notes, "1/2"), "run")
    assert {row["record_id"] for row in store.rows("records")} == set(run.selection)
    assert 0 < len(run.selection) < 6
    assert (intake.counts.records, intake.counts.rejects, store.count("rejects")) == (6, 1, 1)


def test_a_run_says_of_which_shard_it_is(ingested: Store) -> None:
    asked = config(None, "1/2")
    Run.start(ingested, asked, "run")
    assert asked.label == "notes 1/2 offline-author" and Run.load(ingested, "run").config == asked
    assert [run.shard for run in summarize_runs(ingested)] == [None, "1/2"]
    assert json.loads(ingested.rows("runs", {"run_id": "run"})[0]["config"])["inputs"][0]["shard"] == "1/2"


def test_a_run_is_not_resumed_as_another_shard(ingested: Store) -> None:
    run, _ = Run.start(ingested, config(None, "1/2"), "run")
    with pytest.raises(UsageError, match=r"input 1 \(notes\) shard: 1/2 -> 2/2"):
        run.resume(config(None, "2/2"))
    child, _ = run.child(config(None, None), "child")
    assert len(child.selection) == 6


def test_an_estimate_is_of_the_shard(ingested: Store) -> None:
    records = [estimate(ingested, config(None, shard)).records for shard in (None, *shards(2))]
    assert records[0] == 6 == sum(records[1:])


def test_where_there_is_no_record_at_all_the_shard_is_not_blamed(store: Store, notes: Path) -> None:
    notes.write_text("7\n")
    with pytest.raises(InputError, match="there is no text"):
        Run.start(store, config(notes, "1/2"), "run")
    with pytest.raises(InputError, match="there is no record of notes"):
        Run.start(store, config(None, "1/2"), "run")


def test_an_estimate_is_made_though_a_compaction_takes_its_parts_away(
    ingested: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, measured, asked = estimate(ingested, config(None, None)), estimating.measure_history, 0

    def compacted(*given: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise PartGone("a part is gone")
        return measured(*given)

    monkeypatch.setattr(estimating, "measure_history", compacted)
    assert estimate(ingested, config(None, None)) == expected and asked == 4
