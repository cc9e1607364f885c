"""The image's command with processes that start like Prefect's: flows are sessions of their own below a worker."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

FLOW = """
import pathlib, signal, sys, time
def save(number, frame):
    time.sleep(0.3)
    pathlib.Path(sys.argv[1]).write_text("saved")
    sys.exit()
signal.signal(signal.SIGTERM, save)
print("works", flush=True)
while True:
    signal.pause()
"""
WORKERS = {
    # What one does with the signal: end at once, as by default, or not at all.
    "ends": "",
    "stays": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
}
WORKER = """
import signal, subprocess, sys
{stopping}
flow = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], start_new_session=True)
sys.exit(flow.wait() or signal.pause())
"""


@pytest.mark.parametrize("worker", WORKERS)
def test_a_flow_saves_its_progress_before_the_container_ends(project: Path, tmp_path: Path, worker: str) -> None:
    progress = tmp_path / "progress"
    call = [sys.executable, "-c", WORKER.format(stopping=WORKERS[worker]), FLOW, str(progress)]
    code = f"import sys; from flows import container; container.WORKER_S = 0.2; sys.exit(container.run({call!r}))"
    with subprocess.Popen([sys.executable, "-c", code], cwd=project, stdout=subprocess.PIPE, text=True) as container:
        assert container.stdout is not None and container.stdout.readline() == "works\n"
        container.send_signal(signal.SIGTERM)
        # Also that nothing is left which holds its output open.
        container.communicate(timeout=20)
    assert container.returncode == 0 and progress.read_text() == "saved"


def test_a_worker_that_ends_by_itself_gives_its_exit_code(project: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "flows.container", sys.executable, "-c", "raise SystemExit(3)"], cwd=project, check=False
    )
    assert ended.returncode == 3
