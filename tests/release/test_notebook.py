"""notebooks/use_a_release: what it shows is what comes out."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import jupytext
import nbformat
import pytest

from tests.once import demo_folder

REMADE = "it shows what came out before: if that is meant, make it anew with: python notebooks/execute.py"


@pytest.fixture
def notebooks(project):
    return project / "notebooks"


def cells(notebook):
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def test_the_page_shows_the_code_beside_it_and_ran_to_its_end(notebooks):
    shown = nbformat.read(notebooks / "use_a_release.ipynb", as_version=4)
    assert cells(shown) == cells(jupytext.read(notebooks / "use_a_release.py")), REMADE
    code = [cell for cell in shown.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert {(output.output_type, output.name) for output in outputs} == {("stream", "stdout")}
    assert len(outputs) == len(code)


def test_the_page_is_small_and_says_nothing_of_a_machine(notebooks):
    text = (notebooks / "use_a_release.ipynb").read_text()
    assert len(text) < 40_000
    assert not re.search(r"/(home|root|tmp|usr|work|Users|var)/|[A-Z]:\\\\|127\.0\.0\.1|localhost", text)


@pytest.mark.full
def test_the_outputs_are_those_of_the_release_that_a_demo_makes_now(notebooks, tmp_path, tmp_path_factory):
    release = demo_folder(tmp_path_factory) / "out" / "release"
    made = tmp_path / "made.ipynb"
    ended = subprocess.run(
        [sys.executable, "-W", "error", notebooks / "execute.py", release, made],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path / "cache")},
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    # Told first and alone: a comparison of the texts is long, and nobody would find the remedy below it.
    if made.read_text() != (notebooks / "use_a_release.ipynb").read_text():
        pytest.fail(REMADE)
