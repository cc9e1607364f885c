"""Generating tasks from Python: the same engine as ``hazardmill run generate`` and the flows.

run = hazardmill.generate({"neiss": "neiss2019.tsv"}, model="openai/gpt-5-mini", limit=100, budget_usd=5)
for task in run.tasks:
    print(task.name, task.solve().safe.plan)
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from hazardmill.api.pages import NotebookProgress, run_html
from hazardmill.api.task import Task
from hazardmill.errors import BudgetReached, ProviderError, RunStopped, RunWaiting, UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.llm.call_tally import CallTally
from hazardmill.records import Outcome
from hazardmill.run_options import ModelOptions, run_options
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.config_from_settings import change_config, configure_run
from hazardmill.runs.overview.pace import RunPace
from hazardmill.runs.reproducibility import config_changes
from hazardmill.runs.run import Run
from hazardmill.settings import load_settings
from hazardmill.store.run_ids import known_runs
from hazardmill.store.store import Store
from hazardmill.store_access import open_store
from hazardmill.text.suggestions import similar_names

PathLike = str | os.PathLike[str]
Sources = str | Iterable[str] | Mapping[str, PathLike | None]

_OPTIONS: Final = tuple(name for model in (ModelOptions, RunConfig) for name, _, _ in run_options(model))


@dataclass(frozen=True)
class RunUpdate:
    """How far a run is.

    Attributes:
        run_id: The run.
        total: Number of records that were to be done when this process began or resumed the run.
        done: How many of them are done; those under way count in part.
        outcomes: Records of this process by outcome, committed ones only.
        spent: What the requests of this process have cost so far, such as ``at least 0.12 USD``; empty for nothing.
    """

    run_id: str
    total: int
    done: float
    outcomes: Mapping[str, int]
    spent: str


Progress = Callable[[RunUpdate], object]


class GenerationRun:
    """A run that was worked through, or stopped on purpose; its results are in its store.

    Attributes:
        run_id: Its name, by which ``generate(run_id=...)`` resumes it.
        store: The store that has its results.
        error: Why it stopped early: ``BudgetReached``, or ``RunWaiting`` while answers are under way; None if it did
            not.
        unanswered: Why records stay pending although the run did not stop: a recording lacks an answer to them.
    """

    def __init__(self, run: Run, error: RunStopped | None = None, unanswered: tuple[str, ...] = ()) -> None:
        self._run = run
        self.run_id = run.run_id
        self.store = run.store
        self.error = error
        self.unanswered = unanswered

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.outcomes.items() if count)
        return f"<GenerationRun {self.run_id}: {self.state}; {counts}>"

    def _repr_html_(self) -> str:
        return run_html(self)

    @property
    def state(self) -> str:
        """``completed``, ``waiting`` if answers are under way, or ``stopped`` if records are pending otherwise."""
        if isinstance(self.error, RunWaiting):
            return "waiting"
        return "stopped" if self.outcomes[Outcome.PENDING.value] else "completed"

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of records by outcome, including pending ones."""
        return self._run.counts()

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The accepted tasks, in the order of their records.

        Raises:
            StoreError: The store cannot be read.
        """
        rows = self.store.rows("tasks", {"run_id": self.run_id}, ["task_id", "document", "avoidability"])
        return tuple(
            Task(
                Document.from_json(json.loads(row["document"])),
                task_id=row["task_id"],
                unavoidable=row["avoidability"] == "unavoidable",
            )
            for row in rows
        )


def generate(
    sources: Sources = (),
    *,
    limit: int | None = None,
    where: Mapping[str, str] | None = None,
    shard: str | None = None,
    store: PathLike | Store | None = None,
    run_id: str | None = None,
    replay: PathLike | None = None,
    wait: bool = False,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401  # options of a run, which the configuration checks
) -> GenerationRun:
    """Turn records of one or more sources into tasks, and return when the run has ended.

    Args:
        sources: The sources of the records: a name, several names, or a file or folder by name. A source without a
            path takes the records in the store.
        limit: Maximum number of records to take from each source.
        where: Only records with these facts, such as ``{"norm": "taboo"}``.
        shard: Only one of several parts of the records: ``2/8`` is the second of eight.
        store: The store, or its folder or address; None for that of the settings.
        run_id: Name of the run; None to make one from the time. A run of that name in the store is resumed: then only
            options that no result depends on may differ, such as ``budget_usd``.
        replay: Store to answer from: a request that it does not hold stops the run. None to ask the model.
        wait: Whether to wait for answers to requests that were sent together.
        progress: Called after each step of a record with a ``RunUpdate``; what it raises ends the run, which can be
            resumed. None shows a bar in a notebook, and nothing elsewhere.
        options: Options of a run, as in docs/settings.md: ``model``, ``budget_usd`` (``math.inf`` for none), and so on.
            What is missing or None is taken from the settings, then from the defaults.

    Returns:
        The run. If it ran out of budget, or waits for answers, ``error`` says so and its ``state`` is not
        ``completed``.

    Raises:
        TypeError: There is no such option.
        UsageError: Options do not go together; or an event loop is running here, as in a notebook.
        InputError: An input cannot be read, or none holds a record.
        ProviderError: The model cannot be asked; the run can be resumed.
        JailUnavailable: The jail cannot contain code written by a model on this machine.
        StoreError: The store cannot be read or written.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError(
            "an event loop is running here already, as it is in a notebook",
            remedy="write: run = await hazardmill.agenerate(...)",
        )
    return asyncio.run(
        agenerate(
            sources,
            limit=limit,
            where=where,
            shard=shard,
            store=store,
            run_id=run_id,
            replay=replay,
            wait=wait,
            progress=progress,
            **options,
        )
    )


async def agenerate(
    sources: Sources = (),
    *,
    limit: int | None = None,
    where: Mapping[str, str] | None = None,
    shard: str | None = None,
    store: PathLike | Store | None = None,
    run_id: str | None = None,
    replay: PathLike | None = None,
    wait: bool = False,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401  # options of a run, which the configuration checks
) -> GenerationRun:
    """Do what ``generate`` does, in the event loop that is running. A run that is cancelled can be resumed.

    Args:
        sources: As ``generate`` takes it, and so are all others.
        limit: Maximum number of records to take from each source.
        where: Only records with these facts.
        shard: Only one of several parts of the records.
        store: The store, or its folder or address.
        run_id: Name of the run; a run of that name in the store is resumed.
        replay: Store to answer from.
        wait: Whether to wait for answers to requests that were sent together.
        progress: Called after each step of a record.
        options: Options of a run.

    Returns:
        The run.

    Raises:
        TypeError: There is no such option.
        HazardmillError: As ``generate``.
    """
    values = _read_options(options)
    said = {"limit": limit, "where": dict(where or {}), "shard": shard}
    place = store if isinstance(store, Store) else open_store(None if store is None else Path(store), create=True)
    answers = None if replay is None else os.fspath(replay)
    run = await asyncio.to_thread(_begin, place, run_id, sources, said, values, answers)
    return await _work_through(run, progress or NotebookProgress.here(), wait)


def _read_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, by field of a configuration; a budget of infinity becomes None."""
    for name in options:
        if name not in _OPTIONS:
            near = similar_names(name, _OPTIONS)
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            raise TypeError(f"generate() has no option {name!r}{meant}")
    values = {name: value for name, value in options.items() if value is not None}
    return {**values, "budget_usd": None} if values.get("budget_usd") == math.inf else values


def _begin(
    store: Store,
    run_id: str | None,
    sources: Sources,
    said: Mapping[str, Any],
    values: Mapping[str, Any],
    replay: str | None,
) -> Run:
    """Start a run, or resume the one of this name."""
    try:
        inputs = [
            RunInput(source=name, path=None if path is None else Path(path), **said)
            for name, path in _paths_of(sources).items()
        ]
        if run_id is not None and run_id in known_runs(store, "generate"):
            if not inputs and any(said.values()):
                raise UsageError("limit, where and shard belong to sources, and none is named", remedy="name them too")
            return _resume(store, run_id, inputs, values, replay)
        if not inputs:
            raise UsageError("no source is named", remedy="name one, such as generate({'neiss': 'neiss2019.tsv'}, ...)")
        return Run.start(store, configure_run(load_settings(), inputs, values, replay=replay), run_id)[0]
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        raise UsageError(
            f"the option {'.'.join(map(str, wrong['loc']))} cannot be used: {wrong['msg']}",
            remedy="docs/settings.md lists all options and their bounds",
        ) from error


def _paths_of(sources: Sources) -> dict[str, PathLike | None]:
    if isinstance(sources, Mapping):
        return dict(sources)
    return dict.fromkeys([sources] if isinstance(sources, str) else sources)


def _resume(store: Store, run_id: str, inputs: list[RunInput], values: Mapping[str, Any], replay: str | None) -> Run:
    run = Run.load(store, run_id)
    if replay is not None and Path(replay).absolute() != run.config.replay_store:
        raise UsageError(
            f"run {run_id} does not replay the store {replay}", remedy="leave out replay, or name another run_id"
        )
    config = change_config(run.config, values, inputs)
    changes = config_changes(run.config, config)
    if changes:
        raise UsageError(
            f"run {run_id} was started with other options: {'; '.join(map(str, changes))}",
            remedy="undo these changes, or name another run_id: it reuses every answer to an equal request",
        )
    return run.resume(config)


async def _work_through(run: Run, progress: Progress | None, wait: bool) -> GenerationRun:
    waves = run.waves()
    pace = RunPace(run.config, sum(map(len, waves)))
    told = _Telling(run, progress, pace, sum(map(len, waves)))
    error: RunStopped | None = None
    unanswered: tuple[str, ...] = ()
    try:
        with _saying_how_to_resume(run), run.under_way():
            told.tell()
            async with run.session(watch=pace, wait=wait) as session:
                pace.tally = told.tally = session.ledger.tally
                await session.work_through(waves, told.count)
            unanswered = tuple(map(str, session.unrecorded))
    except (BudgetReached, RunWaiting) as stopped:
        error = stopped
    except asyncio.CancelledError:
        if told.failure is None:
            raise
        told.work.uncancel()
    if told.failure is not None:
        raise told.failure
    return GenerationRun(run, error, unanswered)


class _Telling:
    """Reports to a function of the caller how far a run is, and ends the run with what the function raises."""

    def __init__(self, run: Run, progress: Progress | None, pace: RunPace, total: int) -> None:
        self._run, self._progress, self._pace, self._total = run, progress, pace, total
        self._counts: Counter[str] = Counter()
        work = asyncio.current_task()
        assert work is not None  # a coroutine runs in a task
        self.work = work
        self.tally: CallTally | None = None
        self.failure: Exception | None = None
        pace.on_step = self.tell

    def count(self, record_id: str, outcome: Outcome) -> None:
        self._counts[outcome.value] += 1
        self._pace.commit(record_id)

    def tell(self) -> None:
        if self._progress is None or self.failure is not None:
            return
        spent = "" if self.tally is None else self.tally.usd_text
        try:
            self._progress(RunUpdate(self._run.run_id, self._total, self._pace.done, dict(self._counts), spent))
        # A step may not raise: the run would take it for a fault of its own.
        except Exception as error:
            self.failure = error
            self.work.cancel()


@contextmanager
def _saying_how_to_resume(run: Run) -> Iterator[None]:
    try:
        yield
    except (ProviderError, RunStopped) as error:
        again = f"hazardmill.generate(run_id={run.run_id!r}, store={run.store.address!r})"
        error.remedy = f"{error.remedy or 'fix the problem'}; then resume with {again}"
        raise
