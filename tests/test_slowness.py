"""No test fails because the machine is slow: what the fixtures of the suite promise."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SPEED = {"too_slow", "data_too_large", "large_base_example"}

SUITE = """\
import pytest
from hypothesis import given, settings, strategies as st
from patience import PATIENCE_S

@settings(database=None)
@given(st.integers(), st.text())
def test_draws(number, text):
    print("drawn", number, ascii(text))

@pytest.mark.timeout(30)
def test_its_own_timeout(request):
    print("timeout", request.node.get_closest_marker("timeout").args[0], PATIENCE_S)
"""


def test_one_profile_has_no_deadline_and_no_check_of_speed(project: Path) -> None:
    assert settings.default is not None and settings.default.deadline is None and settings.default.print_blob
    assert {check.name for check in settings.default.suppress_health_check} == SPEED
    for path in sorted((project / "tests").rglob("*.py")):
        if path.name in ("conftest.py", Path(__file__).name):
            continue
        text = path.read_text()
        if "deadline" not in text and HealthCheck.__name__ not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and "settings" in ast.unparse(node.func).split("."):
                assert "deadline" not in [keyword.arg for keyword in node.keywords], f"{path}:{node.lineno}"
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == HealthCheck.__name__:
                assert node.attr not in SPEED, f"{path}:{node.lineno}"


@pytest.mark.full
def test_the_seed_is_told_and_repeats_the_examples_and_patience_is_pytests_own_timeout(
    project: Path, tmp_path: Path
) -> None:
    first, second = said(project, tmp_path), said(project, tmp_path, "--timeout", "1200")
    seed = re.search(r"repeat them with (--hypothesis-seed=\d+)", first)
    assert seed is not None and drawn(first) and drawn(first) != drawn(second)
    # A worker draws by the seed that is told, and knows the timeout.
    worker = said(project, tmp_path, seed[1], "-n1", PYTEST_TIMEOUT="60")
    assert drawn(worker) == drawn(first)
    assert "timeout 30 120.0" in first
    assert "timeout 300.0 1200.0" in second
    assert "timeout 15.0 60.0" in worker
    assert "timeout 0.0 86400.0" in said(project, tmp_path, "--timeout", "0")


def said(project: Path, folder: Path, *words: str, **environment: str | None) -> str:
    """What pytest says of the small suite under the fixtures of the large one."""
    tests = folder / "tests"
    if not tests.exists():
        tests.mkdir(parents=True)
        for name in ("conftest.py", "patience.py"):
            shutil.copy(project / "tests" / name, tests)
        (tests / "test_suite.py").write_text(SUITE)
        (folder / "pytest.ini").write_text("[pytest]\ntimeout = 120\n")
    # Under `CI`, Hypothesis would draw the same examples in each run.
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {"CI": "true"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rP", "-p", "no:cacheprovider", *words, "tests"],
        cwd=folder,
        env=given | {name: value for name, value in environment.items() if value is not None},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def drawn(text: str) -> list[str]:
    return re.findall(r"^drawn .*$", text, re.MULTILINE)
