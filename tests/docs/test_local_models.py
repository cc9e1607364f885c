"""docs/local-models.md: each command line of ours makes the run that the page promises, free and without a key."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from hazardmill.cli.run.config import new_config
from hazardmill.cli.run.options import generation_options
from hazardmill.llm.charged_prices import ON_THIS_MACHINE, prices_used
from hazardmill.llm.prices import Prices
from hazardmill.runs.config import RunConfig
from hazardmill.runs.recipes.reading import read_recipe

PAGE = (Path(__file__).parents[2] / "docs" / "local-models.md").read_text()
COMMANDS = [
    text.replace("\\\n", " ") for text in re.findall(r"^    hazardmill run generate ((?:.*\\\n)*.*)$", PAGE, re.M)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_on_this_machine_costs_nothing(command: str) -> None:
    found: list[RunConfig] = []

    @click.command()
    @generation_options
    def generate(sources: Any, inputs: Any, wheres: Any, limits: Any, replay: Any, **given: Any) -> None:
        found.append(new_config(sources, inputs, wheres, limits, replay, given))

    generate.main(shlex.split(command), standalone_mode=False)
    used = prices_used(found[0], Prices.load())
    assert {price["origin"] for price in used.values()} == {ON_THIS_MACHINE}
    assert list(used) == [found[0].models.author]


def test_the_page_has_a_command_for_each_server_and_a_recipe(tmp_path: Path) -> None:
    assert len(COMMANDS) == len(re.findall(r"^\| [\w.]+ \| (?:yes|no): ", PAGE, re.M)) == 4
    (recipe,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
    (tmp_path / "recipe.yaml").write_text(recipe)
    (tmp_path / "neiss2019.tsv").touch()
    assert read_recipe(tmp_path / "recipe.yaml").api_base == "http://127.0.0.1:8080/v1"
