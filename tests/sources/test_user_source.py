"""The suite on a source of the user's own: the one of docs/adding-a-source.md, whole, and with one thing broken."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hazardmill.testing.cases import lay_out

PAGE = """# Recipes

| | |
| --- | --- |
| Origin | written for a test |
| Licence | CC0-1.0 |
| Citation | none |
| Address | unknown |
| Size | 22 recipes |
| SHA-256 | unknown |

Refused are `recipe`, `encoding` and `nul_byte`.
"""

# No name here holds this word, so that the suite inside does not start itself again.
SELECTED = "recipes"

# What has tests of every source that is there; the page says tests/sources, and the others are left out by the name.
SUITE = [f"tests/sources/test_{name}.py" for name in ("conformance", "odd_files", "refusals")]

# What is broken in the second one: where and how, and the tests that must fail for it.
BROKEN: dict[str, tuple[str, str, str, set[str]]] = {
    "another licence": (
        "source.py",
        "licence=self.licence",
        'licence="all rights reserved"',
        {"labelled", "test_ingesting_the_sample_again_changes_nothing"},
    ),
    "a reason left out": (
        "SOURCE.md",
        "`nul_byte`",
        "binary files",
        {"has_cases"},
    ),
    "read all at once": (
        "source.py",
        "for line in read_lines(file.path):",
        "for line in list(read_lines(file.path)):",
        {"streams", "test_a_file_that_changes_while_it_is_read_is_told"},
    ),
    "a wrong case": (
        "cases.py",
        '("recipe",), ("no steps",)',
        '("encoding",), ("no steps",)',
        {"keeps_cases", "test_refuses_with_reason_place_and_remedy"},
    ),
    "files without their block": (
        "SOURCE.md",
        "# Recipes\n",
        "# Recipes\n\n## Files\n\nNone.\n\n## Table\n",
        {"documented"},
    ),
}


@pytest.fixture(scope="module")
def suite(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, list[str]]]:
    """What the suite said of each source: outcome to the tests."""
    home = tmp_path_factory.mktemp("own")
    page = (project / "docs" / "adding-a-source.md").read_text(encoding="utf-8")
    source, cases = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    files = {"source.py": source, "cases.py": cases, "SOURCE.md": PAGE}
    add(home / "recipes_whole", files)
    for place, old, new, _ in BROKEN.values():
        assert old in files[place]
        files[place] = files[place].replace(old, new)
    add(home / "recipes_broken", files)
    report = home.parent / "report.xml"
    command = [sys.executable, "-m", "pytest", *SUITE, "-k", SELECTED, "-q", "-p", "no:cacheprovider"]
    # Without a folder of its own it ends by removing what earlier runs left in the folder of all: minutes, once.
    done = subprocess.run(
        [*command, f"--junitxml={report}", f"--basetemp={home.parent / 'inside'}"],
        cwd=project,
        env={**os.environ, "HAZARDMILL_SOURCES": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    cases_run = ElementTree.parse(report).iter("testcase")
    outcomes = [
        (case.attrib["name"], "passed" if case.find("failure") is None and case.find("error") is None else "failed")
        for case in cases_run
    ]

    def of(name: str) -> dict[str, list[str]]:
        mine = [(test, outcome) for test, outcome in outcomes if re.search(rf"\[{name}[]-]", test)]
        return {kind: [test for test, outcome in mine if outcome == kind] for kind in ("passed", "failed")}

    return of


def name_of(test: str) -> str:
    """The name of a test, or of the requirement that it examines."""
    name, _, case = test.partition("[")
    return case.rstrip("]").partition("-")[2] if name == "test_keeps_what_is_required_of_every_source" else name


def add(folder: Path, files: dict[str, str]) -> None:
    """A source folder of these files, called as its folder is, with a sample."""
    named = {**files, "source.py": files["source.py"].replace('name = "recipes"', f'name = "{folder.name}"')}
    lay_out(folder, {name: text.encode() for name, text in named.items()} | {"sample/recipes.jsonl": sample()})


def sample() -> bytes:
    """22 good recipes; then no steps, a byte that is no UTF-8, and an id used before."""
    recipes = [{"id": number, "dish": f"dish {number}", "steps": ["take", "eat"]} for number in range(1, 23)]
    bad = [b'{"id": 23, "dish": "air", "steps": []}', b"\xe9", b'{"id": 1, "dish": "another", "steps": ["wait"]}']
    return b"\n".join([*(json.dumps(recipe).encode() for recipe in recipes), *bad]) + b"\n"


def test_the_source_of_the_page_passes_with_all_its_cases(suite: Callable[[str], dict[str, list[str]]]) -> None:
    said = suite("recipes_whole")
    assert said["failed"] == []
    for case in ("no steps", "empty steps", "not UTF-8", "NUL"):
        assert f"test_refuses_with_reason_place_and_remedy[recipes_whole-{case}]" in said["passed"]
    assert "test_accepts_with_warning[recipes_whole-a recipe]" in said["passed"]
    assert "test_no_bytes_make_it_raise[recipes_whole]" in said["passed"]
    assert len(said["passed"]) >= 20


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_found(suite: Callable[[str], dict[str, list[str]]], what: str) -> None:
    failed = {name_of(test) for test in suite("recipes_broken")["failed"]}
    assert BROKEN[what][3] <= failed


def test_what_is_whole_in_a_broken_one_passes(suite: Callable[[str], dict[str, list[str]]]) -> None:
    said = suite("recipes_broken")
    failed = {name_of(test) for test in said["failed"]}
    assert failed == set().union(*(tests for *_, tests in BROKEN.values()))
    assert len(said["passed"]) >= 15
