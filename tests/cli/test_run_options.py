"""An option of a run is declared once: command line, settings and flows follow from its field."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field

from hazardmill.cli.run.estimate import estimate
from hazardmill.cli.run.generate import generate
from hazardmill.cli.run.resume import resume
from hazardmill.cli.run_options import apply, options_from, read_given
from hazardmill.run_options import ModelOptions, OptionGroup, RunOption, describe_default, run_options
from hazardmill.runs.config import RunConfig


class Toy(BaseModel):
    """A declaration of each kind."""

    names: Annotated[tuple[str, ...], Field(description="Names."), RunOption("--name", "NAME", unset="none")] = ()
    share: Annotated[float, Field(ge=0, le=1, description="A share."), RunOption()] = 0.5
    seconds: Annotated[float | None, Field(gt=0, description="Seconds."), RunOption(unset="no limit")] = None
    form: Annotated[Literal["a", "b"], Field(description="A form."), RunOption(in_flows=False)] = "a"
    strict: Annotated[bool, Field(description="Strict."), RunOption(alters_result=False)] = False
    budget_usd: Annotated[float | None, Field(description="Money."), RunOption(metavar="USD|none")] = None
    inner: int = 3


def invoke(*arguments: str) -> tuple[int, str, dict[str, object]]:
    seen: dict[str, object] = {}

    def command(**given: object) -> None:
        seen.update(read_given(given))

    result = CliRunner().invoke(click.command()(apply(options_from(Toy, "inner"), command)), arguments)
    return result.exit_code, result.output, seen


def test_fields_without_a_mark_are_no_options() -> None:
    assert [name for name, _, _ in run_options(Toy)] == ["names", "share", "seconds", "form", "strict", "budget_usd"]


def test_values_are_read_by_the_type_of_the_field() -> None:
    given = ("--name", "x", "--name", "y", "--share", "1", "--seconds", "2.5", "--form", "b", "--strict")
    assert invoke(*given)[2] == {"names": ("x", "y"), "share": 1.0, "seconds": 2.5, "form": "b", "strict": True}
    assert invoke()[2] == {}
    assert invoke("--no-strict", "--budget-usd", "none")[2] == {"strict": False, "budget_usd": None}


@pytest.mark.parametrize(
    "wrong", [("--share", "1.1"), ("--share", "nan"), ("--seconds", "0"), ("--form", "c"), ("--budget-usd", "0")]
)
def test_bounds_of_the_field_hold(wrong: tuple[str, str]) -> None:
    assert invoke(*wrong)[0] == 2


def test_help_says_description_and_default() -> None:
    words = " ".join(invoke("--help")[1].split())
    assert "--name NAME Names. [default: none] [may be repeated]" in words
    assert "A share. [default: 0.5] [0<=x<=1]" in words
    assert "Seconds. [default: no limit] [x>0]" in words


def test_defaults_are_written_for_people() -> None:
    found = {name: describe_default(field, option) for name, field, option in run_options(Toy)}
    assert found["share"] == "0.5"
    assert found["strict"] == "no"
    assert found["budget_usd"] is None


@pytest.mark.parametrize("command", [generate, estimate, resume])
def test_the_help_of_a_run_lists_its_options_in_groups(command: click.Command) -> None:
    groups: dict[str, str] = dict(
        re.findall(r"^(\w[\w ]*):\n((?: .*\n|\n(?= ))*)", command.get_help(click.Context(command)), re.M)
    )
    listed = {heading: re.findall(r"^  (--[a-z-]+)", text, re.M) for heading, text in groups.items()}
    assert list(listed) == [*get_args(OptionGroup), "Options"]
    for model in (ModelOptions, RunConfig):
        for name, _, option in run_options(model):
            assert option.group is not None and option.flag_of(name) in listed[option.group], name
    assert "--limit" in listed["Records"]
    assert "--store" in listed["Options"] and "--json" in listed["Options"]
