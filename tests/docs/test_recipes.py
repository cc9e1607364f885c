"""docs/recipes.md: its recipe runs as it stands, its commands do what the page says, and its keys are all there are."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hazardmill.cli.main import hazardmill
from hazardmill.run_options import run_options
from hazardmill.runs.recipes.reading import read_recipe
from hazardmill.runs.recipes.recipe import Recipe
from hazardmill.settings import NO_SETTINGS, PREFIX, Settings
from hazardmill.store.store import Store

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text()
(RECIPE,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture(autouse=True)
def folder(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the page describes, and no settings but the defaults and the weaker jail: the author is ours."""
    for variable in [name for name in os.environ if name.upper().startswith(PREFIX) and name not in NO_SETTINGS]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HAZARDMILL_JAIL", "minimal")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    shutil.copy(project / "sources" / "neiss" / "sample" / "sample.tsv", tmp_path / "data" / "sample.tsv")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(hazardmill, words)


@pytest.mark.full
def test_the_commands_of_the_page_do_what_it_says() -> None:
    commands = re.findall(r"^hazardmill (.*)$", PAGE, re.M)
    assert len(commands) == 3
    generate, export, again = (command.split() for command in commands)
    assert "run: 3 records" in re.sub(r"run generate-\S+:", "run:", (first := call(*generate)).stderr), first.output
    (run_id,) = {row["run_id"] for row in Store.open("generated/store").rows("runs")}
    assert f"run {run_id} of recipe.yaml is complete" in call(*generate).stderr
    Path(export[-1]).write_text(call("run", "export", run_id).stdout)
    assert export[:3] == ["run", "export", "RUN"] and call(*again).exit_code == 0
    (other,) = {row["run_id"] for row in Store.open("another/store").rows("runs")}
    assert Store.open("another/store").digest(other) == Store.open("generated/store").digest(run_id)


def test_what_is_commented_out_holds_too(folder: Path) -> None:
    (folder / "my-prompts").mkdir()
    lines = [re.sub(r"^# (api_base|prices|  all|prompts)", r"\1", line) for line in RECIPE.splitlines()]
    (folder / "recipe.yaml").write_text("\n".join(lines).replace("offline-author", "openai/gpt-5-mini"))
    found = read_recipe(folder / "recipe.yaml")
    assert found.prices["all"].output == 2 and found.prompts == folder / "my-prompts"
    assert found.api_base == "http://127.0.0.1:8000/v1"


def test_the_mistake_of_the_page_is_told_so(folder: Path) -> None:
    (folder / "recipe.yaml").write_text("sources:\n  - source: neiss\n    limit: 3\nmodle: offline-author\n")
    ended = call("run", "generate", "recipe.yaml")
    assert f"error: {ended.exception}" in PAGE


def test_the_page_names_every_key_that_is_no_setting() -> None:
    for name in Recipe.model_fields.keys() - Settings.model_fields.keys():
        assert f"`{name}`" in PAGE, name
    assert {name for name, _, _ in run_options(Recipe)} - Settings.model_fields.keys() == {"sample", "recordings"}
