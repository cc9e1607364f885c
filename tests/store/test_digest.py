from __future__ import annotations

import json
import random
import tempfile
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import CorruptStore, PartGone
from hazardmill.store import Store, digest
from hazardmill.store.files import parts
from store.factories import NOON, call, outcome, row


def run_rows(run_id: str, late: timedelta = timedelta()) -> list[dict[str, list[dict[str, object]]]]:
    """The groups of a small run."""
    at = NOON + late
    groups: list[dict[str, list[dict[str, object]]]] = []
    for number in range(4):
        record_id = f"n:{number}"
        identity = f"call {number}"
        groups += [
            {"records": [row("records", run_id=run_id, record_id=record_id, file=f"/{run_id}")]},
            {"llm_calls": [call(identity, run_id=run_id, at=at, answer=f"answer {number}", usd=0.1 * number)]},
            {
                "drafts": [
                    row("drafts", run_id=run_id, record_id=record_id, identities=json.dumps([identity]), paid=True)
                ],
                "outcomes": [outcome(record_id, run_id=run_id)],
            },
        ]
    return [*groups, {"runs": [row("runs", run_id=run_id, sequence=0, at=at)]}]


def write(path: Path, groups: list, run_id: str = "r1", rolls: set[int] = frozenset()) -> Store:
    store = Store(path)
    with store.writer(run_id) as writer:
        for number, group in enumerate(groups):
            writer.append_sync(group)
            if number in rolls:
                writer.roll()
    return store


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    return write(tmp_path / "plain", run_rows("r1")).digest()


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), run_id=st.sampled_from(["r1", "other"]), rolls=st.sets(st.integers(0, 12)))
def test_order_run_id_time_and_batches_do_not_matter(seed: int, run_id: str, rolls: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = write(Path(folder, "plain"), run_rows("r1")).digest()
        groups = run_rows(run_id, timedelta(seconds=seed))
        random.Random(seed).shuffle(groups)
        other = write(Path(folder, "other"), groups, run_id, rolls)
        assert other.digest() == plain
        assert other.digest(run_id) == plain


def test_rows_still_in_the_journal_count(tmp_path: Path, plain: dict[str, str]) -> None:
    store = Store(tmp_path / "live")
    with store.writer("r1") as writer:
        for group in run_rows("r1"):
            writer.append_sync(group)
        assert store.digest() == plain


def test_a_killed_and_resumed_run_is_equal(tmp_path: Path, plain: dict[str, str]) -> None:
    groups = run_rows("r1")
    failed = call("call 3", 1, answered=False, answer=None, error="ConnectionFailed", latency_s=9.0)
    # What was counted and charged is of the attempt that came through, and of what the provider's cache held then.
    charged = {"prompt_tokens": 9, "cached_tokens": 8, "completion_tokens": 7, "usd": None, "usd_upper": 7.0}
    answered = call("call 3", 2, answer="answer 3", latency_s=8.0, **charged)
    resumed = [*groups[:6], {"runs": [row("runs", sequence=1, state="running")]}, *groups[3:9]]
    resumed += [groups[9], {"llm_calls": [failed]}, {"llm_calls": [answered]}, groups[11], groups[12]]
    assert write(tmp_path / "resumed", resumed, rolls={5}).digest() == plain


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("llm_calls", {"llm_calls": [call("call 1", answer="another", usd=0.1)]}),
        ("outcomes", {"outcomes": [outcome("n:1", reason="another")]}),
        ("drafts", {"drafts": [row("drafts", record_id="n:9")]}),
    ],
)
def test_a_stable_value_matters(tmp_path: Path, plain: dict[str, str], table: str, change: dict) -> None:
    changed = write(tmp_path / "changed", [*run_rows("r1"), change]).digest()
    assert {name for name in plain if changed[name] != plain[name]} == {table, "total"}


def test_columns_may_be_left_out(tmp_path: Path, plain: dict[str, str]) -> None:
    def other_version(name: str, version: str) -> Store:
        return write(tmp_path / name, [{"outcomes": [outcome("n:1", hazardmill_version=version)]}])

    one, other = other_version("one", "1.0.0"), other_version("other", "2.0.0")
    assert one.digest() != other.digest()
    left_out = one.digest(without={"hazardmill_version"})
    assert left_out == other.digest(without={"hazardmill_version"}) and left_out["outcomes"] != one.digest()["outcomes"]


def test_null_is_not_zero_and_a_row_twice_is_not_once(tmp_path: Path) -> None:
    def digest(name: str, *rows: dict) -> str:
        return write(tmp_path / name, [{"rejects": list(rows)}]).digest()["rejects"]

    one = row("rejects", input_hash=None)
    assert digest("null", one) != digest("empty", row("rejects", input_hash=""))
    assert digest("once", one) != digest("twice", one, {**one, "run_id": "r2", "line": 2})


def test_a_run_that_reuses_answers_and_records_equals_the_run_that_paid(tmp_path: Path) -> None:
    store = write(tmp_path / "both", [*run_rows("r1"), {"rejects": [row("rejects")]}])
    reused = [group for group in run_rows("r2") if not {"llm_calls", "records"} & set(group)]
    write(tmp_path / "both", reused, "r2")
    assert store.digest("r2") == store.digest("r1")
    assert store.digest("r1") != store.digest("r3")


def test_another_run_that_ingests_the_same_records_again_takes_nothing_away(tmp_path: Path) -> None:
    store = write(tmp_path / "both", run_rows("r1"))
    before = store.digest("r1")
    write(tmp_path / "both", [{"records": [row("records", run_id="r2", record_id="n:1", licence="other")]}], "r2")
    assert store.digest("r1") == before


def test_of_two_runs_that_paid_for_the_same_each_stands_on_its_own_answer(
    tmp_path: Path, plain: dict[str, str]
) -> None:
    groups = run_rows("r2", timedelta(seconds=1))
    other = [group for group in groups if "records" not in group]
    for group in other:
        for ledger_row in group.get("llm_calls", []):
            ledger_row["answer"] = "another draw"
    store = write(tmp_path / "both", run_rows("r1"))
    write(tmp_path / "both", other, "r2")
    assert store.count("llm_calls") == 8
    assert store.digest("r1") == plain
    assert store.digest("r2")["llm_calls"] != plain["llm_calls"]
    assert store.digest()["llm_calls"] == plain["llm_calls"], "the answers that came first"


def test_what_external_planners_said_depends_on_the_machine(tmp_path: Path) -> None:
    digests = [
        write(tmp_path / str(number), [{"tasks": [row("tasks", cross_check=said)]}]).digest()
        for number, said in enumerate((None, '{"agrees":null}', '{"agrees":true}'))
    ]
    assert digests[0] == digests[1] == digests[2]


def test_rows_are_read_some_at_a_time_and_only_their_keys_together(
    tmp_path: Path, plain: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hazardmill.store.maintenance.manifest_swap._ROW_GROUP_BYTES", 1)
    store = write(tmp_path / "store", run_rows("r1"), rolls=set(range(12)))
    write(tmp_path / "store", [group for group in run_rows("r1") if "outcomes" in group][:2])
    store.compact()
    with pq.ParquetFile(next((store.path / "drafts").iterdir())) as part:
        assert part.num_row_groups > 1
    read, real = [], digest.read_table

    def read_table(snapshot, table, where=None, columns=None, **how):
        data = real(snapshot, table, where, columns, **how)
        read.append((table.name, data.column_names))
        return data

    monkeypatch.setattr(digest, "read_table", read_table)
    for at_once in (1, 3, 1024):
        monkeypatch.setattr(parts, "_ROWS_AT_ONCE", at_once)
        assert store.digest() == store.digest("r1") == plain
    large = {"answer", "request", "context", "code", "document"}
    assert read and all(large.isdisjoint(columns) for _, columns in read)


def test_a_damaged_part_has_no_digest(tmp_path: Path) -> None:
    store = write(tmp_path / "store", run_rows("r1"))
    (path,) = (store.path / "drafts").glob("*.parquet")
    whole = pq.read_table(path)
    pq.write_table(whole.slice(1), path)
    with pytest.raises(CorruptStore, match="not as it was written"):
        store.digest()
    path.unlink()
    with pytest.raises(PartGone, match=path.name):
        store.digest()
