from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hazardmill.cli import progress as module
from hazardmill.cli.progress import RunProgress
from hazardmill.errors import ConnectionFailed
from hazardmill.llm.call_tally import CallTally
from hazardmill.llm.client import Retry
from hazardmill.llm.requests import Message, Request
from hazardmill.records import Outcome
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.overview.pace import RunPace


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_off_a_terminal_it_is_a_line_every_few_seconds(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress(4) as show:
        for second, outcome in ((1, "accepted"), (2, "no_danger"), (4, "accepted"), (5, "duplicate")):
            clock.now = second
            show("x:1", Outcome(outcome))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "3/4 records: 2 accepted, 1 no_danger",
        "4/4 records: 2 accepted, 1 duplicate, 1 no_danger",
    ]


def paced(total: int, clock: Clock) -> RunPace:
    return RunPace(RunConfig(inputs=(RunInput(source="x"),)), total, clock.monotonic)


def test_between_commits_it_says_how_long_the_rest_will_take(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    pace = paced(4, clock)
    declined: Any = SimpleNamespace(danger=None)
    with RunProgress(4, pace=pace) as show:
        show.tally = CallTally()
        show.tally.add({"answered": True, "usd": 0.25, "usd_upper": 0.25})
        clock.now = 60
        pace.on_extraction(cast("Any", SimpleNamespace(record_id="x:1")), declined)
        clock.now = 120
        show("x:1", Outcome.NO_DANGER)
    # The last line stands after the end, when nothing more will be done.
    assert capsys.readouterr().err.splitlines() == [
        "0/4 records: none yet; $0.250; about 3 min left",
        "1/4 records: 1 no_danger; $0.250; about 2 min left",
        "1/4 records: 1 no_danger; $0.250",
    ]


def test_the_bar_moves_between_commits_and_says_how_long_the_rest_will_take(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal)
    pace = paced(2, clock)
    with RunProgress(2, pace=pace):
        clock.now = 90
        pace.on_extraction(cast("Any", SimpleNamespace(record_id="x:1")), cast("Any", SimpleNamespace(danger="fire")))
    shown = terminal.getvalue()
    assert "0/2" in shown and "about 4.5 min left" in shown


def test_quiet_says_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress(1, quiet=True) as show:
        clock.now = 10
        show("x:1", Outcome.ACCEPTED)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_it_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with RunProgress(2) as show:
        show("x:1", Outcome.ACCEPTED)
        show("x:2", Outcome.DUPLICATE)
    shown = terminal.getvalue()
    assert "milling" in shown and "2/2" in shown and "1 accepted, 1 duplicate" in shown


def retry(number: int, message: str = "toy/toy: the connection failed") -> Retry:
    request = Request(stage="extract", model="toy/toy", messages=(Message(role="user", content="?"),))
    return Retry(request, ConnectionFailed(message), number, 6, 4.2)


def test_a_request_that_waits_says_why_once_every_few_seconds(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress(4) as show:
        for second, number in ((0.5, 2), (1, 2), (3, 3), (3.6, 4)):
            clock.now = second
            show.on_retry(retry(number, "broken\n" * 100 if number == 4 else "toy/toy: [Errno 111] refused"))
    first, second, last = capsys.readouterr().err.splitlines()
    assert first == "attempt 2 of 6 in 4 s: toy/toy: [Errno 111] refused"
    assert second.startswith("attempt 4 of 6 in 4 s: broken broken") and second.endswith("...") and len(second) < 250
    assert last == "0/4 records: none yet"


def test_quiet_does_not_say_that_it_waits(capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress(1, quiet=True) as show:
        show.on_retry(retry(2))
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_what_waits_stands_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with RunProgress(2) as show:
        show.on_retry(retry(2, "[bold]refused[/bold]"))
    assert "attempt 2 of 6 in 4 s: [bold]refused[/bold]" in terminal.getvalue()


def test_nobody_listening_does_not_stop_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    with RunProgress(1) as show:
        show("x:1", Outcome.ACCEPTED)
