"""A real Prefect server and worker on loopback, with nothing of the user's, ended by process id."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
from patience import PATIENCE_S

from tests.authorities import TRUSTED

T = TypeVar("T")

BIN = Path(sys.executable).parent
ELSEWHERE = "http://127.0.0.1:9/api"
"""Where clients in the shell of who starts a server look for another one: port 9 answers nobody."""


def until(look: Callable[[], T | None], what: str, seconds: float = PATIENCE_S) -> T:
    """Look until there is something true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        # Most looks are requests, and a server that answers five of them a second is busy with little else.
        time.sleep(0.5)
    raise AssertionError(f"waited {seconds} s for {what}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Prefect:
    """Server and worker, their command line and their API."""

    def __init__(self, folder: Path, project: Path, extra: Mapping[str, str]) -> None:
        self.folder = folder
        self.project = project
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.worker_pid = 0
        self.environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_URL": f"{self.address}/api",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
            "DO_NOT_TRACK": "1",
            **TRUSTED,
            **extra,
        }
        self.http = httpx.Client(base_url=self.environment["PREFECT_API_URL"], timeout=PATIENCE_S)

    def make(self, target: str, **variables: str) -> list[str]:
        """The words that make a target, with this interpreter's folder and without setting anything up."""
        given = [f"{name}={value}" for name, value in {"BIN": str(BIN), "PORT": str(self.port), **variables}.items()]
        return ["make", "--no-print-directory", "-o", "setup", target, *given]

    def begin(self, name: str, words: list[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start a process in the checkout; what it says goes to a file."""
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                words,
                cwd=self.project,
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def said(self, name: str) -> str:
        """What a process said."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def do(self, name: str, words: list[str], **environment: str) -> None:
        """Run a command to its good end."""
        process = subprocess.run(
            words,
            cwd=self.project,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        (self.folder / f"{name}.log").write_text(process.stdout + process.stderr)
        assert process.returncode == 0, process.stdout + process.stderr

    def post(self, path: str, **body: Any) -> Any:
        return self._asked("POST", path, json=body)

    def patch(self, path: str, **body: Any) -> Any:
        return self._asked("PATCH", path, json=body)

    def get(self, path: str) -> Any:
        return self._asked("GET", path)

    def _asked(self, method: str, path: str, **more: Any) -> Any:
        def ask() -> httpx.Response | None:
            answer = self.http.request(method, path, **more)
            # Nothing was done: the server's database was busy. Prefect's own client asks again too.
            return None if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE else answer

        answer = until(ask, f"an answer to {method} {path}")
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def deployment(self, name: str) -> dict[str, Any]:
        return self.get(f"/deployments/name/{name}")

    def start_run(self, deployment: str, **parameters: Any) -> str:
        """Ask for a run, as the UI does."""
        found = self.deployment(deployment)
        return self.post(f"/deployments/{found['id']}/create_flow_run", parameters=parameters)["id"]

    def flow_run(self, run: str) -> dict[str, Any]:
        return self.get(f"/flow_runs/{run}")

    def set_state(self, run: str, kind: str) -> None:
        """Bring a run to a state, as the buttons of the UI do."""
        state = {"type": kind, "name": kind.capitalize()}
        self.post(f"/flow_runs/{run}/set_state", state=state, force=kind == "SCHEDULED")

    def switch(self, automation: str, on: bool) -> None:
        """Switch an automation on or off, as the switch of the UI does."""
        (found,) = [each for each in self.post("/automations/filter") if each["name"] == automation]
        self.patch(f"/automations/{found['id']}", enabled=on)

    def ended(self, run: str) -> dict[str, Any]:
        """The state of a run at its end."""

        def look() -> dict[str, Any] | None:
            state = self.flow_run(run)["state"]
            return state if state["type"] in ("COMPLETED", "FAILED", "CANCELLED", "CRASHED") else None

        return until(look, f"the end of {run}")

    def comes_to(self, run: str, kind: str) -> dict[str, Any]:
        """The state of a run once it is of a type, also if an automation brings it there from another end."""
        state: dict[str, Any] = {}

        def look() -> bool:
            state.update(self.flow_run(run)["state"])
            return bool(state["type"] == kind)

        try:
            until(look, f"{run} to be {kind}")
        except AssertionError as late:
            late.add_note(f"it is {state['name']}: {state['message']}")
            raise
        return state

    def artifact(self, key: str) -> dict[str, Any]:
        """The latest artifact of a key, once there is one."""
        found = until(lambda: self.post("/artifacts/latest/filter", artifacts={"key": {"any_": [key]}}), key)
        return found[0]

    def events(self, prefix: str, flow_run: str | None = None) -> list[dict[str, Any]]:
        """Events by the beginning of their names, of one flow run or of all."""
        where = {"event": {"prefix": [prefix]}, "occurred": {"since": "2020-01-01T00:00:00Z"}}
        found = self.post("/events/filter", filter=where)["events"]
        return [event for event in found if flow_run is None or flow_run in str(event)]

    def flow_process(self, run: str) -> int:
        """The process that works on a flow run: the one of the worker's children that names it."""

        def look() -> int | None:
            return next((pid for pid in children(self.worker_pid) if run in environ(pid)), None)

        return until(look, f"the process of {run}")


def environ(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return ""


def children(pid: int) -> list[int]:
    """The processes below a process."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [child for child, parent in parents.items() if parent == pid]
    for child in found:
        found += [other for other, parent in parents.items() if parent == child]
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def running(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """End a process, and whatever is left below it, by their ids."""
    try:
        yield process
    finally:
        below = children(process.pid)
        # make passes this signal on, and no other.
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pid in filter(alive, below):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def serving(folder: Path, project: Path, extra: Mapping[str, str], database: Path | None = None) -> Iterator[Prefect]:
    """What ``make server PORT=...`` starts, once it answers. Only ``PORT`` says where its own API is.

    It begins with a copy of ``database``, or else makes itself one.
    """
    prefect = Prefect(folder, project, extra)
    if database is not None:
        home = Path(prefect.environment["PREFECT_HOME"])
        home.mkdir()
        shutil.copyfile(database, home / "prefect.db")
    with ExitStack() as stack:
        stack.callback(prefect.http.close)
        started = prefect.begin("server", prefect.make("server"), PREFECT_API_URL=ELSEWHERE)
        server = stack.enter_context(running(started))

        def answers() -> bool:
            assert server.poll() is None, prefect.said("server")
            try:
                return prefect.http.get("/health").is_success
            except httpx.TransportError:
                return False

        until(answers, "the server")
        yield prefect


@contextmanager
def served(folder: Path, project: Path, extra: Mapping[str, str], deployed: Path) -> Iterator[Prefect]:
    """A server with a copy of a database in which everything is deployed, and a worker."""
    with serving(folder, project, extra, deployed) as prefect, working(prefect):
        yield prefect


@contextmanager
def working(prefect: Prefect) -> Iterator[None]:
    """What ``make worker`` starts for a server."""
    with running(prefect.begin("worker", prefect.make("worker"))) as worker:
        prefect.worker_pid = worker.pid
        yield
