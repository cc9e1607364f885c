"""What is wrong in a recipe is told with file, line, reason and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.errors import InputError
from hazardmill.run_options import GivenPrice
from hazardmill.runs.recipes.reading import read_recipe
from hazardmill.runs.recipes.recipe import RecipeSource

SOURCES = "sources:\n  - source: neiss\n"

WRONG: dict[str, tuple[str, int, str, str]] = {
    # Text of the recipe; then line, reason and remedy.
    "empty": ("", 1, "the recipe is empty", "begin with: sources:"),
    "only a comment": ("# later\n", 1, "the recipe is empty", "begin with: sources:"),
    "not YAML": ("sources:\n  - source: neiss\n model: x: y\n", 3, "the recipe is not YAML", "indent with spaces"),
    "a list": ("\n- source: neiss\n", 2, "the recipe is not a mapping", "begin with: sources:"),
    "a key twice": (f"{SOURCES}model: a\nmodel: b\n", 4, "the recipe has the key 'model' twice", "remove one"),
    "unknown key": (f"{SOURCES}\nmodle: a\n", 4, "the recipe has the unknown key 'modle'", "did you mean model?"),
    "unknown key of a source": (
        f"{SOURCES}    limits: 3\n",
        3,
        "sources[1] has the unknown key 'limits'",
        "did you mean limit?",
    ),
    "an option as on the command line": (
        f"{SOURCES}deadline: 9\n",
        3,
        "the recipe has the unknown key 'deadline'",
        "did you mean deadline_s?",
    ),
    "a secret": (f"{SOURCES}api_key: sk-1\n", 3, "the recipe has the unknown key 'api_key'", "in the environment"),
    "no sources": ("model: a\n", 1, "the recipe has no sources", "begin with: sources:"),
    "empty sources": ("model: a\nsources: []\n", 2, "sources is empty", "begin with: sources:"),
    "a source without a name": ("sources:\n  - limit: 3\n", 2, "sources[1] has no source", "add source: Name of"),
    "wrong type": (
        f"{SOURCES}  - source: bddl\n    limit: many\n",
        4,
        "sources[2].limit: Input should be a valid integer",
        "sources[2].limit is: Maximum number of records to take",
    ),
    "out of bounds": (
        f"concurrency: 0\n{SOURCES}",
        1,
        "concurrency: Input should be greater than or equal to 1",
        "concurrency is: Maximum number of records or tasks",
    ),
    "no choice": (f"{SOURCES}kind: hazard_task\n", 3, "kind: Input should be 'task', 'mal' or 'sit'", "kind is: What"),
    "missing input": (
        f"{SOURCES}    input: no/where.tsv\n",
        3,
        "sources[1].input: nothing is at {folder}/no/where.tsv",
        "relative to the folder of the recipe",
    ),
    "missing folder of prompts": (
        f"{SOURCES}prompts: mine\n",
        3,
        "prompts: nothing is at {folder}/mine",
        "correct the",
    ),
    "unknown source": (
        "model: a\nsources:\n  - source: neis\n",
        3,
        "sources[1].source: there is no source 'neis'",
        "did you mean neiss?",
    ),
    "unknown fact": (
        f"{SOURCES}    where:\n      sexx: f\n",
        4,
        "sources[1].where: source neiss has no fact sexx",
        "did you mean sex?",
    ),
    "both of two exclusive keys": (
        f"exchange: answers\n{SOURCES}batch: true\n",
        4,
        "batch and exchange cannot be combined: requests travel in provider batches or by an exchange folder",
        "leave out batch or exchange",
    ),
    "negative price": (
        f"{SOURCES}prices:\n  openai/mine:\n    input: 1\n    output: -2\n",
        6,
        "prices.openai/mine.output: Input should be greater than or equal to 0",
        "prices.openai/mine.output is: USD per million",
    ),
    "half a price": (
        f"{SOURCES}prices:\n  all:\n    input: 1\n",
        5,
        "prices.all has no output",
        "add output: USD per million tokens of answers",
    ),
    "a price of another shape": (
        f"{SOURCES}prices:\n  all: {{in: 1, input: 1, output: 2}}\n",
        4,
        "prices.all has the unknown key 'in'",
        "did you mean input?",
    ),
    "no shard": (f"{SOURCES}shard: 9/8\n", 3, "shard: '9/8' is not a shard", "shard is: Only the Kth"),
    "a key in an address": (
        f"{SOURCES}api_base: https://me:hunter2@x.org\n",
        3,
        "api_base: the address of the API contains a user name or password",
        "put the key in the provider's environment variable",
    ),
    "no address": (f"{SOURCES}api_base: here\n", 3, "api_base: 'here' is not the address of an API", "give it with"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_line_reason_and_remedy(name: str, tmp_path: Path) -> None:
    text, line, reason, remedy = WRONG[name]
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_recipe(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert caught.value.message.startswith(reason.format(folder=tmp_path))
    assert remedy in (caught.value.remedy or "")
    assert "hunter2" not in str(caught.value) and "sk-1" not in str(caught.value)


def test_the_first_mistake_of_a_file_is_told_first(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("modle: a\nconcurrency: 0\nsources:\n  - source: neis\n    limit: 0\n")
    lines = []
    for mended in (
        ("modle", "model"),
        ("concurrency: 0", "concurrency: 1"),
        ("limit: 0", "limit: 1"),
        ("neis", "neiss"),
    ):
        with pytest.raises(InputError) as caught:
            read_recipe(path)
        lines.append(caught.value.line)
        path.write_text(path.read_text().replace(*mended))
    assert lines == [1, 2, 5, 4] and read_recipe(path).model == "a"


@pytest.mark.parametrize("place", ["missing.yaml", "."])
def test_a_recipe_that_cannot_be_read_is_told(place: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the recipe cannot be read") as caught:
        read_recipe(tmp_path / place)
    assert caught.value.remedy is not None and "--source" in caught.value.remedy


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"sources: 2026-99-99\n", b"a: &a [*a, *b]\n"])
def test_bytes_that_are_no_yaml_are_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match="the recipe is not YAML"):
        read_recipe(path)


def test_paths_are_relative_to_the_folder_of_the_recipe_and_facts_stay_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "sub" / "recipe.yaml").write_text(
        "sources:\n  - source: neiss\n    input: ../data\n    where: {sex: 007, fire: no}\n"
        "replay: ../store\nprices: {all: {input: 0, output: 1.5}}\n"
    )
    monkeypatch.chdir(tmp_path)
    recipe = read_recipe(Path("sub") / "recipe.yaml")
    wanted = RecipeSource(source="neiss", input=tmp_path / "data", where={"sex": "007", "fire": "no"})
    assert recipe.sources == (wanted,)
    assert recipe.replayed == str(tmp_path / "store")
    assert recipe.prices == {"all": GivenPrice(input=0, output=1.5)}
