"""Runs whose requests travel in batches, taken up in session after session, as commands take them up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from factories.batch_provider import BatchesInProcess
from factories.scripted import ScriptedBackend

from hazardmill.errors import RunWaiting
from hazardmill.llm.prices import Prices
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.runs.status import latest_states
from hazardmill.store.store import Store
from tests.generation.support import FOUND, THINGS, fenced, soup
from tests.running import worked
from tests.runs.test_run import a_task_each, config, number_of

RECORDS = 6


def backend() -> ScriptedBackend:
    """Drafts that need up to three tries, and a record without a danger."""

    def author(request: Any) -> str:
        number = number_of(request)
        return fenced(soup(THINGS[number - 1]) if request.key.draft > number % 3 else "def build(:")

    none = '{"no_danger": "a blank", "decline_reason": "nothing_to_build_on"}'
    return a_task_each(author=author, extract=lambda request: none if number_of(request) == 2 else FOUND)


class Many:
    """A run by batches that is taken up again in new sessions, as new processes do."""

    def __init__(self, store: Store, provider: BatchesInProcess, *, wait: bool, prices: Prices | None = None) -> None:
        self.store, self.provider, self.wait = store, provider, wait
        self.resources = RunResources(
            backend=lambda access, store: provider.backend,
            batches=lambda access, model, run_id: provider,
            batch_sleep=self._sleep,
            prices=lambda: prices or Prices({}),
        )
        self.slept: list[float] = []
        self.run: Run | None = None

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def start(self, notes: Path, **fields: Any) -> Run:
        made = config(notes, **{"batch": True, "backend": "litellm", **fields})
        self.run, _ = Run.start(self.store, made, "run", resources=self.resources)
        return self.run

    def go_on(self, **changes: Any) -> dict[str, int]:
        """One session, as the command has it; settings may change."""
        run = Run.load(self.store, "run", self.resources)
        if changes:
            run = run.resume(run.config.model_copy(update=changes))
        return worked(run, wait=self.wait)

    def to_the_end(self) -> int:
        """Sessions until the run waits no more; their number."""
        for number in range(1, 40):
            try:
                self.go_on()
            except RunWaiting:
                assert state(self.store) == "waiting"
                continue
            assert state(self.store) == "completed"
            return number
        raise AssertionError("it goes on waiting")


def state(store: Store) -> str:
    (row,) = latest_states(store)
    return str(row["state"])


def raising(*errors: Exception) -> Callable[[int], None]:
    """Raises each of the errors, attempt by attempt."""

    def fail(attempt: int) -> None:
        if attempt <= len(errors):
            raise errors[attempt - 1]

    return fail
