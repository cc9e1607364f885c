from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.ages import COARSE, ages_over_89, coarsen_ages

WRITTEN = [
    "{}YOF",
    "{} YOM",
    "{} YO F",
    "{}YF",
    "{} Y/O",
    "{} Y.O. M",
    "{}-YOF",
    "{} YR OLD",
    "{} years old",
    "{}-year-old",
    "HIP PAIN.{}YOF",
    "WRIST FX/{}YOWM",
    "L-{} YOBF",
    "aged {}",
    "AGE {} YO",
    "older adult ({} years)",
]


@given(st.sampled_from(WRITTEN), st.integers(90, 120), st.booleans())
def test_an_age_over_89_is_told_coarsely_and_nothing_else_is_changed(written: str, age: int, upper: bool) -> None:
    text = f"FELL ON 2 STEPS, {written} DX: BP 120/95".upper() if upper else f"Fell on 2 steps, {written}, at 95 F"
    assert coarsen_ages(text.format(age)) == text.format(COARSE)
    assert coarsen_ages(text.format(COARSE)) == text.format(COARSE)


@given(st.sampled_from(WRITTEN), st.integers(0, 89))
def test_other_ages_stay(written: str, age: int) -> None:
    assert coarsen_ages(written.format(age)) == written.format(age)


@pytest.mark.parametrize(
    ("text", "coarse"),
    [
        ("a ninety-two-year-old", "a 90+-year-old"),
        ("one hundred and two years old", "90+ years old"),
        ("now in her late 90's", "now in her 90+"),
        ("a nonagenarian", "a 90+"),
        ("two centenarians", "two 90+"),
        ("93 years and 4 months old", "90+ years and 4 months old"),
        ("93YOF AND HER SISTER, 95 YO", "90+YOF AND HER SISTER, 90+ YO"),
        ("90 YO AND OVER, aged 90 or older", "90 YO AND OVER, aged 90 or older"),
        ("95 DEGREES, 100 YARD DASH, HR 92, CALLED 911", "95 DEGREES, 100 YARD DASH, HR 92, CALLED 911"),
    ],
)
def test_ages_in_words_and_what_is_written_alike(text: str, coarse: str) -> None:
    assert coarsen_ages(text) == coarse
    assert not [*ages_over_89(coarse)]


@given(st.text())
def test_any_text_is_coarse_once_coarsened(text: str) -> None:
    assert coarsen_ages(coarsen_ages(text)) == coarsen_ages(text)


@pytest.mark.parametrize("text", ["9" * 50_000, "90 y" * 10_000, "ninety " * 10_000, "age 1" * 10_000])
def test_no_text_takes_long(text: str) -> None:
    # The test's own limit of time ends what backtracks without end.
    coarsen_ages(text)
