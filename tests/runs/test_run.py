from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
from collections.abc import Awaitable, Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import (
    BreakerOpen,
    ConnectionFailed,
    ExtraMissing,
    InputError,
    JailUnavailable,
    PromptRefused,
    RateLimited,
    RequestRefused,
    RunStopped,
    SettingsError,
    SourceError,
    StoreError,
    StoreLocked,
    UnknownName,
    UsageError,
)
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.exact import Solution
from hazardmill.generation.models import Models
from hazardmill.ingest.intake import ingest_into
from hazardmill.llm import access as access_module
from hazardmill.llm.client import Client
from hazardmill.llm.requests import Request
from hazardmill.records import Outcome
from hazardmill.runs import session as session_module
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.runs.status import KILLED, latest_states, name_state
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store
from tests.generation.support import APPROVED, FOUND, NONE, REJECTED, THINGS, faulty, fenced, soup
from tests.running import Use, worked


@pytest.fixture
def impatient(use: Use) -> None:
    """Clients that ask once."""
    use.client = functools.partial(Client, max_attempts=1)


def number_of(request: Request) -> int:
    return int(str(request.record_id).partition(":")[2])


def a_task_each(**script: Any) -> ScriptedBackend:
    """Every record ends with a task of its own."""
    default = {
        "extract": FOUND,
        "author": lambda request: fenced(soup(THINGS[number_of(request) - 1])),
        "judge": APPROVED,
    }
    return ScriptedBackend(**(default | script))


def config(notes: Path | None, **fields: Any) -> RunConfig:
    models = Models(extract="toy", author="toy", judge="toy")
    return RunConfig(inputs=(RunInput(source="notes", path=notes),), **({"models": models, "wave_size": 4} | fields))


def started(store: Store, notes: Path, use: Use | None = None, run_id: str = "run", **fields: Any) -> Run:
    resources = RunResources() if use is None else use.resources
    run, _ = Run.start(store, config(notes, **fields), run_id, resources=resources)
    return run


def ends(store: Store) -> dict[str, str]:
    return {row["record_id"]: row["outcome"] for row in store.rows("outcomes")}


def state(store: Store, run_id: str = "run") -> str:
    return next(row["state"] for row in latest_states(store) if row["run_id"] == run_id)


# Starting and loading


def test_a_run_starts_with_its_records_in_order_and_all_pending(store: Store, notes: Path) -> None:
    run, (intake,) = Run.start(store, config(notes), "run")
    assert run.selection == intake.record_ids == tuple(f"notes:{n}" for n in range(1, 7))
    assert run.pending() == [0, 1, 2, 3, 4, 5]
    assert run.waves() == [[0, 1, 2, 3], [4, 5]]
    assert run.counts() == {**dict.fromkeys(Outcome, 0), "pending": 6}
    (row,) = store.rows("runs")
    assert (row["kind"], row["state"], row["sequence"], row["at"].tzinfo) == ("generate", "running", 0, UTC)
    assert json.loads(row["counts"])["records"] == {"notes": 6}


def test_a_run_is_loaded_as_it_was_started(store: Store, notes: Path) -> None:
    run = started(store, notes, sample=3, concurrency=2, search_limit=500)
    loaded = Run.load(Store.open(store.path), "run")
    assert (loaded.run_id, loaded.config, loaded.selection) == ("run", run.config, run.selection)


def test_records_of_the_store_are_worked_on_where_no_path_is_given(store: Store, notes: Path) -> None:
    ingest_into(store, "notes", notes)
    run, intakes = Run.start(store, config(None), "run")
    assert intakes == () and len(run.selection) == 6
    item = RunInput(source="notes", limit=1, where={"words": "5"})
    run, _ = Run.start(store, RunConfig(inputs=(item,)), "other")
    assert run.selection == ("notes:5",)


def test_a_record_named_by_two_inputs_is_worked_on_once(store: Store, notes: Path) -> None:
    inputs = (RunInput(source="notes", path=notes, limit=2), RunInput(source="notes", path=notes, limit=3))
    run, intakes = Run.start(store, RunConfig(inputs=inputs), "run")
    assert run.selection == ("notes:1", "notes:2", "notes:3")
    assert [intake.new_records for intake in intakes] == [2, 1]


@pytest.mark.parametrize("where", [{}, {"words": "unheard"}])
def test_a_run_without_records_is_refused(where: dict[str, str], store: Store, notes: Path) -> None:
    if where:
        ingest_into(store, "notes", notes)
    with pytest.raises(InputError, match="no record of notes") as caught:
        Run.start(store, RunConfig(inputs=(RunInput(source="notes", where=where),)), "run")
    assert caught.value.remedy
    assert store.count("runs", {"run_id": "run"}) == 0


def test_an_unknown_source_is_refused_before_anything_is_read(store: Store, notes: Path) -> None:
    inputs = (RunInput(source="notes", path=notes), RunInput(source="nope"))
    with pytest.raises(UnknownName, match="nope"):
        Run.start(store, RunConfig(inputs=inputs), "run")
    assert store.count("records") == 0


SECRET = "me:hunter2-of-mine@"


@pytest.mark.parametrize(
    ("address", "named"),
    [
        (f"http://{SECRET}host/v1", "user name or password"),
        ("https://host/v1?key=hunter2-of-mine", "query"),
        ("https://host/v1#hunter2-of-mine", "fragment"),
        (f"{SECRET}host", "user name or password"),
        (f"http://{SECRET}[host/v1?key", "user name or password and a query"),
    ],
)
def test_an_address_that_carries_credentials_is_refused_unseen(
    address: str, named: str, tmp_path: Path, notes: Path
) -> None:
    with pytest.raises(SettingsError, match=f"contains a {named}, which may be secret") as caught:
        Run.start(Store(tmp_path / "new"), config(notes, backend="litellm", api_base=address))
    assert "environment variable" in caught.value.remedy
    assert "hunter2" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_what_the_run_needs_is_opened_before_anything_is_written(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "new")
    with pytest.raises(SettingsError, match="not the address of an API"):
        Run.start(store, config(notes, backend="litellm", api_base="foo"))

    def leaking(profile: str) -> Jail:
        raise JailUnavailable("jailed code could still connect")

    with pytest.raises(JailUnavailable):
        Run.start(store, config(notes), resources=RunResources(jail=leaking))
    with monkeypatch.context() as patch, pytest.raises(ExtraMissing, match="litellm is not installed"):
        find = access_module.importlib.util.find_spec
        patch.setattr(access_module.importlib.util, "find_spec", lambda name: None if name == "litellm" else find(name))
        Run.start(store, config(notes, backend="litellm"))
    assert not store.path.exists()


def test_all_inputs_are_looked_for_before_anything_is_written(tmp_path: Path, notes: Path) -> None:
    store = Store(tmp_path / "new")
    there = RunInput(source="notes", path=notes)
    for item, error in (
        (RunInput(source="notes", path=notes.with_name("gone.txt")), SourceError),
        (RunInput(source="notes", path=notes, where={"colour": "red"}), UsageError),
        (RunInput(source="notes", where={"colour": "red"}), UsageError),
    ):
        with pytest.raises(error):
            Run.start(store, RunConfig(inputs=(there, item)))
        assert not store.path.exists()


def test_inputs_that_were_all_refused_are_named_with_the_reason_and_leave_nothing(tmp_path: Path, notes: Path) -> None:
    notes.write_text("7\n8\n")
    store = Store(tmp_path / "new")
    with pytest.raises(InputError, match="no records of notes to work on: there is no text") as caught:
        Run.start(store, config(notes))
    assert (caught.value.where, caught.value.remedy) == ("notes.txt:1", "write some")
    assert not store.path.exists()


def test_one_input_with_records_is_enough(store: Store, notes: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("7\n")
    inputs = (RunInput(source="notes", path=bad), RunInput(source="notes", path=notes, limit=2))
    run, (refused, _) = Run.start(store, RunConfig(inputs=inputs), "run")
    assert run.selection == ("notes:1", "notes:2")
    assert [reject.reason for reject in refused.examples] == ["no_text"]


def test_the_same_run_id_twice_is_refused(store: Store, notes: Path) -> None:
    started(store, notes)
    with pytest.raises(UsageError, match="run run already exists") as caught:
        started(store, notes)
    assert "resume" in caught.value.remedy


def test_an_unknown_run_and_one_that_generates_nothing_cannot_be_loaded(store: Store, notes: Path) -> None:
    run_id, _ = ingest_into(store, "notes", notes)
    for unknown in ("nope", run_id):
        with pytest.raises(InputError, match=f"no generation run {unknown}"):
            Run.load(store, unknown)


def rewrite_configuration(store: Store, change: Callable[[dict[str, Any]], None], selection: str | None = None) -> None:
    (row,) = store.rows("runs")
    asked = json.loads(row["config"])
    change(asked)
    row["config"], row["selection"] = json.dumps(asked), selection or row["selection"]
    with store.writer("run") as writer:
        writer.append_sync({"runs": [row]})


def test_a_run_of_another_version_is_refused_in_words(store: Store, notes: Path) -> None:
    started(store, notes)
    rewrite_configuration(store, lambda asked: asked.update(temper="bad"))
    with pytest.raises(InputError, match=r"run run was started by hazardmill .*cannot read: temper: ") as caught:
        Run.load(store, "run")
    assert "start a new run" in caught.value.remedy


# Working


def test_every_record_ends_in_exactly_one_outcome(store: Store, notes: Path, use: Use) -> None:
    def draft(request: Request) -> str:
        number = number_of(request)
        return fenced(faulty("syntax") if number == 3 else soup(THINGS[{6: 1}.get(number, number) - 1]))

    use(
        a_task_each(
            extract=lambda request: {1: "prose", 2: NONE}.get(number_of(request), FOUND),
            author=draft,
            judge=lambda request: REJECTED if number_of(request) == 4 else APPROVED,
        )
    )
    counts = worked(started(store, notes, use))
    # The sixth makes the first one's task, but the first came to none.
    assert ends(store) == {
        "notes:1": "extraction_failed",
        "notes:2": "no_danger",
        "notes:3": "execution_failed",
        "notes:4": "quality_failed",
        "notes:5": "accepted",
        "notes:6": "accepted",
    }
    assert counts == {
        "accepted": 2,
        "no_danger": 1,
        "extraction_failed": 1,
        "execution_failed": 1,
        "quality_failed": 1,
        "duplicate": 0,
        "pending": 0,
    }
    assert store.count("outcomes") == store.count("dangers") == 6
    assert store.count("tasks") == 2
    assert [row["ordinal"] for row in store.rows("outcomes")] == [0, 1, 2, 3, 4, 5]


def test_the_state_of_a_run_is_its_latest(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    run = started(store, notes, use)
    assert state(store) == "running"
    worked(run)
    (latest,) = latest_states(store)
    assert (latest["state"], latest["sequence"]) == ("completed", 1)
    assert latest["started"] <= latest["at"]
    assert json.loads(latest["counts"])["outcomes"]["accepted"] == 6


def test_each_committed_record_is_reported_in_order(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    run = started(store, notes, use)
    seen: list[tuple[str, Outcome, int]] = []

    async def work() -> None:
        async with run.session() as session:
            counts = await session.work_through(
                [[0, 1]], lambda record_id, outcome: seen.append((record_id, outcome, store.count("outcomes")))
            )
            assert counts == {"accepted": 2}

    asyncio.run(work())
    assert seen == [("notes:1", Outcome.ACCEPTED, 1), ("notes:2", Outcome.ACCEPTED, 2)]


def in_reverse(finished: list[int]) -> Callable[[Request], Awaitable[str]]:
    """A judge who answers about the last record first; but at once where nothing was asked before: others wait then."""
    left = {1, 2, 3, 4, 5, 6}
    turn = asyncio.Condition()

    async def approve(request: Request) -> str:
        number = number_of(request)
        async with turn:
            await turn.wait_for(lambda: not finished or number == max(left))
            left.remove(number)
            finished.append(number)
            turn.notify_all()
        return APPROVED

    return approve


def test_of_equal_tasks_the_first_record_keeps_it_whichever_is_done_first(
    store: Store, notes: Path, use: Use, tmp_path: Path
) -> None:
    same = {"author": lambda request: fenced(soup(THINGS[number_of(request) % 2]))}
    finished: list[int] = []
    use(a_task_each(**same, judge=in_reverse(finished)))
    worked(started(store, notes, use, wave_size=6, concurrency=6))
    assert len(finished) == 6 and finished[1:] == sorted(finished[1:], reverse=True)
    assert ends(store) == {
        "notes:1": "accepted",
        "notes:2": "accepted",
        **{f"notes:{n}": "duplicate" for n in (3, 4, 5, 6)},
    }
    kept = {row["record_id"]: row["task_id"] for row in store.rows("tasks")}
    rows = {row["record_id"]: row for row in store.rows("outcomes")}
    assert [rows[f"notes:{n}"]["task_id"] for n in range(1, 7)] == [kept["notes:1"], kept["notes:2"]] * 3
    assert rows["notes:6"]["reason"] == "same_document" and kept["notes:2"] in rows["notes:6"]["message"]

    other = Store.open(tmp_path / "other", create=True)
    use(a_task_each(**same))
    worked(started(other, notes, use, wave_size=1, concurrency=1))
    assert other.digest() == store.digest()


# Stopping and resuming


def failing_at(number: int) -> ScriptedBackend:
    """The provider refuses the judge's request about one record."""

    def judge(request: Request) -> str | Exception:
        return RequestRefused("no credit") if number_of(request) == number else APPROVED

    return a_task_each(judge=judge)


def test_a_provider_that_fails_stops_the_run_and_keeps_what_was_done(store: Store, notes: Path, use: Use) -> None:
    backend = use(failing_at(3))
    run = started(store, notes, use)
    with pytest.raises(RequestRefused, match="no credit"):
        worked(run)
    assert backend.closed == 1
    assert list(ends(store)) == ["notes:1", "notes:2"]
    assert run.pending() == [2, 3, 4, 5]
    assert run.counts()["pending"] == 4
    assert state(store) == "stopped"


def test_a_stopped_run_is_resumed_to_the_digest_of_an_uninterrupted_one(
    store: Store, notes: Path, use: Use, tmp_path: Path
) -> None:
    first = use(failing_at(3))
    with pytest.raises(RequestRefused):
        worked(started(store, notes, use))
    refused = sum(row["error"] is not None for row in store.rows("llm_calls"))
    second = use(a_task_each())
    resumed = Run.load(Store.open(store.path), "run", use.resources)
    assert resumed.waves() == [[2, 3, 4, 5]]
    assert worked(resumed)["accepted"] == 6

    other = Store.open(tmp_path / "other", create=True)
    whole = use(a_task_each())
    worked(started(other, notes, use, "another"))
    assert store.digest() == other.digest()
    assert store.digest("run") == other.digest("another")
    # What was answered before the stop is not asked again.
    assert refused >= 1
    assert first.count() + second.count() - refused == whole.count() == 18
    answered = [row["identity"] for row in store.rows("llm_calls") if row["answered"]]
    assert len(answered) == len(set(answered)) == 18


@pytest.mark.parametrize(
    ("stage", "outcome", "reason", "refusals"),
    [
        ("extract", "extraction_failed", "unusable_answer", 1),
        ("author", "execution_failed", "no_code", 5),
        ("judge", "quality_failed", "judge:unusable", 1),
    ],
)
def test_a_record_that_the_provider_turns_away_fails_alone_and_is_not_asked_again(
    stage: str, outcome: str, reason: str, refusals: int, store: Store, notes: Path, use: Use
) -> None:
    said = {"extract": FOUND, "author": lambda r: fenced(soup(THINGS[number_of(r) - 1])), "judge": APPROVED}[stage]

    def moderated(request: Request) -> Any:
        if number_of(request) == 3:
            return PromptRefused("Content Exists Risk", filtered=True)
        return said(request) if callable(said) else said

    use(a_task_each(**{stage: moderated}))
    counts = worked(started(store, notes, use))
    assert (counts["accepted"], counts[outcome], counts["pending"]) == (5, 1, 0)
    (row,) = [row for row in store.rows("outcomes") if row["record_id"] == "notes:3"]
    assert row["reason"] == reason and "declined to answer (content_filter)" in row["message"]
    assert state(store) == "completed"
    refused = [call for call in store.rows("llm_calls") if call["finish_reason"] == "content_filter"]
    assert len(refused) == refusals
    assert {call["error_message"] for call in refused} == {"record notes:3: Content Exists Risk"}
    silent = use(ScriptedBackend())
    worked(started(store, notes, use, "again"))
    assert silent.count() == 0
    assert store.digest("run") == store.digest("again")


def test_a_duplicate_of_a_task_from_before_the_stop_is_still_one(store: Store, notes: Path, use: Use) -> None:
    same = {"author": fenced(soup("bowl"))}
    use(a_task_each(**same, extract=lambda r: RequestRefused("no credit") if number_of(r) == 2 else FOUND))
    with pytest.raises(RequestRefused):
        worked(started(store, notes, use))
    use(a_task_each(**same))
    assert worked(Run.load(store, "run", use.resources))["duplicate"] == 5
    assert ends(store)["notes:1"] == "accepted"


def test_what_alters_no_result_is_kept_from_the_last_resume(store: Store, notes: Path, use: Use) -> None:
    use(failing_at(3))
    run = started(store, notes, use, wave_size=2, concurrency=1)
    with pytest.raises(RequestRefused):
        worked(run)
    changed = {"concurrency": 3, "deadline_s": 5.0, "cross_check": 0.5}
    with pytest.raises(RequestRefused):
        worked(Run.load(store, "run", use.resources).resume(run.config.model_copy(update=changed)))
    assert Run.load(store, "run", use.resources).config == run.config.model_copy(update=changed)


def test_settings_of_a_resumed_run_that_is_killed_are_kept_too(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    run = started(store, notes, use)

    async def begun(config: RunConfig) -> None:
        async with Run.load(store, "run", use.resources).resume(config).session():
            pass

    # What a kill leaves: the run is said to be under way.
    asyncio.run(begun(run.config.model_copy(update={"deadline_s": 5.0})))
    assert Run.load(store, "run", use.resources).config.deadline_s == 5.0
    asyncio.run(begun(Run.load(store, "run", use.resources).config))
    assert [row["state"] for row in store.rows("runs")] == ["running"] * 2


def test_a_completed_run_has_nothing_left_to_do(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    worked(started(store, notes, use))
    before = store.digest()
    silent = use(ScriptedBackend())
    assert worked(Run.load(store, "run", use.resources))["accepted"] == 6
    assert silent.count() == 0
    assert store.digest() == before


def test_a_second_run_over_the_same_records_reuses_every_answer(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    worked(started(store, notes, use))
    silent = use(ScriptedBackend())
    worked(started(store, notes, use, "again"))
    assert silent.count() == 0
    assert store.digest("run") == store.digest("again")
    paid = {(row["run_id"], row["paid"]) for row in store.rows("drafts")}
    assert paid == {("run", True), ("again", False)}


def test_another_sample_asks_anew(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    worked(started(store, notes, use))
    backend = use(a_task_each())
    worked(started(store, notes, use, "again", sample=1))
    assert backend.count() == 18


@pytest.mark.parametrize(
    "failure",
    [
        BreakerOpen("down"),
        RequestRefused("no credit"),
        ConnectionFailed("reset"),
        RateLimited("full", retry_after=9999),
    ],
)
def test_where_the_provider_cannot_be_asked_what_is_under_way_may_end(
    failure: Exception, store: Store, notes: Path, use: Use, impatient: None
) -> None:
    """Nothing is wrong with what the others are paying for, but nothing more is asked."""
    down = asyncio.Event()

    async def write(request: Request) -> str | Exception:
        if number_of(request) == 3:
            down.set()
            return failure
        if number_of(request) == 2:
            await down.wait()
            # Long after the other record has failed.
            for _ in range(1000):
                await asyncio.sleep(0)
        return fenced(soup(THINGS[number_of(request) - 1]))

    backend = use(a_task_each(author=write))
    run = started(store, notes, use, wave_size=3, concurrency=3)
    with pytest.raises(type(failure), match="6 of 6 records are left"):
        # Of the next wave, some may have been asked about already.
        worked(run, run.waves()[:1])
    rows = [row for row in store.rows("llm_calls") if row["stage"] == "author"]
    assert sorted((row["record_id"], row["answered"]) for row in rows if row["answered"]) == [
        ("notes:1", True),
        ("notes:2", True),
    ]
    assert (backend.count("author"), backend.count("judge")) == (3, 0)
    assert state(store) == "stopped" and ends(store) == {}

    second = use(a_task_each())
    assert worked(Run.load(store, "run", use.resources))["accepted"] == 6
    assert second.count("author") == 4


def test_a_session_soon_after_another_finds_the_provider_warm(store: Store, notes: Path, use: Use) -> None:
    """as when a flow failed, and is tried again."""
    together = asyncio.Barrier(2)

    async def extract(request: Request) -> str:
        if number_of(request) > 2:
            # Passed only by two that are under way at once: in a cold session one would wait for the other's answer.
            await together.wait()
        return FOUND

    use(a_task_each(extract=extract))
    run = started(store, notes, use, wave_size=2, concurrency=2)

    async def work() -> None:
        for batch in run.waves()[:2]:
            async with run.session() as session:
                await session.work_through([batch])

    asyncio.run(work())
    assert run.counts()["accepted"] == 4


def test_a_pause_before_another_attempt_is_told(store: Store, notes: Path, use: Use) -> None:
    said = iter([RateLimited("too many", retry_after=0), RateLimited("too many", retry_after=0)])
    use(a_task_each(extract=lambda request: next(said, FOUND)))
    run = started(store, notes, use, concurrency=1)
    told: list[str] = []

    async def work() -> None:
        async with run.session(lambda retry: told.append(f"{retry.attempt}: {retry.error.message}")) as session:
            await session.work_through([[0, 1]])

    asyncio.run(work())
    assert told == ["2: too many", "3: too many"]


def test_what_another_run_pays_meanwhile_is_not_asked_again(store: Store, notes: Path, use: Use) -> None:
    backend = use(a_task_each())
    first, second = (
        started(store, notes, use, "first", wave_size=3),
        started(store, notes, use, "second", wave_size=6),
    )

    async def work() -> None:
        async with first.session() as mine:
            await mine.work_through([[0, 1, 2]])
            async with second.session() as theirs:
                await theirs.work_through([[0, 1, 2, 3, 4, 5]])
            assert backend.count() == 18
            await mine.work_through([[3, 4, 5]])

    asyncio.run(work())
    assert backend.count() == 18
    assert first.counts()["accepted"] == second.counts()["accepted"] == 6


def test_sessions_of_a_process_keep_to_their_limits_together(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    limiters: list[object] = []

    def noted(*words: Any, limiter: Any, **more: Any) -> Client:
        limiters.append(limiter)
        return Client(*words, limiter=limiter, **more)

    use.client = noted
    asked: dict[str, Any] = {"backend": "litellm", "requests_per_minute": 60}
    runs = [started(store, notes, use, "one", **asked), started(store, notes, use, "two", **asked)]
    slower = started(store, notes, use, "slower", **{**asked, "requests_per_minute": 5})

    async def work() -> None:
        for run in (*runs, runs[0], slower):
            async with run.session():
                pass

    asyncio.run(work())
    one, two, again, other = limiters
    assert one is two is again and other is not one


def test_two_sessions_on_one_run_are_refused(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    run = started(store, notes, use)

    async def both() -> None:
        async with run.session():
            with pytest.raises(StoreLocked, match="another process is writing run run"):
                async with Run.load(Store.open(store.path), "run", use.resources).session():
                    pytest.fail("two sessions on one run")

    asyncio.run(both())
    assert worked(run)["accepted"] == 6


def test_records_that_the_store_lost_are_named(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    run = started(store, notes, use)
    gone = Run(store, "run", run.config, {"notes:1": None, "notes:404": None})

    async def work() -> None:
        async with gone.session() as session:
            await session.work_through([[0, 1]])

    with pytest.raises(InputError, match="no longer holds 1 record") as caught:
        asyncio.run(work())
    assert caught.value.record_id == "notes:404"


def test_accepted_tasks_of_the_sample_are_cross_checked(
    store: Store, notes: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    def agreed(document: Document, solution: Solution) -> dict[str, bool]:
        return {"agrees": solution.safe is not None}

    monkeypatch.setattr(session_module, "run_cross_check", agreed)
    use(a_task_each(judge=lambda request: REJECTED if number_of(request) == 1 else APPROVED))
    worked(started(store, notes, use, cross_check=1.0))
    assert [row["cross_check"] for row in store.rows("tasks")] == ['{"agrees":true}'] * 5


# How a run ends


def states(store: Store) -> list[str]:
    return [row["state"] for row in sorted(store.rows("runs", {"run_id": "run"}), key=lambda row: row["sequence"])]


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (RateLimited("too many"), "stopped"),
        (KeyboardInterrupt(), "stopped"),
        (asyncio.CancelledError(), "stopped"),
        (SystemExit(1), "stopped"),
        (RunStopped("the money is spent"), "stopped"),
        (SettingsError("no key"), "stopped"),
        (JailUnavailable("no walls"), "failed"),
        (ZeroDivisionError(), "failed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_whatever_ends_a_run_is_written_down(error: BaseException, ended: str, store: Store, notes: Path) -> None:
    run = started(store, notes)
    with pytest.raises(type(error)), run.under_way():
        raise error
    assert states(store) == ["running", ended]
    # Nobody is kept off any more.
    with pytest.raises(ZeroDivisionError), run.under_way():
        raise ZeroDivisionError


def test_a_run_that_ends_with_records_left_is_stopped(store: Store, notes: Path) -> None:
    run = started(store, notes)
    with run.under_way():
        assert run.pending()
    assert states(store) == ["running", "stopped"]


def test_a_run_that_is_under_way_is_left_alone(store: Store, notes: Path) -> None:
    run = started(store, notes)
    with run.under_way():
        other = Run.load(Store.open(store.path), "run")
        with pytest.raises(StoreLocked, match="another process is working on run run"), other.under_way():
            pytest.fail("two at work on one run")
        assert states(store) == ["running"]


def test_what_went_wrong_first_is_what_is_said(store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(run_id: str) -> object:
        raise StoreError("no space left")

    run = started(store, notes)
    monkeypatch.setattr(store, "writer", refuse)
    with pytest.raises(ZeroDivisionError) as caught, run.under_way():
        raise ZeroDivisionError
    assert caught.value.__notes__ == ["how the run ended could not be written down: no space left"]


def test_a_run_that_is_resumed_says_running_again(store: Store, notes: Path, use: Use) -> None:
    use(failing_at(3))
    with pytest.raises(RequestRefused):
        worked(started(store, notes, use))
    use(a_task_each())
    worked(Run.load(store, "run", use.resources))
    assert states(store) == ["running", "stopped", "running", "completed"]


def shown(store: Store) -> str:
    (row,) = latest_states(store)
    return name_state(store, row)


def test_only_a_run_that_is_worked_on_is_shown_as_running(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each())
    run = started(store, notes, use)
    assert shown(store) == KILLED

    async def work() -> None:
        async with run.session():
            assert shown(store) == "running"

    with run.under_way():
        assert shown(store) == "running"
        asyncio.run(work())
        assert shown(store) == "running"
    assert shown(store) == "stopped"


@pytest.mark.full
def test_a_killed_run_is_shown_as_such(store: Store, notes: Path) -> None:
    run = started(store, notes)
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        with run.under_way():
            os.write(tell, b"!")
            signal.pause()
        os._exit(1)
    assert os.read(ready, 1) == b"!"
    assert shown(store) == "running"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for end in (ready, tell):
        os.close(end)
    assert shown(store) == KILLED


# Records that change


def asked_about(backend: ScriptedBackend) -> str:
    return " ".join(
        message.content for asked in backend.asked if asked.stage == "extract" for message in asked.messages
    )


def test_a_run_goes_on_with_its_records_as_they_were_when_it_began(store: Store, notes: Path, use: Use) -> None:
    use(a_task_each(extract=lambda request: RequestRefused("no credit") if number_of(request) >= 3 else FOUND))
    with pytest.raises(RequestRefused):
        worked(started(store, notes, use))
    began = dict(Run.load(store, "run", use.resources).content)
    notes.write_text("".join(f"{n} cold tea {n}\n" for n in range(1, 7)))
    _, again = ingest_into(store, "notes", notes)
    assert again.changed_records == 6

    backend = use(a_task_each())
    resumed = Run.load(store, "run", use.resources)
    assert resumed.content == began
    worked(resumed)
    assert {row["record_id"]: row["input_hash"] for row in store.rows("outcomes")} == began
    assert "hot soup 4" in asked_about(backend) and "cold tea" not in asked_about(backend)

    backend = use(a_task_each())
    worked(started(store, notes, use, "other"))
    assert "cold tea 4" in asked_about(backend)


def test_a_lost_state_does_not_make_the_next_one_take_the_place_of_another(store: Store, notes: Path) -> None:
    run = started(store, notes)
    first = store.rows("runs", {"run_id": "run"})[0]
    with store.writer("run") as writer:
        writer.append_sync({"runs": [{**first, "sequence": 5, "state": "stopped", "selection": None}]})
    run.finish("failed")
    assert sorted(row["sequence"] for row in store.rows("runs", {"run_id": "run"}, ["sequence"])) == [0, 5, 6]
