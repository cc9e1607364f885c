from __future__ import annotations

from pathlib import Path

import click
import pytest

from hazardmill.commands.options import facts, named_values

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
    assert named_values(values, NAMES, "--limit") == expected


def test_a_name_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="alfred is not among the sources asked for"):
        named_values(("alfred=3",), NAMES, "--limit")


def test_a_file_with_an_equals_sign_in_its_name_is_a_file(empty_folder: Path) -> None:
    (empty_folder / "year=2019").touch()
    assert named_values(("year=2019",), ("neiss",), "--input") == {"neiss": "year=2019"}


def test_facts_are_names_and_values() -> None:
    assert facts(("a=1", "b=x=y", "c=")) == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(click.BadParameter, match="'burn' is not NAME=VALUE"):
        facts(("burn",))
