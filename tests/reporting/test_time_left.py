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
    clock.now += 60
    left.update(20)
    assert left.text == "about 8 min left"
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
    assert left.seconds == pytest.approx(700 * 10, rel=0.1)


def test_while_work_goes_on_as_before_the_estimate_only_falls(clock: Clock) -> None:
    left, shown = TimeLeft(100, clock), list[float]()
    for second in range(1, 1000):
        clock.now += 1
        # One part of ten seconds; some come a little late, and others in pairs.
        if second % 10 == (1 if second % 40 < 20 else 0):
            left.update(second // 10)
        if second > 60:
            shown.append(left.seconds or 0.0)
    assert shown == sorted(shown, reverse=True)
    assert shown[0] == pytest.approx(940, rel=0.1) and shown[-1] < 15


def test_the_estimate_rises_if_nothing_gets_done_for_longer_than_ever(clock: Clock) -> None:
    left = TimeLeft(100, clock)
    for done in (10, 20):
        clock.now += 60
        left.update(done)
    clock.now += 60
    assert left.seconds == 420
    # Twice as long as any part took: half a minute per part is missing.
    clock.now += 60
    assert left.seconds == 420 + 60 * 80 / 20


def test_what_is_reported_twice_is_no_news(clock: Clock) -> None:
    left = TimeLeft(4, clock)
    for _ in range(2):
        clock.now += 60
        left.update(1)
    assert left.seconds == 120


def test_what_is_skipped_says_nothing_about_the_pace(clock: Clock) -> None:
    left = TimeLeft(1000, clock)
    for done in (300, 600):
        clock.now += 10
        left.skip(done)
    assert (left.seconds, left.text) == (None, "")
    clock.now += 10
    left.update(601)
    assert left.seconds == 3990


def test_a_pace_that_has_fallen_for_good_takes_the_place_of_the_earlier_one(clock: Clock) -> None:
    left, done = TimeLeft(1000, clock), 0
    for step in (*[20] * 20, *[1] * 6):
        clock.now += 10
        done += step
        left.update(done)
    assert left.seconds == pytest.approx((1000 - done) * 10, rel=0.1)


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
