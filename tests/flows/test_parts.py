"""What the flows are made of, without a server: thresholds of a budget, keys, words of a state, deployments."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from prefect._internal.uuid7 import uuid7
from prefect.client.schemas.objects import StateType
from prefect.exceptions import ParameterTypeError
from prefect.flows import load_flow_from_entrypoint
from prefect.states import Completed, Failed
from store.factories import call

from flows import budget, endings, generate_all, keys, wave_log, waves
from flows import progress as progress_module
from flows.budget import THRESHOLDS, Thresholds, spent_by_others
from flows.generate import generate
from flows.keys import block_name, keys_for
from flows.pages_facts import FlowRunFacts, ServerFacts
from flows.pages_running import write_running
from flows.progress import Progress, watch_progress
from flows.publish_due import choose_due, delete_old_pages, describe
from flows.publishing import key, report_path
from flows.wave_log import WaveLog
from hazardmill.errors import (
    BudgetReached,
    InputError,
    NotRecorded,
    ProviderDown,
    RateLimited,
    StoreError,
    StoreLocked,
)
from hazardmill.generation.models import Models
from hazardmill.llm.call_tally import CallTally
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.runs.status import Paid, RunSummary
from hazardmill.runs.waves import WaveStep
from hazardmill.store.store import Store

# Not because of the tests, which are short: importing Prefect takes seconds in every process that collects them.
pytestmark = pytest.mark.full

# --- what is due to be published, and what is no longer kept


def test_pages_of_runs_that_changed_long_ago_are_deleted_if_a_setting_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, now = Store(tmp_path / "store"), datetime.now(UTC)
    names = (
        "old",
        "recent",
        "all-1",
        "all-1-bddl",
        "all-1-neiss",
        "all-2",
        "all-2-bddl",
        "all-2-neiss",
        "release-mill-1",
    )
    ages = {"old": 9, "recent": 6, "all-1-bddl": 9, "all-1-neiss": 9, "all-2-bddl": 9, "all-2-neiss": 6}
    changed = {name: now - timedelta(days=age) for name, age in ages.items()}
    for name in names:
        page = report_path(store, name)
        page.parent.mkdir(exist_ok=True)
        page.touch()

    def kept() -> set[str]:
        return {path.stem for path in (tmp_path / "reports").iterdir()}

    delete_old_pages(store, changed)
    assert kept() == set(names)
    monkeypatch.setenv("HAZARDMILL_REPORTS_DAYS", "7")
    delete_old_pages(store, changed)
    assert kept() == {"recent", "all-2", "all-2-neiss", "release-mill-1"}
    # A page that is gone is no error.
    delete_old_pages(store, changed)


def test_what_is_published_as_it_is_now_is_not_due() -> None:
    noon = datetime(2026, 11, 1, 12, tzinfo=UTC)

    def run(run_id: str, state: str, last: datetime | None = None) -> RunSummary:
        paid, counts = Paid(last=last), dict[str, Any]()
        return RunSummary(
            run_id=run_id, kind="generate", state=state, parent_run_id=None, records=1, started=noon, changed=noon,
            duration_s=1.0, counts=counts, paid=paid,
        )  # fmt: skip

    published = [run("same", "completed"), run("asked", "running"), run("killed", "running")]
    now = [
        run("never", "completed"),
        run("same", "completed"),
        run("asked", "running", noon + timedelta(microseconds=1)),
        run("killed", "stopped (killed)"),
    ]
    due = choose_due(now, {each.run_id: describe(each) for each in published})
    assert [each.run_id for each in due] == ["never", "asked", "killed"]


# --- thresholds of a budget


@given(st.floats(0.01, 100), st.lists(st.floats(0, 200), max_size=20), st.floats(0, 200))
def test_each_threshold_is_told_once_as_it_is_passed(limit: float, steps: list[float], before: float) -> None:
    told: list[tuple[int, float]] = []
    watch = Thresholds(limit, before, lambda percent, spent: told.append((percent, spent)))
    for spent in sorted(steps):
        watch.see(spent)
    assert [percent for percent, _ in told] == [
        percent
        for percent in THRESHOLDS
        if before * 100 < percent * limit and any(spent * 100 >= percent * limit for spent in steps)
    ]
    assert all(spent * 100 >= percent * limit for percent, spent in told)


def test_a_budget_that_is_reached_tells_all_that_was_not_told() -> None:
    told: list[int] = []
    watch = Thresholds(1.0, 0.0, lambda percent, spent: told.append(percent))
    watch.see(0.6)
    # What is left may be more than nothing: the next request would have cost more.
    watch.reached(0.7)
    watch.see(2.0)
    assert told == [50, 80, 100]


def test_a_budget_that_was_reached_before_is_told_again_for_the_server_to_compare() -> None:
    told: list[int] = []
    Thresholds(1.0, 1.0, lambda percent, spent: told.append(percent)).reached(1.0)
    assert told == [100]


def test_what_others_spent_of_a_shared_budget_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"run_id": "a", "sequence": 0, "config": '{"budget_id": "week"}'},
        # Gone on with, each of these two: the one came to share the budget, the other has one of its own now.
        {"run_id": "b", "sequence": 1, "config": '{"budget_id": "week"}'},
        {"run_id": "b", "sequence": 0, "config": '{"budget_id": null}'},
        {"run_id": "c", "sequence": 0, "config": '{"budget_id": "week"}'},
        {"run_id": "c", "sequence": 1, "config": '{"budget_id": null}'},
    ]
    spent = {"a": 1.0, "b": 2.0, "c": 4.0}

    def generation_runs(self: Store, table: str, where: dict[str, object], names: list[str]) -> list[dict[str, object]]:
        assert where.pop("kind") == "generate"
        return [row for row in rows if where.items() <= row.items()]

    monkeypatch.setattr(Store, "rows", generation_runs)
    monkeypatch.setattr(budget, "bound_spending", lambda store, run_id: spent[run_id])
    config = RunConfig(inputs=(RunInput(source="neiss"),), budget_usd=9, budget_id="week")
    assert spent_by_others(Run(Store(tmp_path), "a", config, {})) == 2.0
    alone = config.model_copy(update={"budget_id": None})
    assert spent_by_others(Run(Store(tmp_path), "a", alone, {})) == 0.0


# --- sessions of a run


class Session:
    """A session that spends as it is told, or breaks."""

    def __init__(self, does: float | BaseException, budget: SimpleNamespace) -> None:
        self.budget = budget
        self.ledger = SimpleNamespace(tally=CallTally())
        self.unrecorded: list[NotRecorded] = []
        self.on_record: Any = None
        self.does = does


class Milled:
    """A run whose sessions are counted."""

    run_id = "r"
    config = SimpleNamespace(backend="litellm", kind="task", channel="single")

    def __init__(self, *does: float | BaseException) -> None:
        self.does = list(does)
        self.budget = SimpleNamespace(limit_usd=100.0, spent_usd=0.0)
        self.left = [0, 1, 2, 3]
        self.story: list[object] = []

    def waves(self) -> list[list[int]]:
        assert self.story[-1] == "opened"
        return [[ordinal] for ordinal in self.left]

    @asynccontextmanager
    async def session(self, on_retry: object, watch: object) -> AsyncIterator[Session]:
        self.story.append("opened")
        try:
            yield Session(self.does.pop(0), self.budget)
        except BaseException as error:
            self.story.append(type(error))
            raise
        finally:
            self.story.append("closed")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Thresholds of a budget of which nobody else spends anything."""
    told: list[int] = []

    async def threshold_emitter(run: object) -> object:
        return lambda percent, spent: told.append(percent)

    async def run_as_tasks(run: Milled, session: Session, planned: list[list[int]], log: object) -> None:
        for (ordinal,) in planned[: 1 if isinstance(session.does, BaseException) else None]:
            run.left.remove(ordinal)
            session.on_record(str(ordinal), "accepted")
        if isinstance(session.does, BaseException):
            raise session.does
        session.budget.spent_usd += session.does

    monkeypatch.setattr(waves, "threshold_emitter", threshold_emitter)
    monkeypatch.setattr(waves, "spent_by_others", lambda run: 0.0)
    monkeypatch.setattr(waves, "run_as_tasks", run_as_tasks)
    monkeypatch.setattr(waves, "get_run_logger", lambda: logging.getLogger("flow"))
    monkeypatch.setattr(endings, "get_run_logger", lambda: logging.getLogger("flow"))
    return told


def work(run: Milled, progress: Progress) -> str | None:
    log: Any = SimpleNamespace(on_retry=None)
    return asyncio.run(waves._work_twice(run, progress, log))


def test_a_run_has_one_session(told: list[int]) -> None:
    run, progress = Milled(1.0), Progress(None, 0, 4)
    assert work(run, progress) is None
    assert run.story == ["opened", "closed"] and progress.done == 4


def test_what_may_have_been_an_accident_is_tried_again_in_a_session_of_its_own(told: list[int]) -> None:
    run, progress = Milled(ZeroDivisionError(), 1.0), Progress(None, 0, 4)
    assert work(run, progress) is None
    assert run.story == ["opened", ZeroDivisionError, "closed", "opened", "closed"] and progress.done == 4
    assert not run.left


@pytest.mark.parametrize("twice", [[ZeroDivisionError(), ZeroDivisionError()], [ProviderDown("503")]])
def test_what_happens_twice_or_would_happen_again_ends_the_run(told: list[int], twice: list[Exception]) -> None:
    run = Milled(*twice)
    with pytest.raises(type(twice[0])):
        work(run, Progress(None, 0, 4))
    assert run.does == []


def test_a_cancelled_run_closes_its_session(told: list[int]) -> None:
    run = Milled(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        work(run, Progress(None, 0, 4))
    assert run.story == ["opened", asyncio.CancelledError, "closed"]


class Steps:
    """What the stages of a wave return, given to a log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        monkeypatch.setattr(wave_log, "get_run_logger", lambda: logging.getLogger("flow"))
        caplog.set_level(logging.INFO, "flow")
        self._caplog = caplog
        run: Any = SimpleNamespace(run_id="r")
        self.log = WaveLog(run)

    def plan(self, *records: int, first: int = 1) -> None:
        steps = [WaveStep(wave=first + n, left=["r"] * number) for n, number in enumerate(records)]
        self.log.begin(steps)

    def add(self, stage: str, wave: int, usd: float | None = None, **counts: int) -> None:
        self.log.add(stage, WaveStep(wave=wave, usd=usd, counts=counts, seconds=1.0))

    @property
    def lines(self) -> list[str]:
        return [re.sub(r"[\d.]+ records/s", "N records/s", r.getMessage()) for r in self._caplog.records]


def test_a_wave_is_logged_with_its_cost_its_retries_and_what_is_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    steps = Steps(monkeypatch, caplog)
    steps.plan(3, 2)
    steps.log.pace = SimpleNamespace(text="about 5 min left")  # type: ignore[assignment]
    steps.log.tally = SimpleNamespace(fallbacks=2)  # type: ignore[assignment]
    for error in (RateLimited("429"), RateLimited("429"), ProviderDown("503")):
        retry: Any = SimpleNamespace(error=error)
        steps.log.on_retry(retry)
    steps.add("extract", 1, 0.25, danger=3)
    steps.add("extract", 2, None, danger=2)
    steps.add("judge", 1, 0.5, accepted=2)
    steps.add("commit", 1, accepted=2, duplicate=1)
    # One record stays pending for want of a recorded answer: no work is left all the same.
    steps.add("commit", 2, accepted=1)
    assert steps.lines == [
        "run r, wave 1: 3 records, 2 accepted, 1 duplicate, $0.750, 3 retries (429: 2, 5xx: 1), "
        "2 answers of fallback models, N records/s, about 5 min left",
        "run r, wave 2: 2 records, 1 accepted, cost unknown, N records/s, none left",
    ]


def test_what_a_first_try_did_with_waves_that_it_did_not_commit_counts_no_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    steps = Steps(monkeypatch, caplog)
    steps.plan(1, 1)
    for wave in (1, 2):
        steps.add("extract", wave, 0.25)
    steps.add("commit", 1, accepted=1)
    steps.plan(1, first=2)
    steps.add("extract", 2, 0.25)
    steps.add("commit", 2, accepted=1)
    assert [line.partition(", N")[0] for line in steps.lines] == [
        "run r, wave 1: 1 record, 1 accepted, $0.250",
        "run r, wave 2: 1 record, 1 accepted, $0.250",
    ]
    assert [step.wave for step in steps.log._stages["extract"]] == [1, 2]


def test_why_records_stay_pending_is_logged_when_the_session_ends(
    told: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def miss(run: object, session: Session, planned: object, log: object) -> None:
        session.unrecorded.append(NotRecorded("there is no answer", record_id="neiss:1"))

    monkeypatch.setattr(waves, "run_as_tasks", miss)
    work(Milled(1.0), Progress(None, 0, 4))
    assert [record.getMessage() for record in caplog.records if record.name == "flow"] == [
        "a record stays pending: record neiss:1: there is no answer"
    ]


def test_thresholds_count_what_others_spent(told: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "spent_by_others", lambda run: 45.0)
    work(Milled(10.0), Progress(None, 0, 4))
    assert told == [50]


def test_a_threshold_that_others_carry_a_budget_over_while_a_run_works_is_told(
    told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = iter([10.0, 45.0])
    monkeypatch.setattr(waves, "spent_by_others", lambda run: next(others))
    monkeypatch.setattr(waves, "OTHERS_EVERY_S", 0.0)
    work(Milled(10.0), Progress(None, 0, 4))
    assert told == [50]


def test_a_budget_that_is_reached_ends_the_run_and_tells_the_rest(told: list[int]) -> None:
    run = Milled(BudgetReached("spent"))
    run.budget.spent_usd = 60.0
    assert work(run, Progress(None, 0, 4)) == "spent"
    assert told == [80, 100]


def test_answers_to_earlier_prompts_are_logged_where_they_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(endings, "get_run_logger", lambda: logging.getLogger("flow"))
    store = Store.open(tmp_path / "store", create=True)
    known = {
        "run_id": "r",
        "stage": "judge",
        "answered": True,
        "answer": "no",
        "prompt_hash": "new",
        "recording": "f" * 64,
    }
    with store.writer("r") as writer:
        for identity, then in (("a", "old"), ("b", "new")):
            writer.append_sync({"llm_calls": [call(identity, **known, recorded_for=then)]})
    run: Any = SimpleNamespace(run_id="r", store=store, config=SimpleNamespace(backend="recorded"))
    endings.warn_unrecorded(run, [])
    (told,) = [record.getMessage() for record in caplog.records if record.name == "flow"]
    assert told.startswith("1 of 2 recorded answers are to earlier prompts (judge)")


# --- keys

CONFIG = RunConfig(
    inputs=(RunInput(source="neiss"),), backend="litellm", models=Models(extract="m", author="m", judge="m")
)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Secret blocks of a server that is not there, and a provider that wants two variables."""
    blocks: dict[str, str] = {}

    async def aload(name: str) -> SimpleNamespace:
        if name not in blocks:
            raise ValueError("Unable to find block document")
        await asyncio.sleep(0)
        return SimpleNamespace(get=lambda: blocks[name])

    def missing(model: str) -> dict[str, list[str]]:
        return {"missing_keys": [name for name in ("MILL_API_KEY", "MILL_REGION") if name not in os.environ]}

    for name in ("MILL_API_KEY", "MILL_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(keys, "Secret", SimpleNamespace(aload=aload))
    monkeypatch.setattr(keys, "load_litellm", lambda: SimpleNamespace(validate_environment=missing))
    return blocks


def test_a_key_is_lent_from_its_block_and_taken_back(blocks: dict[str, str]) -> None:
    blocks[block_name("MILL_API_KEY")] = "k1"

    async def use() -> None:
        with pytest.raises(InputError):
            async with keys_for(CONFIG):
                assert os.environ["MILL_API_KEY"] == "k1" and "MILL_REGION" not in os.environ
                raise InputError("anything")
        assert "MILL_API_KEY" not in os.environ

    asyncio.run(use())


def test_what_was_lent_is_taken_back_where_a_later_block_cannot_be_read(
    blocks: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks[block_name("MILL_API_KEY")] = "k1"
    aload = keys.Secret.aload

    async def broken(name: str) -> object:
        if name == block_name("MILL_REGION"):
            raise ConnectionError("the server is gone")
        return await aload(name)

    monkeypatch.setattr(keys.Secret, "aload", broken)

    async def use() -> None:
        with pytest.raises(ConnectionError):
            async with keys_for(CONFIG):
                pytest.fail("without one of its variables")

    asyncio.run(use())
    assert "MILL_API_KEY" not in os.environ and not keys._lent


def test_the_environment_comes_first(blocks: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    blocks[block_name("MILL_API_KEY")] = "of the block"
    monkeypatch.setenv("MILL_API_KEY", "of the environment")

    async def use() -> None:
        async with keys_for(CONFIG):
            assert os.environ["MILL_API_KEY"] == "of the environment"

    asyncio.run(use())
    assert os.environ["MILL_API_KEY"] == "of the environment"


def test_flows_of_one_process_share_a_key_until_the_last_has_ended(blocks: dict[str, str]) -> None:
    blocks[block_name("MILL_API_KEY")] = "k1"

    async def use() -> None:
        first, second = keys_for(CONFIG), keys_for(CONFIG)
        await asyncio.gather(first.__aenter__(), second.__aenter__())
        await first.__aexit__(None, None, None)
        assert os.environ["MILL_API_KEY"] == "k1"
        third = keys_for(CONFIG)
        await third.__aenter__()
        await second.__aexit__(None, None, None)
        assert os.environ["MILL_API_KEY"] == "k1"
        await third.__aexit__(None, None, None)
        assert "MILL_API_KEY" not in os.environ

    asyncio.run(use())


def test_a_run_that_asks_nobody_looks_for_no_key(blocks: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "load_litellm", lambda: pytest.fail("nobody is asked"))

    async def use() -> None:
        async with keys_for(CONFIG.model_copy(update={"backend": "offline"})):
            pass

    asyncio.run(use())


# --- progress


def test_progress_is_shown_while_a_run_works_and_once_more_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[float, str]] = []
    looks: list[int] = []
    committed: list[str] = []

    async def update(artifact_id: UUID, percent: float, text: str) -> None:
        shown.append((percent, text))
        if len(shown) == 1:
            first.set()

    monkeypatch.setattr(progress_module, "aupdate_progress_artifact", update)
    monkeypatch.setattr(progress_module, "LOOK_EVERY_S", 0.001)

    async def use() -> None:
        progress = Progress(uuid4(), 1, 4)

        async def look() -> None:
            looks.append(progress.done)

        pace = SimpleNamespace(rate_text="1.4 records/s", text="about 5 min left", commit=committed.append)
        progress.pace = pace  # type: ignore[assignment]
        progress.tally = CallTally()
        for cost in (0.25, 0.17, None):
            progress.tally.add({"answered": True, "usd": cost, "usd_upper": 0.5})
        async with watch_progress(progress, look):
            progress("neiss:1", "accepted")
            await first.wait()
            progress("neiss:2", "accepted")
            progress("neiss:3", "accepted")

    first = asyncio.Event()
    asyncio.run(use())
    assert shown[0] == (50, "2 of 4 records, 1.4 records/s, at least $0.420, about 5 min left")
    assert shown[-1] == (100, "4 of 4 records, at least $0.420")
    assert committed == ["neiss:1", "neiss:2", "neiss:3"]
    assert len(shown) <= 3 and looks[-1] == 4


def test_the_page_of_what_runs_takes_a_progress_apart() -> None:
    now = datetime(2026, 1, 2, 12, tzinfo=UTC)
    for said, left in (
        ("4 of 10 records, 1.4 records/s, at least $1,234.50, about 11 min left", "about 11 min left"),
        ("4 of 10 records, 1.4 records/s, $0.420", "unknown"),
    ):
        run = FlowRunFacts(
            "id",
            "neiss",
            "generate",
            "generate/neiss",
            "Running",
            StateType.RUNNING,
            began=now,
            progress_id="p",
            progress=said,
        )
        *_, row = (
            line
            for block in write_running(ServerFacts([run]), {}, now)
            for line in block.splitlines()
            if "neiss" in line
        )
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[2:4] == ["[4 of 10 records](../../artifacts/artifact/p)", left]


@pytest.mark.parametrize("flow", ["generate", "generate-all", "resume-waiting"])
def test_a_flow_run_without_a_deployment_is_retried_with_its_code(project: Path, flow: str) -> None:
    run = FlowRunFacts("id", "neiss", flow, None, "Failed", StateType.FAILED)
    assert run.retry is not None
    command, _, code = run.retry.partition(" --entrypoint ")
    assert command == "prefect flow-run retry id"
    assert load_flow_from_entrypoint(str(project / code)).name == flow
    assert replace(run, deployment="generate/neiss").retry == command
    assert replace(run, flow="of-another-project").retry is None


def test_what_goes_wrong_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> None:
        async with watch_progress(Progress(None, 0, 1)):
            raise ProviderDown("down")

    with pytest.raises(ProviderDown):
        asyncio.run(use())


# --- words, keys of artifacts, retries


def test_counts_in_words() -> None:
    assert endings.in_words({"accepted": 3, "no_danger": 2, "duplicate": 0}) == "3 accepted of 5 records: 2 no_danger"
    assert endings.in_words({"accepted": 3}) == "3 accepted of 3 records"


def test_flow_runs_that_were_scheduled_in_one_moment_have_runs_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # As Prefect's scheduler makes the next weeks' runs of a deployment: their ids begin with the time.
    names = set()
    for id_ in [str(uuid7()) for _ in range(50)]:
        monkeypatch.setattr(endings, "runtime", SimpleNamespace(flow_run=SimpleNamespace(id=id_)))
        names.add(endings.name_run("generate-neiss"))
        assert endings.name_run("generate-neiss") in names
    assert len(names) == 50 and all(re.fullmatch(r"generate-neiss-[0-9a-f]{12}", name) for name in names)


@given(st.lists(st.text(), min_size=1))
def test_keys_of_artifacts_hold_only_what_prefect_takes(words: list[str]) -> None:
    assert re.fullmatch(r"[a-z0-9-]*", key("x", *words))


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ProviderDown("down"), False),
        (BudgetReached("spent"), False),
        (StoreLocked("held"), False),
        (StoreError("the disk is full"), True),
        (ZeroDivisionError(), True),
    ],
)
def test_only_accidents_are_tried_again(error: Exception, again: bool) -> None:
    assert endings.may_be_accident(None, None, Failed(data=error)) is again


def test_one_source_that_failed_makes_the_whole_a_failure_and_all_are_told() -> None:
    states = {"neiss": Completed(message="fine"), "bddl": Failed(message="the provider is down")}
    ended = generate_all._join_states("r", states)
    assert ended.type is StateType.FAILED
    assert ended.message.startswith("bddl failed; retry this flow run") and "the provider is down" in ended.message


def test_a_source_out_of_money_makes_the_whole_a_completed_one_that_says_so() -> None:
    states = {"neiss": Completed(message="fine"), "bddl": Completed(name=endings.BUDGET_REACHED, message="spent")}
    ended = generate_all._join_states("r", states)
    assert (ended.type, ended.name) == (StateType.COMPLETED, endings.BUDGET_REACHED)
    assert "-p run_id=r -p budget_usd=" in ended.message and "bddl: spent" in ended.message


# --- the files beside


@pytest.fixture(scope="module")
def deployments(project: Path) -> list[dict[str, object]]:
    return yaml.safe_load((project / "prefect.yaml").read_text())["deployments"]


def test_there_is_a_deployment_for_each_source_and_its_parameters_are_right(deployments: list, project: Path) -> None:
    ours = {path.parent.name for path in (project / "sources").glob("*/source.py")}
    of_sources = {each["name"]: each for each in deployments if each["entrypoint"].endswith(":generate")}
    assert set(of_sources) == ours
    for name, each in of_sources.items():
        given_to = generate.validate_parameters(each["parameters"])
        assert given_to["source"] == name and (project / given_to["path"]).exists()
    (whole,) = [each for each in deployments if each["entrypoint"].endswith(":generate_all")]
    paths = generate_all.generate_all.validate_parameters(whole["parameters"])["paths"]
    assert set(paths) == ours and all((project / path).exists() for path in paths.values())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limit", 0),
        ("source", "nobody"),
        ("budget_usd", -1),
        ("attempt_timeout", 0),
        ("wave_size", 1001),
        ("shard", "0/2"),
        ("api_base", "https://me:planted@host/v1"),
        ("api_base", "https://host/v1?api_key=planted"),
        ("api_base", "host"),
    ],
)
def test_wrong_parameters_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterTypeError, match=f"- {name}: "):
        generate.validate_parameters({"source": "neiss", name: value})


def test_every_parameter_is_explained() -> None:
    from prefect.utilities.callables import parameter_schema

    for made in (generate, generate_all.generate_all):
        properties = parameter_schema(made.fn).properties
        assert all(each.get("description") for each in properties.values()), made.name


def test_flows_are_thin(project: Path) -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in (project / "flows").glob("*.py")}
    assert {name: length for name, length in lengths.items() if length >= 150} == {}
