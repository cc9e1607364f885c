from __future__ import annotations

from datetime import datetime

import pytest

from hazardmill.errors import StoreError
from hazardmill.store.rows import encode, pack, table_named
from store.factories import NOON, call, row

CALLS = table_named("llm_calls")


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("identity", 7, r"llm_calls\.identity takes a string, not int 7"),
        ("answer", "\ud800", "without lone surrogates"),
        ("attempt", "1", "an integer, not str"),
        ("attempt", True, "an integer, not bool"),
        ("attempt", 2**63, "an integer of 64 bits"),
        ("usd", "free", "a number, not str"),
        ("usd", float("nan"), "a finite number, or null where it is unknown"),
        ("usd", 10**400, "a number within range"),
        ("usd", False, "a number, not bool"),
        ("answered", 1, "a Boolean, not int"),
        ("at", datetime(2026, 11, 21), "a datetime with a time zone"),
        ("at", "2026-11-21", "a datetime with a time zone, not str"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(column: str, value: object, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        pack(CALLS, {**call("i"), column: value})


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(StoreError, match="table llm_calls has no column 'price'"):
        pack(CALLS, call("i", price=1.0))


@pytest.mark.parametrize("column", ["identity", "attempt", "run_id", "at"])
def test_a_missing_required_value_is_refused(column: str) -> None:
    with pytest.raises(StoreError, match=rf"llm_calls\.{column} is required"):
        pack(CALLS, {**call("i"), column: None})


def test_the_error_names_the_record() -> None:
    with pytest.raises(StoreError, match="neiss:7"):
        pack(table_named("outcomes"), {"record_id": "neiss:7"})


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(StoreError, match="no table 'calls'"):
        encode({"calls": [{}]})


def test_an_integer_will_do_for_a_real_and_null_is_left_out() -> None:
    packed = pack(CALLS, call("i", usd=0, answer=None))
    assert packed["usd"] == 0.0
    assert isinstance(packed["usd"], float)
    assert "answer" not in packed


def test_a_group_of_no_rows_is_nothing() -> None:
    assert encode({"llm_calls": [], "tasks": []}) is None


def test_times_are_kept_in_utc() -> None:
    assert pack(table_named("runs"), row("runs", at=NOON))["at"] == "2026-11-21T12:00:00+00:00"
