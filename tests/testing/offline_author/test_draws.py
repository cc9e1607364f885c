from __future__ import annotations

from collections import Counter

from hazardmill.testing.offline_author.draws import Draws


def test_choices_are_fixed_for_ever():
    draws = Draws("record", "plan", 0)
    assert draws.number("way") == 5796752559248789878
    assert draws.some("rooms", "abcdef", 3) == ["d", "c", "e"]


def test_shares_and_weights_are_kept():
    keys = [Draws(str(i)) for i in range(2000)]
    assert 0.27 < sum(draws.chance("c", 0.3) for draws in keys) / 2000 < 0.33
    drawn = Counter(draws.draw_weighted("w", (("a", 1), ("b", 3))) for draws in keys)
    assert 2.6 < drawn["b"] / drawn["a"] < 3.4


def test_one_choice_does_not_move_another():
    draws = Draws("r")
    before = draws.pick("x", range(100))
    draws.pick("y", range(100))
    assert draws.pick("x", range(100)) == before
