"""The app as a process of its own, to be killed and started again at the same address."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

from patience import PATIENCE_S

_COMMAND: Final = "from hazardmill.cli.main import main; main()"


class Server:
    """``hazardmill review serve`` on one port."""

    def __init__(self, store: Path, review: Path, log: Path) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port: int = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._where = ["--store", str(store), "--review", str(review), "--port", str(self.port)]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND, "review", "serve", *self._where], stdout=log, stderr=log
            )
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/sign-in", timeout=PATIENCE_S):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                assert self._process.poll() is None, self._log.read_text()
                time.sleep(0.05)

    def kill(self) -> None:
        """At once, as a machine that loses its power does."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """As somebody does who presses Ctrl-C: what is under way comes to its end."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
            self._process = None
