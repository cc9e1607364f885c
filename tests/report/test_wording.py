from __future__ import annotations

import pytest

from hazardmill.report import wording
from hazardmill.report.cost import Sum, cost
from hazardmill.reporting import numbers
from hazardmill.reporting.estimates import render_share
from hazardmill.statistics.estimate import Proportion

from .support import connect, mill


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "unknown"),
        (0, "$0.00"),
        (0.0112, "$0.0112"),
        (0.5, "$0.500"),
        (1234.5, "$1,234.50"),
        (1e-9, "$0.00000000100"),
    ],
)
def test_dollars_keep_three_figures_below_one(value: float | None, words: str) -> None:
    assert numbers.usd(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0 s"),
        (40 / 3600, "40 s"),
        (0.2, "12 min"),
        (1 / 30, "2 min"),
        (3.5, "3.5 h"),
        (47.6, "48 h"),
        (24 * 22, "22 days"),
        (24_000.0, "1,000 days"),
    ],
)
def test_a_time_span_is_written_in_the_unit_that_suits_it(value: float, words: str) -> None:
    assert numbers.hours(value) == words


def test_a_sum_with_unknown_parts_says_so() -> None:
    assert wording.usd_sum(Sum(known=1.5, unknown=0)) == "$1.50"
    assert wording.usd_sum(Sum(known=1.5, unknown=2)) == "$1.50 + 2 unknown"
    assert wording.token_sum(Sum(known=1500, unknown=2)) == "1,500 + 2 unknown"
    assert wording.token_sum(Sum(known=None, unknown=2)) == "unknown"


def test_the_price_of_a_task_is_a_lower_bound_while_a_part_is_unknown() -> None:
    found = cost(connect(**mill()), ["r"])
    assert wording.usd_per_task(found) == "at least $0.0333"
    assert wording.usd_per_task(found.model_copy(update={"whole": Sum(known=0.3, unknown=0)})) == "$0.100"
    assert wording.usd_per_task(found.model_copy(update={"whole": Sum(known=None, unknown=3)})) == "unknown"
    assert wording.usd_per_task(found.model_copy(update={"accepted": 0})) == numbers.NONE


def test_a_reason_is_a_code_in_words_or_a_sentence_of_bearable_length() -> None:
    assert wording.reason("no_unsafe_plan") == "no unsafe plan"
    assert wording.reason("A file called soup_2 is not there") == "A file called soup_2 is not there"
    assert wording.reason(None) == "no reason given"
    cut = wording.reason("word " * 100)
    assert len(cut) <= 140 and cut.endswith("word ...")


def test_nothing_has_no_share() -> None:
    assert numbers.share(None) == numbers.NONE
    assert numbers.share(0.46) == "46.0 %"


def test_a_share_has_as_many_digits_as_are_asked_for() -> None:
    assert (numbers.share(0.4475, 2), numbers.share(0.34, 2), numbers.share(0.34, 0)) == ("44.75 %", "34.00 %", "34 %")
    found = Proportion(value=0.4475, low=0.39958, high=0.49652, count=179, n=400)
    assert render_share(found, "none", 2) == "44.75 % (39.96 to 49.65)"
    assert render_share(found, "none") == "44.8 % (40.0 to 49.7)"
