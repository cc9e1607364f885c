"""One type of estimate, and the names under which tables write it."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, ValidationError

from hazardmill.statistics.estimate import Estimate, IntervalOrNull, JsonNames, Proportion


class Table(BaseModel):
    """Two figures under names of their own."""

    rate: Annotated[Proportion, JsonNames(count="count", among="n", value="value")]
    slope: IntervalOrNull


FOUND = Table(
    rate=Proportion(count=1, n=4, value=0.25, method="wilson"), slope=Estimate(value=2, low=1, high=3, n=9, why="why")
)


def test_a_field_says_under_which_names_and_in_which_order_an_estimate_is_written():
    assert FOUND.model_dump_json() == (
        '{"rate":{"count":1,"among":4,"value":0.25},"slope":{"value":2.0,"low":1.0,"high":3.0,"method":null}}'
    )


def test_what_was_written_is_read_by_the_same_names():
    again = Table.model_validate_json(FOUND.model_dump_json())
    assert again.rate == Proportion(count=1, n=4, value=0.25)
    assert again.slope == Estimate(value=2, low=1, high=3)


def test_an_estimate_without_a_value_is_null_where_the_field_says_so():
    found = FOUND.model_copy(update={"slope": Estimate(value=None, why="too few")})
    assert found.model_dump(mode="json")["slope"] is None
    assert Table.model_validate_json(found.model_dump_json()).slope.value is None


def test_a_name_that_is_not_known_is_refused():
    with pytest.raises(ValidationError, match="share"):
        Table.model_validate({"rate": {"count": 1, "among": 4, "share": 0.25}, "slope": None})
