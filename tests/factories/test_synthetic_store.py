from __future__ import annotations

from itertools import islice
from pathlib import Path

from factories.synthetic_store import RUN_LENGTH, synthetic_records
from hazardmill.store.store import Store


def test_every_row_is_one_of_a_store(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    count = 2 * RUN_LENGTH
    with store.writer("r") as writer:
        for record in synthetic_records(count, run_id="r"):
            writer.append_sync({"llm_calls": record.calls})
            writer.append_sync(record.group)
    # Its run has no beginning: it never was.
    assert [finding.code for finding in store.verify()] == ["run_missing"]
    tables = ("records", "dangers", "drafts", "checks", "llm_calls", "tasks", "outcomes")
    assert [store.count(name) / count for name in tables] == [1, 1, 2, 18, 4, 1, 1]
    assert {row["source"] for row in store.rows("tasks", None, ["source"])} == {"alfred", "bddl"}


def test_a_record_is_as_large_as_those_of_a_run_and_texts_are_its_own() -> None:
    first, second = synthetic_records(2)
    assert first.rows == 28
    asked = sum(len(call["request"]) for call in first.calls)
    assert 20_000 < asked < 40_000
    for name in ("code", "document"):
        texts = [record.group["tasks"][0][name] for record in (first, second)]
        assert all(2_500 < len(text) < 5_500 for text in texts)
        assert not set(texts[0].splitlines()) & set(texts[1].splitlines())


def test_the_same_arguments_give_the_same_rows() -> None:
    assert list(synthetic_records(3)) == list(islice(synthetic_records(30), 3))
    (one,), (other,) = synthetic_records(1), synthetic_records(1, seed=1)
    assert one.record_id == other.record_id and one.group["tasks"] != other.group["tasks"]
