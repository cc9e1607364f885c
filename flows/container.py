"""The command of the image: a worker whose flows are told to stop together with it.

``python -m flows.container prefect worker start --pool mill`` runs the command behind it. The signal of `docker
stop` reaches only the first process of a container, a worker does not pass it on, and its flows are sessions of their
own, which a signal to a process group (``tini -g``) does not reach either. Under systemd, the service's control group
does this.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

LOOK_S: Final = 0.2
"""Seconds between two looks at whether a flow has ended."""

WORKER_S: Final = 5.0
"""Seconds for the worker to end once its flows have. Prefect 3.8.8 does not always end it."""


class _Told(Exception):
    """The container was told to stop."""


def run(command: Sequence[str]) -> int:
    """Run a worker to its end; on SIGTERM, tell its flows and it to stop, and wait for them.

    Whoever stops the container limits the time (`stop_grace_period` in compose.yaml), so that nothing here does.

    Args:
        command: The worker's command and arguments.

    Returns:
        The worker's exit code; 0 if it was told to stop.
    """
    worker: psutil.Popen | None = None
    told = False

    def tell(number: int, frame: FrameType | None) -> None:
        nonlocal told
        first, told = not told, True
        if first and worker is not None:
            raise _Told

    signal.signal(signal.SIGTERM, tell)
    try:
        worker = psutil.Popen(command)
        if told:
            raise _Told
        return int(worker.wait())
    except _Told:
        _stop(worker)
        return 0


def _stop(worker: psutil.Popen) -> None:
    # The flows first: those of a worker that has ended are no longer found.
    flows = set(worker.children())
    for process in (*flows, worker):
        _terminate(process)
    while any(_works(flow) for flow in flows):
        # One that the worker was about to start.
        with suppress(psutil.NoSuchProcess):
            for flow in set(worker.children()) - flows:
                _terminate(flow)
                flows.add(flow)
        psutil.wait_procs(flows, timeout=LOOK_S)
    with suppress(psutil.TimeoutExpired):
        worker.wait(WORKER_S)
        return
    worker.kill()


def _terminate(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.terminate()


def _works(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
