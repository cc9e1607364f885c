"""``hazardmill evaluate stats``: what it prints, and how it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hazardmill.cli.evaluate.stats import stats
from hazardmill.errors import InputError, UsageError

TABLE = """model,total_params_b,feasibility,safety,safety_intention
tiny,1,5.0,2.0,41.0
small,8,20.5,9.0,44.0
mid,70,38.0,16.5,47.5
mid-thinking,70,55.0,30.0,56.0
large,400,61.0,33.0,52.0
closed,,90.0,66.0,70.0
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    file = tmp_path / "models.csv"
    file.write_text(TABLE)
    return file


def run(*words: object) -> Result:
    return CliRunner().invoke(stats, [str(word) for word in words])


def test_a_table_of_models_is_enough(models: Path) -> None:
    ended = run(models, "--pair", "mid-thinking=mid")
    assert ended.exit_code == 0, ended.output
    for words in (
        "Rates of the models, per cent",
        "slope, points per decade",
        "mean absolute difference, points",
        "coefficient of variation",
        "mid-thinking against mid",
        "+17.0 points",
        "+44.7 %",
    ):
        assert words in ended.output


def test_json_has_a_version_and_nulls(models: Path) -> None:
    ended = run(models, "--json", "--seed", "3")
    found = json.loads(ended.output)
    assert (found["format"], found["seed"], found["of_tasks"]) == ("hazardmill-statistics/1", 3, None)
    assert found["models"][-1]["parameters_b"] is None
    assert found["scaling"]["rates"]["feasibility"]["line"]["n"] == 5
    # No model says its safety precision.
    assert found["scaling"]["rates"]["safety_precision"]["line"]["slope"] is None
    assert found["thinking"] == {"pairs": [], "mean": {}}
    assert run(models, "--json", "--seed", "3").output == ended.output


def test_parameters_may_come_from_elsewhere(models: Path, tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.csv"
    sizes.write_text("model,total_params_b\nclosed,900\n")
    found = json.loads(run(models, "--models", sizes, "--json").output)
    assert found["scaling"]["rates"]["safety"]["line"]["n"] == 6


def test_a_bad_table_is_bad_input(models: Path) -> None:
    models.write_text(TABLE.replace("38.0", "380"))
    ended = run(models)
    assert isinstance(ended.exception, InputError) and ended.exception.exit_code == 3
    assert f"{models}:4: column feasibility: '380'" in str(ended.exception)


def test_a_pair_of_strangers_is_wrong_usage(models: Path) -> None:
    ended = run(models, "--pair", "mid=huge")
    assert isinstance(ended.exception, UsageError)
    assert "large, mid, mid-thinking" in str(ended.exception)


def test_a_file_that_is_not_there_is_named(models: Path) -> None:
    ended = run(models.parent / "none.csv")
    assert isinstance(ended.exception, InputError) and ended.exception.exit_code == 3
    assert "none.csv" in str(ended.exception)


def test_a_table_of_sizes_that_is_not_there_is_named_like_any_other_input(models: Path) -> None:
    ended = run(models, "--models", models.parent / "none.csv")
    assert isinstance(ended.exception, InputError) and "none.csv" in str(ended.exception)


def test_notes_and_names_cannot_steer_the_terminal(models: Path) -> None:
    models.write_text("odd," + TABLE.replace("\n", "\n,").rstrip(",").replace("tiny", "ti\x1b[31mny"))
    ended = run(models)
    assert ended.exit_code == 0, ended.output
    assert "\x1b" not in ended.output and "ti\\x1b[31mny" in ended.output
    assert "note: columns that were ignored: odd" in ended.output


def test_without_the_extra_it_says_what_to_install(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("hazardmill.evaluation.stats")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "scipy", None)
    ended = run(models)
    assert isinstance(ended.exception, UsageError)
    assert "scipy" in str(ended.exception) and "hazardmill[evaluation]" in str(ended.exception)


def test_the_command_is_imported_without_its_libraries() -> None:
    code = (
        "import sys, hazardmill.cli.evaluate.stats; "
        "print(sorted({'scipy', 'statsmodels', 'pandas', 'pyarrow', 'numpy'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
