from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hazardmill.cli.evaluate import score as module
from hazardmill.cli.evaluate.score import work_through

from .test_progress import Clock


class Asking:
    """An evaluation of four tasks, each with a twin, that takes a minute per task."""

    run_id = "evaluate-1"

    def __init__(self, clock: Clock, channel: str = "single") -> None:
        self.clock = clock
        self.access = SimpleNamespace(channel=channel)

    async def run(self, store: object, *, on_task: Any, **more: object) -> str:
        for _ in range(4):
            self.clock.now += 60
            on_task(SimpleNamespace(variant=None))
            on_task(SimpleNamespace(variant="twin"))
        return "rows"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def ask(asking: Any, **options: Any) -> object:
    return work_through(asking, None, 4, **{"quiet": False, **options})  # type: ignore[arg-type]


def test_an_evaluation_says_how_long_the_rest_will_take(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(Asking(clock)) == "rows"
    assert capsys.readouterr().err.splitlines() == [
        "1/4 tasks; about 3 min left",
        "2/4 tasks; about 2 min left",
        "3/4 tasks; about 60 s left",
        "4/4 tasks",
    ]


def test_an_evaluation_by_batches_makes_no_estimate(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    ask(Asking(clock, channel="batch"), what="scenarios")
    assert capsys.readouterr().err.splitlines()[0] == "1/4 scenarios"


def test_a_quiet_evaluation_says_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    ask(Asking(clock), quiet=True)
    assert capsys.readouterr() == ("", "")
