"""A change in points and a change in per cent are two things, and stay so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hazardmill.evaluation.stats.units import PerCentOfBase, Points, RateChange, change

RATES = st.floats(0, 100)


def test_one_change_has_both_and_they_differ():
    found = change(40, 50, (1, 19))
    assert found.absolute == Points(value=10, low=1, high=19, method="newcombe")
    assert found.relative == PerCentOfBase(per_cent=25)
    assert found.model_dump(mode="json") == {
        "before": 40,
        "after": 50,
        "absolute": {"points": 10, "low": 1, "high": 19, "unit": "points", "method": "newcombe"},
        "relative": {"per_cent": 25, "unit": "per cent of base"},
        "why": None,
    }


def test_neither_can_stand_where_the_other_belongs():
    with pytest.raises(ValidationError):
        RateChange(before=40, after=50, absolute=PerCentOfBase(per_cent=25), relative=None)
    with pytest.raises(ValidationError):
        RateChange(before=40, after=50, absolute=None, relative=Points(value=10))
    with pytest.raises(ValidationError):
        Points.model_validate(PerCentOfBase(per_cent=25).model_dump())
    with pytest.raises(ValidationError):
        PerCentOfBase(per_cent=25, unit="points")
    with pytest.raises(ValidationError):
        Points(value=10, unit="per cent of base")


def test_they_are_neither_added_nor_compared():
    absolute, relative = Points(value=10), PerCentOfBase(per_cent=10)
    with pytest.raises(TypeError):
        absolute + relative
    with pytest.raises(TypeError):
        absolute < relative  # noqa: B015  # the comparison itself has to fail
    assert absolute != relative


@given(RATES, RATES)
def test_both_lead_from_before_to_after(before, after):
    found = change(before, after)
    assert before + found.absolute.value == pytest.approx(after)
    if before > 1e-6:
        assert before * (1 + found.relative.per_cent / 100) == pytest.approx(after, abs=1e-9)


def test_nothing_is_relative_to_zero():
    found = change(0, 5)
    assert found.absolute == Points(value=5)
    assert found.relative is None and "zero" in found.why


@pytest.mark.parametrize(("before", "after"), [(None, 5), (5, None), (None, None)])
def test_a_change_of_what_is_not_known_is_not_known(before, after):
    found = change(before, after)
    assert found.absolute.value is None and found.relative is None and found.why
