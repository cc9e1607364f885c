from __future__ import annotations

import pytest
from pydantic import ValidationError

from hazardmill.release.build.options import Options


@pytest.mark.parametrize("version", ["1.0.0", "0.0.1", "10.20.30"])
def test_a_version_is_three_numbers(version: str) -> None:
    assert Options(version=version).version == version


@pytest.mark.parametrize(
    "version", ["1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "1.0.0\n", "1.0.0.0", "", "1.0.x", "٣.0.0"]
)
def test_anything_else_is_refused(version: str) -> None:
    with pytest.raises(ValidationError, match=r"a version is X\.Y\.Z"):
        Options(version=version)


@pytest.mark.parametrize("name", ["Hazards", "a b", "../x", "-a", "a-", "", "a" * 63])
def test_a_name_can_be_that_of_a_repository(name: str) -> None:
    with pytest.raises(ValidationError, match="a name has at most 62 lower-case letters"):
        Options(version="1.0.0", name=name)


def test_only_figures_of_the_corpus_can_be_waived_and_with_a_reason() -> None:
    assert Options(version="1.0.0", waive={"corpus": "a pilot"}).waive == {"corpus": "a pilot"}
    with pytest.raises(ValidationError, match="the gate 'revalidation' cannot be waived; only: corpus"):
        Options(version="1.0.0", waive={"revalidation": "in a hurry"})
    for reason in ("", "  ", "two\nlines", "x" * 501):
        with pytest.raises(ValidationError, match="give a reason in one line"):
            Options(version="1.0.0", waive={"corpus": reason})


def test_the_order_in_which_things_are_named_means_nothing() -> None:
    one = Options(version="1.0.0", runs=("b", "a", "b"), local_models=("y", "x"))
    assert one == Options(version="1.0.0", runs=("a", "b"), local_models=("x", "y"))
