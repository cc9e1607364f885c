"""The commands of the tutorial and of the README do what these pages say, in an empty folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from e2e.prefect_server import free_port

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]


def run_page(commands: str, folder: Path, project: Path) -> str:
    """Run commands as one script that ends at the first that fails, and what it left running with it."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HAZARDMILL": str(project),
    }
    # A script waits for what it left running only if that holds its output.
    said = folder.parent / "said.txt"
    with said.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    text = said.read_text(errors="replace")
    assert code == 0, text[-4000:]
    return text


def fenced(page: Path, language: str) -> str:
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_each_command_of_the_tutorial_ends_well_and_says_what_the_page_says(project: Path, empty: Path) -> None:
    page = project / "docs" / "tutorial.md"
    python = fenced(page, "python")
    shell = fenced(page, "sh").replace("8040", str(free_port())).replace("8050", str(free_port()))
    said = run_page(f"{shell}\npython -c {quoted(python)}", empty, project)
    # The unsafe plan, and the same without its first step.
    assert said.count("exit code 1") == 2 and "feasible, not safe, score 1" in said
    assert re.search(r"S safe +0\.0%", said) and re.search(r"F feasible +100\.0%", said)
    for left in ("report/report.html", "why.html", "pairs.jsonl", "site/index.html", "evaluation-report/report.html"):
        assert (empty / left).stat().st_size > 0, left


def test_the_six_lines_of_the_readme_lead_from_records_to_a_score(project: Path, empty: Path) -> None:
    section = (
        (project / "README.md").read_text().partition("## From records to a score")[2].partition("\n\nThis needs")[0]
    )
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    assert lines[0].startswith("pip install"), "the tests have installed it"
    (empty / "sources").symlink_to(project / "sources")
    port = str(free_port())
    commands = "\n".join(lines[1:]).replace("8050", port)
    ready = f"until curl --silent --fail http://127.0.0.1:{port}/v1/models; do sleep 0.2; done\nhazardmill evaluate run"
    said = run_page(commands.replace("hazardmill evaluate run", ready), empty, project)
    assert "(36 of 36)" in said and "(0 of 36)" in said
    assert (empty / "evaluation-report" / "report.html").stat().st_size > 0


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
