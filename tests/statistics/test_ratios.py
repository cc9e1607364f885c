"""Ratios of sums over rows, with intervals over the units that the rows belong to."""

from __future__ import annotations

from hazardmill.statistics.ratios import LEFT_OUT, ratios_of_sums


def test_a_ratio_is_pooled_and_its_interval_is_over_units() -> None:
    found = ratios_of_sums(["a", "a", "b"], {"x": [(1, 1), (0, 1), (1, 2)], "y": [(1, 1), (1, 1), LEFT_OUT]})
    assert (found["x"].value, found["x"].n, found["x"].low, found["x"].high) == (0.5, 4, 0.5, 0.5)
    assert (found["y"].value, found["y"].n, found["y"].low) == (1, 2, 1)


def test_units_of_a_cluster_are_drawn_together() -> None:
    rows = {"x": [(1.0, 1.0), (0.0, 1.0)]}
    assert ratios_of_sums(["a", "b"], rows)["x"].high == 1
    assert ratios_of_sums(["a", "b"], rows, clusters={"a": "s", "b": "s"})["x"].high == 0.5


def test_a_ratio_without_a_denominator_says_why() -> None:
    found = ratios_of_sums(["a"], {"x": [LEFT_OUT], "y": [LEFT_OUT]}, resamples=10, why={"x": "nobody succeeded"})
    assert {name: (each.value, each.low, each.n, each.why) for name, each in found.items()} == {
        "x": (None, None, 0, "nobody succeeded"),
        "y": (None, None, 0, None),
    }
    assert ratios_of_sums([], {"x": []}, resamples=10)["x"].value is None
