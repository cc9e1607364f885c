from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import click
import pytest

from hazardmill.cli.options import print_json, read_facts, read_named_values

NAMES = ("neiss", "bddl")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), {}),
        (("300",), {"neiss": "300", "bddl": "300"}),
        (("neiss=300",), {"neiss": "300"}),
        (("10", "neiss=300"), {"neiss": "300", "bddl": "10"}),
        (("neiss=a=b",), {"neiss": "a=b"}),
        (("./x=y.tsv",), {"neiss": "./x=y.tsv", "bddl": "./x=y.tsv"}),
    ],
)
def test_values_by_source(values: tuple[str, ...], expected: dict[str, str]) -> None:
    assert read_named_values(values, NAMES, "--limit") == expected


def test_a_name_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="alfred is not among the requested sources"):
        read_named_values(("alfred=3",), NAMES, "--limit")


def test_a_file_with_an_equals_sign_in_its_name_is_a_file(empty_folder: Path) -> None:
    (empty_folder / "year=2019").touch()
    assert read_named_values(("year=2019",), ("neiss",), "--input") == {"neiss": "year=2019"}


def test_facts_are_names_and_values_of_every_source_or_of_one() -> None:
    assert read_facts((), NAMES) == {"neiss": {}, "bddl": {}}
    assert read_facts(("a=1", "b=x=y", "c="), ("neiss",)) == {"neiss": {"a": "1", "b": "x=y", "c": ""}}
    assert read_facts(("a=1", "bddl:a=2", "neiss:b=x:y"), NAMES) == {
        "neiss": {"a": "1", "b": "x:y"},
        "bddl": {"a": "2"},
    }


@pytest.mark.parametrize(
    ("where", "said"),
    [("burn", "'burn' is not NAME=VALUE"), ("alfred:a=1", "alfred is not among the requested sources")],
)
def test_a_fact_without_value_or_of_another_source_is_refused(where: str, said: str) -> None:
    with pytest.raises(click.BadParameter, match=said):
        read_facts((where,), NAMES)


def test_what_is_printed_as_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    never = {"a": float("nan"), "b": [float("inf"), {"c": -float("inf")}], "d": (1.5, None)}
    print_json({**never, "e": Decimal("12"), "f": Decimal("1.50"), "g": Path("x")})
    text = capsys.readouterr().out
    assert json.loads(text) == {"a": None, "b": [None, {"c": None}], "d": [1.5, None], "e": 12, "f": 1.5, "g": "x"}
    assert "NaN" not in text and "Infinity" not in text
