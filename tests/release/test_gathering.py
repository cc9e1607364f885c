from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from factories.release_store import HOST, MODEL, RUN_ID, rewritten

from hazardmill.errors import InputError, UsageError
from hazardmill.llm.charged_prices import GIVEN, PRICES_KEY
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.release.build.candidates import ReleaseCandidates, gather
from hazardmill.release.build.options import Options
from hazardmill.store.store import Store

Row = dict[str, Any]
NOBODY = Options(version="1.0.0", policy="none")


@pytest.fixture
def gathered_of(tmp_path: Path) -> Iterator[Callable[..., ReleaseCandidates]]:
    made: list[ReleaseCandidates] = []

    def look(store: Store, options: Options = NOBODY) -> ReleaseCandidates:
        working = Path(mkdtemp(dir=tmp_path))
        made.append(gather(store, None, options, working))
        return made[-1]

    yield look
    for each in made:
        each.close()


def changed(store: Store, path: Path, table: str, change: Callable[[Row], Row | None]) -> Store:
    return rewritten(store, path, lambda name, row: change(row) if name == table else row)


def test_candidates_are_the_tasks_of_the_store_in_order_of_ids(
    model_store: Store, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    found = gathered_of(model_store)
    stored = {row["task_id"]: row for row in model_store.rows("tasks")}
    assert [candidate.task_id for candidate in found.candidates] == sorted(stored)
    for candidate in found.candidates:
        row = stored[candidate.task_id]
        for name in ("run_id", "record_id", "source", "document_hash", "structure_id", "licence", "avoidability"):
            assert getattr(candidate, name) == row[name]
        assert (candidate.answered_by, candidate.answered_at) == ({MODEL}, {(HOST, MODEL)})
    assert found.accepted is None and found.runs == (RUN_ID,)
    latest = max(row["at"] for row in model_store.rows("runs"))
    assert found.date == latest.date()


def test_whole_rows_come_in_order_with_the_text_of_their_record(
    model_store: Store, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    found = gathered_of(model_store)
    contexts = {row["record_id"]: row["context"] for row in model_store.rows("records")}
    stored = {row["task_id"]: row for row in model_store.rows("tasks")}
    wanted = sorted(stored)[5:20:3]
    rows = list(found.whole(reversed(wanted)))
    assert [row["task_id"] for row in rows] == wanted
    for row in rows:
        assert row.pop("context") == contexts[row["record_id"]]
        expected = stored[row["task_id"]]
        assert row == {name: value for name, value in expected.items() if name != "cross_check"}


def test_drafts_and_danger_are_those_of_the_tasks_record_and_run(
    model_store: Store, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    found = gathered_of(model_store)
    for candidate in found.candidates:
        of = {"run_id": candidate.run_id, "record_id": candidate.record_id}
        drafts = found.drafts(candidate)
        assert [row["draft"] for row in drafts] == sorted(row["draft"] for row in model_store.rows("drafts", of))
        assert found.drafts_used[candidate.task_id] == len(drafts) >= candidate.draft
        assert drafts[candidate.draft - 1]["accepted"] and "answer" not in drafts[0]
        danger = found.danger(candidate)
        assert danger is not None and danger["danger_type"] == candidate.danger_type
    with_answers = gathered_of(model_store, NOBODY.model_copy(update={"with_answers": True}))
    assert with_answers.drafts(with_answers.candidates[0])[0]["answer"] is not None


def test_a_record_that_was_changed_since_gives_no_text(
    model_store: Store, tmp_path: Path, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    first = model_store.rows("tasks")[0]

    def other(row: Row) -> Row:
        return {**row, "content_hash": "0" * 64} if row["record_id"] == first["record_id"] else row

    found = gathered_of(changed(model_store, tmp_path / "store", "records", other))
    contexts = {row["task_id"]: row["context"] for row in found.whole(c.task_id for c in found.candidates)}
    assert [task for task, context in contexts.items() if context is None] == [first["task_id"]]


def test_of_a_task_of_two_runs_the_later_row_counts_and_runs_can_be_chosen(
    model_store: Store, tmp_path: Path, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    store = rewritten(model_store, tmp_path / "store", lambda name, row: row)
    chosen = sorted(row["task_id"] for row in store.rows("tasks"))[:3]
    again = [
        {**row, "run_id": "later", "attribution": "Somebody else."}
        for row in store.rows("tasks")
        if row["task_id"] in chosen
    ]
    with store.writer("later") as writer:
        writer.append_sync({"tasks": again, "runs": [{**store.rows("runs")[0], "run_id": "later"}]})
    found = gathered_of(store)
    assert {c.task_id for c in found.candidates if c.run_id == "later"} == set(chosen)
    assert {row["attribution"] for row in found.whole(chosen)} == {"Somebody else."}
    assert found.drafts(found.candidates[0]) == [] and found.danger(found.candidates[0]) is None
    earlier = gathered_of(store, Options(version="1.0.0", policy="none", runs=(RUN_ID,)))
    assert {c.run_id for c in earlier.candidates} == {RUN_ID} and earlier.runs == (RUN_ID,)
    later = gathered_of(store, Options(version="1.0.0", policy="none", runs=("later",)))
    assert [c.task_id for c in later.candidates] == chosen


def test_everybody_who_answered_is_named_whichever_stage_it_was(
    model_store: Store, tmp_path: Path, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    first = model_store.rows("tasks")[0]

    def fallback(row: Row) -> Row:
        if row["record_id"] == first["record_id"] and row["stage"] == "judge":
            return {**row, "model_answered": "test/fallback", "host": "127.0.0.1"}
        return row

    found = gathered_of(changed(model_store, tmp_path / "ledger", "llm_calls", fallback))
    others = [c for c in found.candidates if "test/fallback" in c.answered_by]
    assert [(c.task_id, c.answered_by, c.answered_at) for c in others] == [
        (first["task_id"], {MODEL, "test/fallback"}, {(HOST, MODEL), ("127.0.0.1", "test/fallback")})
    ]
    # Where the ledger was lost, the rows still tell it.
    ours = changed(model_store, tmp_path / "rows", "dangers", lambda row: {**row, "model_answered": OFFLINE_MODEL})
    ours = changed(ours, tmp_path / "rows without ledger", "llm_calls", lambda row: None)
    found = gathered_of(ours)
    assert all(c.answered_by == {MODEL, OFFLINE_MODEL} and not c.answered_at for c in found.candidates)


def test_models_prompts_and_cost_are_those_of_the_records(
    model_store: Store, tmp_path: Path, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    priced = changed(model_store, tmp_path / "priced", "llm_calls", lambda row: {**row, "usd": 0.125, "usd_upper": 0.5})
    found = gathered_of(priced)
    calls = priced.rows("llm_calls")
    assert found.calls.usd == found.calls.usd_known == 0.125 * len(calls)
    records = [(c.run_id, c.record_id) for c in found.candidates]
    kept = {record for _, record in records}
    for model in found.calls.models(records):
        asked = {row["identity"] for row in calls if row["stage"] == model.stage and row["record_id"] in kept}
        assert (model.asked, model.answered, model.backend) == (MODEL, MODEL, "litellm")
        assert 0 < model.calls <= len(asked)
    assert [model.stage for model in found.calls.models(records)] == ["extract", "author", "judge"]
    assert found.calls.prices(found.calls.models(records)) == ()
    assert list(found.calls.prompts(records)) == ["extract", "author", "judge"]

    def one_unknown(row: Row) -> Row:
        return {**row, "usd": None} if row == calls[0] else row

    unknown = gathered_of(changed(priced, tmp_path / "unknown", "llm_calls", one_unknown))
    assert (unknown.calls.usd, unknown.calls.usd_known) == (None, 0.125 * (len(calls) - 1))


def test_prices_are_those_that_the_runs_used_whatever_todays_list_says(
    model_store: Store, tmp_path: Path, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    listed = "openai/gpt-4o"
    # No price of today's list, and one given: each row of a run has what it was begun or resumed with.
    of_then = {"input": 9.0, "cached_input": 8.0, "output": 7.0, "checked": "2024-05-01", "origin": "its page then"}
    given = {"input": 1.0, "cached_input": 1.0, "output": 2.0, "origin": GIVEN}

    def priced(row: Row) -> Row:
        prices = {listed: of_then if row["sequence"] == 0 else given, "never/asked": given}
        return {**row, "config": json.dumps({**json.loads(row["config"]), PRICES_KEY: prices})}

    def asked(row: Row) -> Row:
        return {**row, "model_asked": listed}

    there = changed(model_store, tmp_path / "asked", "llm_calls", asked)
    found = gathered_of(changed(there, tmp_path / "priced", "runs", priced))
    models = found.calls.models([(c.run_id, c.record_id) for c in found.candidates])
    assert {
        (price.model, price.input, price.output, price.checked, price.origin) for price in found.calls.prices(models)
    } == {
        (listed, 9.0, 7.0, datetime.date(2024, 5, 1), "its page then"),
        (listed, 1.0, 2.0, None, GIVEN),
    }


def test_the_funnel_counts_every_record_once(model_store: Store, gathered_of: Callable[..., ReleaseCandidates]) -> None:
    funnel = dict(gathered_of(model_store).funnel)
    assert funnel.pop("drafts") == model_store.count("drafts")
    records = funnel.pop("records")
    assert records == sum(funnel.values()) and funnel["accepted"] == model_store.count("tasks")
    assert funnel["pending"] == 0


def test_there_is_nothing_to_release(
    model_store: Store, tmp_path: Path, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    with pytest.raises(InputError, match="there is no generation run gone in this store"):
        gathered_of(model_store, Options(version="1.0.0", policy="none", runs=("gone",)))
    empty = changed(model_store, tmp_path / "store", "tasks", lambda row: None)
    with pytest.raises(InputError, match="there is no task to release in this store"):
        gathered_of(empty)


def test_a_policy_of_reviewers_needs_a_review(model_store: Store, tmp_path: Path) -> None:
    (tmp_path / "working").mkdir()
    for folder in (None, tmp_path / "gone"):
        with pytest.raises(UsageError, match="the policy majority needs a review folder"):
            gather(model_store, folder, Options(version="1.0.0", policy="majority"), tmp_path / "working")


def test_nothing_is_left_in_the_working_folder(model_store: Store, tmp_path: Path) -> None:
    (tmp_path / "working").mkdir()
    found = gather(model_store, None, NOBODY, tmp_path / "working")
    assert list((tmp_path / "working").iterdir())
    found.close()
    assert not list((tmp_path / "working").iterdir())


def test_the_day_is_that_of_the_runs_that_were_chosen(
    model_store: Store, tmp_path: Path, gathered_of: Callable[..., ReleaseCandidates]
) -> None:
    store = rewritten(model_store, tmp_path / "store", lambda name, row: row)
    row = {**store.rows("runs")[0], "run_id": "other", "at": datetime.datetime(2031, 5, 6, 23, tzinfo=datetime.UTC)}
    row["selection"] = json.dumps({"neiss:never": "0"})
    with store.writer("other") as writer:
        writer.append_sync({"runs": [row]})
    assert gathered_of(store).date == datetime.date(2031, 5, 6)
    assert gathered_of(store).funnel["pending"] == 1
    chosen = gathered_of(store, Options(version="1.0.0", policy="none", runs=(RUN_ID,)))
    assert chosen.date != datetime.date(2031, 5, 6) and chosen.funnel["pending"] == 0
