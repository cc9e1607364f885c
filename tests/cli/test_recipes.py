"""A recipe: read, overridden by options, resumed by the same command, and exported from a run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from hazardmill.cli.run.config import new_config
from hazardmill.cli.run.options import generation_options
from hazardmill.errors import UsageError
from hazardmill.generation.context import Prompts
from hazardmill.run_options import GivenPrice
from hazardmill.runs.config import ActingConfig, RunConfig, RunInput
from hazardmill.runs.recipes.exporting import export_recipe
from hazardmill.runs.recipes.repeating import find_runs
from hazardmill.runs.reproducibility import (
    ReproducibilityInfo,
    config_changes,
    prompts_used,
    reproducibility_changes,
)
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.cli.conftest import Hazardmill

RECIPE = """\
sources:
  - source: neiss
    input: data/sample.tsv
    limit: 2
  - source: bddl
    where: {sex: 1}
shard: 1/3
model: openai/gpt-4o
api_base: http://127.0.0.1:1/v1
prices: {all: {input: 1, output: 2}}
budget_usd: 3
budget_id: mine
sample: 7
attempt_timeout: 900
"""


@pytest.fixture
def recipe(tmp_path: Path, neiss: Path) -> Path:
    """A recipe in a folder of its own, beside its data."""
    folder = tmp_path / "work"
    (folder / "data").mkdir(parents=True)
    shutil.copy(neiss, folder / "data" / "sample.tsv")
    path = folder / "recipe.yaml"
    path.write_text(RECIPE.replace("    where: {sex: 1}\n", ""))
    return path


def configured(*words: object) -> RunConfig:
    """What the options of a new run come to."""
    found: list[RunConfig] = []

    @click.command()
    @generation_options
    def command(sources: Any, inputs: Any, wheres: Any, limits: Any, replay: Any, **given: Any) -> None:
        found.append(new_config(sources, inputs, wheres, limits, replay, given))

    command.main([*map(str, words)], standalone_mode=False)
    return found[0]


def test_a_recipe_holds_what_options_say(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAZARDMILL_BUDGET_USD", "9")
    monkeypatch.setenv("HAZARDMILL_CONCURRENCY", "5")
    monkeypatch.setenv("HAZARDMILL_DEADLINE_S", "60")
    found = configured(recipe)
    data = recipe.parent / "data" / "sample.tsv"
    assert found.inputs == (
        RunInput(source="neiss", path=data, limit=2, shard="1/3"),
        RunInput(source="bddl", shard="1/3"),
    )
    assert found.models.author == found.models.judge == "openai/gpt-4o"
    assert (found.budget_usd, found.budget_id, found.sample) == (3.0, "mine", 7)
    assert found.prices == {"all": GivenPrice(input=1, output=2)}
    # What the recipe does not say is as the settings have it; a deadline makes room for the attempts.
    assert (found.concurrency, found.deadline_s, found.recipe) == (5, 1800, recipe)


def test_options_override_a_recipe(recipe: Path, neiss: Path) -> None:
    found = configured(
        recipe, "--source", "neiss", "--limit", "1", "--shard", "2/3", "--where", "sex=Male", "--sample", 1
    )
    assert found.inputs == (
        RunInput(
            source="neiss", path=recipe.parent / "data" / "sample.tsv", limit=1, shard="2/3", where={"sex": "Male"}
        ),
    )
    assert found.sample == 1
    changed = configured(recipe, "--input", f"neiss={neiss}", "--budget-usd", "none", "--price", "in=0,out=0")
    assert (changed.inputs[0].path, changed.inputs[1].path) == (neiss, None)
    assert (changed.budget_usd, changed.budget_id) == (None, None)
    assert changed.prices == {"all": GivenPrice(input=0, output=0)}
    # A price of one model replaces that only; a price of all models is that of all.
    several = "prices: {openai/gpt-4o: {input: 3, output: 4}, all: {input: 1, output: 2}}"
    recipe.write_text(re.sub("prices: .*", several, recipe.read_text()))
    one = configured(recipe, "--price", "openai/gpt-4o=in=5,out=6").prices
    assert one == {"openai/gpt-4o": GivenPrice(input=5, output=6), "all": GivenPrice(input=1, output=2)}
    assert configured(recipe, "--price", "in=0,out=0").prices == {"all": GivenPrice(input=0, output=0)}
    # Another model is not at the address of the recipe.
    replaced = configured(recipe, "--model", "offline-author", "--budget-usd", "none")
    assert (replaced.backend, replaced.api_base) == ("offline", None)


@pytest.mark.parametrize(
    ("said", "option", "batch", "exchange"),
    [
        ("exchange: files", ["--batch"], True, False),
        ("exchange: files", ["--no-batch"], False, True),
        ("batch: true", ["--exchange", "files"], False, True),
        ("batch: true", [], True, False),
    ],
)
def test_an_option_chooses_how_requests_travel_whatever_the_recipe_says(
    said: str, option: list[str], batch: bool, exchange: bool, tmp_path: Path
) -> None:
    path = tmp_path / "channel.yaml"
    path.write_text(f"sources: [{{source: bddl}}]\nmodel: openai/gpt-4o\n{said}\n")
    found = configured(path, *option)
    assert (found.batch, found.exchange is not None) == (batch, exchange)
    found.check()


def test_null_in_a_recipe_is_no_value_whatever_the_settings_say(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAZARDMILL_API_BASE", "http://127.0.0.1:2/v1")
    monkeypatch.setenv("HAZARDMILL_BUDGET_USD", "9")
    monkeypatch.setenv("HAZARDMILL_FALLBACK_MODELS", "openai/gpt-4o-mini")
    text = recipe.read_text()
    recipe.write_text(re.sub(r"(api_base|budget_usd): .*", r"\1: null", text).replace("budget_id: mine\n", ""))
    found = configured(recipe)
    assert (found.api_base, found.budget_usd, found.fallback_models) == (None, None, ("openai/gpt-4o-mini",))
    recipe.write_text(recipe.read_text() + "fallback_models: []\n")
    assert configured(recipe).fallback_models == ()


def test_a_run_needs_a_source_or_a_recipe_and_new_needs_a_recipe(hazardmill: Hazardmill, recipe: Path) -> None:
    ended = hazardmill("run", "generate")
    assert ended.code == 2 and "Missing option '--source', or the name of a recipe." in ended.err
    ended = hazardmill("run", "generate", "--source", "neiss", "--new")
    assert ended.code == 2 and "--new is for a recipe" in ended.err
    recipe.write_text(f"modle: x\n{RECIPE}")
    for command in ("generate", "estimate", "preview"):
        ended = hazardmill("run", command, recipe)
        assert ended.code == 3 and f"{recipe}:1: the recipe has the unknown key 'modle'" in ended.err


OFFLINE = """\
sources:
  - source: neiss
    input: data/sample.tsv
    limit: 2
model: offline-author
jail: minimal
"""


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_same_command_resumes_the_same_run_and_a_changed_one_is_another(
    hazardmill: Hazardmill, recipe: Path, tmp_path: Path
) -> None:
    recipe.write_text(OFFLINE)
    store = Store(tmp_path / "store")

    def generate(*words: object) -> str:
        ended = hazardmill("run", "generate", recipe, "--store", store.path, *words)
        assert ended.code == 0, ended.err
        return ended.err

    def runs() -> int:
        return len({row["run_id"] for row in store.rows("runs")})

    # As a process leaves it that was killed at once.
    Run.start(store, configured(recipe), "begun")
    assert "resuming run begun of recipe.yaml: 2 of 2 records are left" in generate()
    rows = store.count("runs")
    assert "run begun of recipe.yaml is complete with these inputs and options: nothing to do" in generate()
    assert (store.count("runs"), runs()) == (rows, 1)

    told = generate("--limit", "1", "--search-limit", "1000", "--run-id", "smaller")
    assert "another run: since run begun, the latest of recipe.yaml, these have changed:\n" in told
    assert "  search limit: 200000 -> 1000\n" in told and "  input 1 (neiss) limit: 2 -> 1\n" in told
    found = find_runs(store, configured(recipe, "--limit", "1", "--search-limit", "999"))
    assert found.same is None and found.latest_id == "smaller"
    assert [str(change) for change in found.changes] == ["search limit: 1000 -> 999"]
    # What was changed back is the first run again; a budget alters no result.
    back = find_runs(store, configured(recipe, "--budget-usd", "5"))
    assert back.same is not None and back.same.run_id == "begun" and back.changes == ()
    told = generate("--new", "--run-id", "again", "--limit", "1")
    assert "another run" not in told and "run again: 1 records" in told
    assert runs() == 3

    # The content of the input counts, not its name alone.
    data = recipe.parent / "data" / "sample.tsv"
    lines = data.read_text(encoding="latin-1").splitlines(keepends=True)
    data.write_text("".join([lines[0], *lines[2:]]), encoding="latin-1")
    found = find_runs(store, configured(recipe, "--limit", "1"))
    assert found.same is None and found.latest_id == "again"
    assert [str(change) for change in found.changes] == ["records: 1 -> 1 (1 new, 1 gone)"]


THREE = {
    "one": ("--source", "neiss", "--input", "{neiss}", "--limit", "1"),
    "two": (
        *("--source", "neiss", "--source", "bddl", "--input", "neiss={neiss}", "--input", "bddl={bddl}"),
        *("--limit", "1", "--search-limit", "5000", "--sample", "4"),
        *("--author-format", "document", "--wave-size", "1"),
    ),
    "three": ("--source", "neiss", "--input", "{neiss}", "--shard", "2/4", "--where", "sex=male", "--limit", "6"),
}


@pytest.mark.full
@pytest.mark.timeout(600)
def test_runs_made_again_from_their_export_have_equal_digests(
    hazardmill: Hazardmill, neiss: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"neiss": neiss, "bddl": project / "sources" / "bddl" / "sample"}
    for name, words in THREE.items():
        given = [word.format_map(places) for word in words]
        ended = hazardmill("run", "generate", *given, "--jail", "minimal", "--run-id", name, "--store", "first")
        assert ended.code == 0, ended.err
    # Settings change nothing.
    monkeypatch.setenv("HAZARDMILL_SEARCH_LIMIT", "2")
    monkeypatch.setenv("HAZARDMILL_MODEL", "recorded")
    monkeypatch.setenv("HAZARDMILL_AUTHOR_FORMAT", "document")
    first, second = Store.open("first"), Store(Path("second"))
    for name in THREE:
        exported = hazardmill("run", "export", name, "--store", "first")
        assert exported.code == 0 and exported.out.startswith(f"# As run {name} was made, with hazardmill ")
        path = tmp_path / f"{name}.yaml"
        path.write_text(exported.out)
        ended = hazardmill("run", "generate", path, "--run-id", f"{name}-again", "--store", "second")
        assert ended.code == 0, ended.err
        assert first.count("outcomes", {"run_id": name}) > 0
        assert second.digest(f"{name}-again") == first.digest(name)
    assert len({str(first.digest(name)) for name in THREE}) == len(THREE)


def test_prompts_of_ones_own_are_compared_by_their_content(recipe: Path, project: Path) -> None:
    mine = recipe.parent / "prompts"
    shutil.copytree(project / "prompts", mine)
    shipped, copied = configured(recipe), configured(recipe, "--prompts", mine)
    assert copied.prompts == mine and config_changes(shipped, copied) == []

    def used(config: RunConfig) -> ReproducibilityInfo:
        prompts = Prompts.load(config.author_format, config.kind, folder=config.prompts)
        return ReproducibilityInfo(version="1", prompts=prompts_used(prompts))

    assert used(shipped) == used(copied)
    # In another folder, because each file is read once per process.
    shutil.copytree(mine, recipe.parent / "strict")
    judge = recipe.parent / "strict" / "judge" / "task.md.j2"
    judge.write_text(judge.read_text() + "Be strict.\n")
    stricter = configured(recipe, "--prompts", recipe.parent / "strict")
    (change,) = reproducibility_changes(used(copied), used(stricter))
    assert change.name == "prompt judge/task"


def test_a_run_of_dialogues_has_no_recipe(tmp_path: Path) -> None:
    acting = ActingConfig(dialogues=1, rounds=1, novelty=0.7, map_file="map.yaml", map_text="")
    config = RunConfig(inputs=(RunInput(source="acting"),), kind="hazard_task", acting=acting)
    with pytest.raises(UsageError, match="run talk consists of dialogues") as caught:
        export_recipe(Run(Store(tmp_path / "store"), "talk", config, {}))
    assert caught.value.remedy is not None and "hazardmill run acting" in caught.value.remedy


def test_an_export_has_what_was_given_and_what_alters_results(recipe: Path, tmp_path: Path) -> None:
    config = configured(recipe, "--replay", tmp_path / "paid", "--concurrency", "3")
    text = export_recipe(Run(Store(tmp_path / "store"), "run", config, {}))
    again = tmp_path / "again.yaml"
    again.write_text(text)
    assert configured(again).model_copy(update={"recipe": recipe}) == config
    assert "concurrency: 3\n" in text and "search_limit: 200000\n" in text
    assert "wave_size" not in text and "deadline_s" not in text
