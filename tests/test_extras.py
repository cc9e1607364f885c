"""The base install is light, and whoever asks it for more is told which extra to install."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from release.small_release import soups

import hazardmill
from hazardmill.cli.main import hazardmill as command
from hazardmill.errors import ExtraMissing
from hazardmill.extras import EXTRAS, require_mill
from hazardmill.quality.text import Texts
from hazardmill.reporting.svg.drawing import draw
from hazardmill.reporting.table import Grid
from hazardmill.statistics.proportion import wilson_interval

HEAVY = {"datasketch", "litellm", "matplotlib", "openpyxl", "pandas", "prefect", "scipy", "statsmodels"}
"""What only extras bring, and what takes long to import."""

TASK = """
class Serve(hazardmill.PlanningTask):
    realised_by = "carry"
    def build(self):
        done, slowly = self.fluent("done"), self.fluent("slowly")
        carry = self.action("carry").sets(done)
        self.action("slow_down").sets(slowly)
        self.goal(done)
        self.danger(carry, when=~slowly, cause=slowly)
task = hazardmill.Task(Serve)
"""


def loaded_after(code: str) -> set[str]:
    """The top-level modules of a fresh interpreter after some code."""
    program = f"import hazardmill\n{code}\nimport json, sys; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize(
    ("code", "more"),
    [
        ("", {"numpy", "pyarrow", "duckdb", "pydantic", "click", "rich"}),
        (TASK + "assert not task.verdict('(carry)').safe", {"numpy", "pyarrow", "duckdb", "pydantic", "click"}),
        ("hazardmill.load_release, hazardmill.load_task", {"duckdb", "click", "jinja2", "httpx"}),
    ],
    ids=["the package", "a verdict", "the names"],
)
def test_nothing_heavy_is_imported_before_it_is_asked_for(code: str, more: set[str]) -> None:
    assert not loaded_after(code) & (HEAVY | more)


def test_releases_are_read_and_tasks_are_proved_without_any_extra(tmp_path: Path) -> None:
    code = f"""{TASK}
release = hazardmill.load_release({str(soups(tmp_path / "release"))!r})
for one in release:
    assert one.verdict(one.safe_plan).safe and release.task(one.task_id).task_id == one.task_id
assert task.solve(engine="exact").safe.plan == "(slow_down) (carry)"
assert task.certify().document_hash and task.repair("(carry)").plan and task.to_pddl()
assert "safe" in task.verdict("(carry)")._repr_html_() and task._repr_html_()
"""
    assert not loaded_after(code) & (HEAVY | {"duckdb", "jinja2", "click"})


def test_every_extra_of_the_package_is_listed(project: Path) -> None:
    known = tomllib.loads((project / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [extra.name for extra in EXTRAS] == list(known)


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a module look as though it were not installed."""
    find = importlib.util.find_spec

    def lack(name: str) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda asked, *more: None if asked == name else find(asked))
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]

    return lack


@pytest.mark.parametrize(
    ("words", "subject"),
    [
        (["demo"], "the demo"),
        (["report", "--store", "store"], "a report"),
        (["run", "generate", "--source", "neiss", "--input", "{sample}", "--model", "recorded"], "a run"),
    ],
    ids=["demo", "report", "run generate"],
)
def test_demo_run_and_report_name_the_extra_before_anything_is_written(
    words: list[str],
    subject: str,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lacking: Callable[[str], None],
) -> None:
    lacking("matplotlib")
    monkeypatch.chdir(tmp_path)
    sample = str(project / "sources" / "neiss" / "sample")
    ended = CliRunner().invoke(command, [word.format(sample=sample) for word in words])
    assert isinstance(ended.exception, ExtraMissing) and ended.exception.exit_code == 2
    assert str(ended.exception) == (
        f"{subject} needs matplotlib, which is not installed [pip install 'hazardmill[mill]']"
    )
    assert list(tmp_path.iterdir()) == []


def test_generate_names_it_too(project: Path, tmp_path: Path, lacking: Callable[[str], None]) -> None:
    lacking("datasketch")
    sample = project / "sources" / "neiss" / "sample"
    with pytest.raises(ExtraMissing, match="a run needs datasketch"):
        hazardmill.generate({"neiss": sample}, model="recorded", store=tmp_path / "store")


def draw_one() -> object:
    return draw("n", "t", "a", 1, lambda axes: None, grid=Grid(title="t", head=(), rows=()))


@pytest.mark.parametrize(
    ("module", "use"),
    [
        ("matplotlib", draw_one),
        ("datasketch", Texts),
        ("statsmodels.stats.proportion", lambda: wilson_interval(1, 2)),
    ],
    ids=["figures", "near-duplicates", "intervals"],
)
def test_what_needs_the_package_says_so_wherever_it_is_used(
    module: str, use: Callable[[], Any], lacking: Callable[[str], None]
) -> None:
    lacking(module)
    with pytest.raises(ExtraMissing) as found:
        use()
    assert found.value.remedy == "pip install 'hazardmill[mill]'"


def test_nothing_is_refused_where_all_is_installed() -> None:
    require_mill("a run")
