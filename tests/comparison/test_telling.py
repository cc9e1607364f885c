from __future__ import annotations

import pytest

from hazardmill.comparison.compare import RunComparison, compare
from hazardmill.comparison.figures import ComparisonOptions
from hazardmill.comparison.page import render_page
from hazardmill.comparison.render import changed_grid, figures_grid, grids, records_grid, sentences
from hazardmill.store.store import Store


@pytest.fixture(scope="module")
def found(compared: Store) -> RunComparison:
    return compare(compared, "base", "other", how=ComparisonOptions(resamples=500))


def test_what_is_compared_and_what_is_left_out_is_said(found: RunComparison, compared: Store) -> None:
    assert sentences(found) == [
        "6 records of both runs are compared.",
        "Left out: 1 that only run base has, 1 that only run other has.",
        "Left out: 1 record of both runs, because the content differs.",
        "4 of them ended differently.",
    ]
    again = compare(compared, "base", "again", how=ComparisonOptions(resamples=500))
    assert sentences(again) == ["8 records of both runs are compared.", "The runs do not differ."]
    slower = again.figures[-1].model_copy(update={"difference": 0.5})
    other = again.model_copy(update={"figures": (*again.figures[:-1], slower)})
    assert sentences(other)[-1] == "They differ only in cost or time."


def test_figures_are_told_in_their_units(found: RunComparison) -> None:
    rows = {row[0]: row[1:] for row in figures_grid(found).rows}
    sides = ("50.0 (18.8 to 81.2, Wilson)", "33.3 (9.7 to 70.0, Wilson)")
    assert rows["declined, %"][:3] == (*sides, "-16.7") and rows["declined, %"][-1] == "6"
    assert rows["drafts per record"][:3] == ("0.67", "0.83", "+0.17")
    assert rows["USD per task"][:3] == ("$0.0152", "$0.0140", "-$0.00117")
    assert rows["USD per task"][3] == "fewer than 5 pairs changed, too few to show the spread"
    # No reviewer has said anything.
    assert not [name for name in rows if "reviewers" in name]
    assert changed_grid(found).rows == (
        ("declined", "2", "1", "1.000"),
        ("accepted", "1", "2", "1.000"),
        ("accepted at draft 1", "1", "2", "1.000"),
    )


def test_the_heads_of_figures_name_the_level_of_their_intervals(found: RunComparison) -> None:
    assert figures_grid(found).head == ("", "A, 95 %", "B, 95 %", "B less A", "95 % interval", "Pairs")
    other = found.model_copy(update={"how": ComparisonOptions(level=0.9)})
    assert figures_grid(other).head[1:5] == ("A, 90 %", "B, 90 %", "B less A", "90 % interval")


def test_tables_tell_codes_in_words(found: RunComparison) -> None:
    told = {grid.title: grid for grid in grids(found)}
    ((words, *counted),) = told["Losses by reason"].rows
    assert words.startswith("no danger in it: ") and "_" not in words and counted == ["3", "2", "-1"]
    assert told["Judge's reasons"].rows == (("judge: entity", "0", "1", "+1"), ("judge: request", "0", "1", "+1"))
    assert told["Ways out"].rows == (("inserted", "3", "4", "+1"),)
    assert told["Changed outcomes"].rows[0] == ("no danger in it", "accepted", "2")
    assert "Reviewers' verdicts" not in told


def test_records_that_differ_are_told_field_by_field_so_many_at_most(found: RunComparison) -> None:
    whole = records_grid(found)
    assert whole.title == "Records that differ (4)"
    assert ("notes:6", "danger type", "thermal", "chemical") in whole.rows
    assert ("notes:4", "judge", "-", "judge: entity, judge: request") in whole.rows
    first = records_grid(found, 1)
    assert first.title == "Records that differ (the first 1 of 4)" and {row[0] for row in first.rows} == {"notes:4"}


def test_the_page_says_the_same_and_what_models_wrote_does_nothing_in_it(found: RunComparison) -> None:
    page = render_page(found)
    for grid in [*grids(found), records_grid(found)]:
        assert f"<caption>{grid.title.replace(chr(39), '&#39;')}</caption>" in page
    assert all(sentence in page for sentence in sentences(found)) and "500" in page
    hostile = found.pairs[0].b.model_copy(update={"reason": "<script>alert(1)</script>\x1b[31m"})
    pair = found.pairs[0].model_copy(update={"b": hostile})
    written = render_page(found.model_copy(update={"pairs": (pair, *found.pairs[1:])}))
    assert "<script" not in written and "\x1b" not in written and "&lt;script&gt;" in written


def test_what_is_not_known_is_told_beside_what_does_not_differ(found: RunComparison) -> None:
    assert not any("unknown" in sentence for sentence in sentences(found))
    figures = tuple(
        each.model_copy(update={"unknown": 2}) if each.name == "USD per record" else each for each in found.figures
    )
    alike = found.model_copy(update={"figures": figures, "differing": 0, "moved": ()})
    assert any("The cost or time of 2 pairs is unknown." in sentence for sentence in sentences(alike))
