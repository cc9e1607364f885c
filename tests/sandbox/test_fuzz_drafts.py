"""A part of the fuzz of drafts runs with the tests; the whole is ``benchmarks/fuzz_drafts.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sizes import sized


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_a_part_of_the_fuzz_of_drafts_finds_nothing(project: Path) -> None:
    drafts = sized(10, 20)
    command = [sys.executable, "benchmarks/fuzz_drafts.py", "--drafts", str(drafts), "--seed", "1"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{drafts} drafts, 0 findings" in done.stdout and "at least a quarter: yes" in done.stdout
