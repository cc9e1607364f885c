from __future__ import annotations

import io
import sys

import pytest

from hazardmill.commands import progress as module
from hazardmill.commands.progress import RunProgress
from hazardmill.records import Outcome


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


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


def test_quiet_says_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress(1, quiet=True) as show:
        clock.now = 10
        show("x:1", Outcome.ACCEPTED)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_it_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with RunProgress(2) as show:
        show("x:1", Outcome.ACCEPTED)
        show("x:2", Outcome.DUPLICATE)
    shown = terminal.getvalue()
    assert "milling" in shown and "2/2" in shown and "1 accepted, 1 duplicate" in shown


def test_nobody_listening_does_not_stop_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    with RunProgress(1) as show:
        show("x:1", Outcome.ACCEPTED)
