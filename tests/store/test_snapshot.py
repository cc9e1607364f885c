from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import CorruptStore
from hazardmill.store import Store
from hazardmill.store.files import parts
from hazardmill.store.files.parts import read_parts
from hazardmill.store.schemas import DRAFTS
from store.factories import call, row


def test_the_row_looked_for_by_an_identifier_is_the_latest_of_its_key(store: Store) -> None:
    def found(record_id: str | None) -> list[tuple[str, str]]:
        rows = store.rows("llm_calls", {"record_id": record_id})
        assert store.count("llm_calls", {"record_id": record_id}) == len(rows)
        return [(row["identity"], row["answer"]) for row in rows]

    with store.writer("r1") as writer:
        writer.append_sync({"llm_calls": [call("a", record_id="n:1", answer="1"), call("b", record_id="n:1")]})
        writer.roll()
        writer.append_sync({"llm_calls": [call("a", record_id="n:2", answer="2"), call("c", answer="3")]})
        assert found("n:2") == [("a", "2")]
        writer.roll()
        assert found("n:1") == [("b", None)]
        assert found("n:2") == [("a", "2")]
        assert found(None) == [("c", "3")]
        assert found("n:3") == []
        writer.append_sync({"llm_calls": [call("b", record_id=None, answer="4")]})
        assert found("n:1") == []
        assert found(None) == [("c", "3"), ("b", "4")]


@settings(max_examples=30)
@given(
    commits=st.lists(
        st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("mn")), max_size=4),
        max_size=5,
    ),
    compacted=st.booleans(),
    threshold=st.sampled_from([0, 2**30]),
)
def test_a_condition_gives_the_rows_of_the_whole_table_that_meet_it(
    commits: list[list[tuple[str, str, str]]], compacted: bool, threshold: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_LARGE_BYTES", threshold)
        store = Store(folder)
        for commit in commits:
            for run_id in "ab":
                rows = [
                    row("tasks", run_id=run, task_id=task_id, record_id=record_id, code=str(number))
                    for number, (run, task_id, record_id) in enumerate(commit)
                    if run == run_id
                ]
                with store.writer(run_id) as writer:
                    writer.append_sync({"tasks": rows})
        if compacted:
            store.compact()
        everything = store.rows("tasks")
        for where in (
            {"record_id": "m"},
            {"record_id": "n", "run_id": "a"},
            {"task_id": "x", "record_id": "m"},
            {"task_id": "y"},
            {"code": "1", "record_id": "m"},
        ):
            met = [new for new in everything if where.items() <= new.items()]
            assert store.rows("tasks", where) == met
            assert store.rows("tasks", where, ["record_id"]) == [{"record_id": new["record_id"]} for new in met]


def test_parts_that_cannot_hold_what_is_looked_for_are_not_read(store: Store) -> None:
    for number in range(3):
        with store.writer("r1") as writer:
            writer.append_sync({"drafts": [row("drafts", record_id=f"n:{number}", draft=1, code="x")]})
    paths = sorted((store.path / "drafts").iterdir())
    for bad in paths[::2]:
        data = bytearray(bad.read_bytes())
        data[4:60] = bytes(56)
        bad.write_bytes(data)
    assert read_parts(DRAFTS, paths, ["run_id"], {"record_id": ["n:1"]}).to_pylist() == [{"run_id": "r1"}]
    with pytest.raises(CorruptStore):
        read_parts(DRAFTS, paths, ["run_id"], {"record_id": ["n:2"]})
