from __future__ import annotations

import pytest

from hazardmill.reporting.time_left import TimeLeft


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_time_left_follows_the_pace(clock: Clock) -> None:
    left = TimeLeft(100, clock)
    assert (left.seconds, left.text) == (None, "")
    clock.now += 60
    left.update(10)
    assert (left.seconds, left.text) == (540, "about 9 min left")
    # Nothing gets done for a minute: half the pace.
    clock.now += 60
    assert left.seconds == 1080
    left.update(100)
    assert (left.seconds, left.text) == (0, "")


def test_what_was_done_at_once_says_nothing_about_the_pace(clock: Clock) -> None:
    left = TimeLeft(1000, clock)
    clock.now += 1
    left.update(900)
    assert left.seconds is None
    clock.now += 9
    left.update(901)
    assert left.seconds == 990


def test_only_the_latest_part_counts(clock: Clock) -> None:
    left = TimeLeft(1000, clock)
    for number in range(1, 301):
        clock.now += 2 if number < 200 else 10
        left.update(number)
    assert left.seconds == 700 * 10


def test_parts_that_do_not_quite_add_up_leave_nothing(clock: Clock) -> None:
    left = TimeLeft(1, clock)
    clock.now += 5
    left.update(sum([0.1] * 10))
    assert left.seconds == 0


def test_there_is_never_less_than_a_second_left_before_the_end(clock: Clock) -> None:
    left = TimeLeft(1000, clock)
    clock.now += 5
    left.update(999.9)
    assert left.text == "about 1 s left"
