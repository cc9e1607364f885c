"""What `disasters.py` breaks: a Prefect server on SQLite or PostgreSQL, workers, and runs against a model's server.

Everything is on loopback and in a temporary folder, and is ended by process id.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

# Server and worker are started as the tests start them.
sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from e2e.prefect_server import ELSEWHERE, Prefect, alive, children, environ, free_port, until
from httpx import TransportError

from hazardmill.llm.ledger import IN_FLIGHT
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer

PROJECT = Path(__file__).resolve().parent.parent
PATIENCE_S = 400.0
"""How long is waited for what takes seconds on an idle machine."""
CONCURRENCY = 3
MODEL = "deepseek/deepseek-chat"
AUTH = "mill:on-loopback-only"
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "CRASHED")


class Postgres:
    """A cluster of PostgreSQL of its own, run by the user `postgres` if this one is root, whom it refuses."""

    def __init__(self):
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="disasters-postgres-", dir="/tmp"))
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
        if initdb is None:
            raise SystemExit("there is no PostgreSQL here: install the package postgresql")
        self.bin = Path(initdb).parent
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self._do("initdb", "--auth=trust", "--username=postgres", "--no-sync")

    @property
    def url(self):
        return f"postgresql+asyncpg://postgres@127.0.0.1:{self.port}/postgres"

    def start(self):
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c max_connections=200"
        self._do("pg_ctl", "--wait", "--timeout=120", "--log", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode):
        self._do("pg_ctl", "--wait", "--timeout=120", "-m", mode, "stop")

    def close(self):
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder)

    def _do(self, name, *words):
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*as_user, str(self.bin / name), "-D", str(self.folder / "data"), *words]
        # Not into a pipe: the server would keep it open.
        with (self.folder / "said").open("ab") as said:
            done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False)
        if done.returncode:
            raise SystemExit(f"{name} failed: {(self.folder / 'said').read_text()[-800:]}")


class Stand(Prefect):
    """A server with everything deployed and one worker, each of which can be killed and started again."""

    def __init__(self, folder, kind, wholes):
        self.wholes = wholes
        self.kind = kind
        self.postgres = Postgres() if kind == "postgres" else None
        extra = {"DEEPSEEK_API_KEY": "none", "HAZARDMILL_STORE": str(folder / "default-store")}
        if self.postgres is not None:
            extra |= {"PREFECT_API_DATABASE_CONNECTION_URL": self.postgres.url}
            extra |= {"PREFECT_SERVER_API_AUTH_STRING": AUTH, "PREFECT_API_AUTH_STRING": AUTH}
        super().__init__(folder, PROJECT, {**extra, "PYTHONPATH": str(PROJECT)})
        if self.postgres is not None:
            self.http.auth = tuple(AUTH.split(":"))
        self.server = None
        self.workers = []
        self._numbers = itertools.count()

    def _asked(self, method, path, **more):
        def ask():
            try:
                answer = self.http.request(method, path, **more)
            except TransportError:
                return None
            # While its database is away the server fails at everything; what is posted here may be posted twice.
            return None if answer.status_code >= 500 else answer

        answer = until(ask, f"an answer to {method} {path}", PATIENCE_S)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def begin(self, name, words, **environment):
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                words,
                cwd=self.project,
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def start_server(self):
        self.server = self.begin("server", self.make("server"), PREFECT_API_URL=ELSEWHERE)

        def answers():
            assert self.server.poll() is None, self.said("server")
            try:
                return self.http.get("/health").is_success
            except TransportError:
                return False

        until(answers, "the server", PATIENCE_S)

    def kill_server(self):
        kill_tree(self.server, signal.SIGKILL)

    def start_worker(self, queue):
        """Start a worker that takes flow runs of one queue only; returns it."""
        name = f"worker-{next(self._numbers)}"
        prefect = str(Path(sys.executable).with_name("prefect"))
        words = [prefect, "worker", "start", "--pool", "mill", "--type", "process", "--work-queue", queue]
        # As `make worker` sets them.
        patient = {"PREFECT_CLIENT_RETRY_EXTRA_CODES": "500", "PREFECT_CLIENT_MAX_RETRIES": "6"}
        worker = self.begin(name, words, PWD=str(self.project), **patient)
        self.workers.append(worker)
        until(lambda: "started!" in self.said(name), "a worker", PATIENCE_S)
        return worker

    def end_worker(self, worker, how, *, with_flows=False):
        """Have a worker ended by a signal, or killed at once with its flows and all below them."""
        self.workers.remove(worker)
        if with_flows:
            kill_tree(worker, how)
            return
        _signal(worker.pid, how)
        worker.wait(PATIENCE_S)

    def stop_worker(self, worker, seconds):
        """Tell a worker and all below it to stop, and kill what has not ended in time; returns how long that took."""
        self.workers.remove(worker)
        began, below = time.monotonic(), children(worker.pid)
        for pid in [worker.pid, *below]:
            _signal(pid, signal.SIGTERM)
        while any(map(alive, [worker.pid, *below])) and time.monotonic() - began < seconds:
            worker.poll()
            time.sleep(0.2)
        took = time.monotonic() - began
        for pid in below:
            if alive(pid):
                _signal(pid, signal.SIGKILL)
        kill_tree(worker, signal.SIGKILL)
        return took

    def end_all(self):
        for worker in list(self.workers):
            self.end_worker(worker, signal.SIGKILL, with_flows=True)
        # Those whose worker was killed before.
        for stat in Path("/proc").glob("[0-9]*/stat"):
            if f"PREFECT_API_URL={self.environment['PREFECT_API_URL']}" in environ(int(stat.parent.name)):
                _signal(int(stat.parent.name), signal.SIGKILL)

    def flow_process(self, run):
        def look():
            below = [pid for worker in self.workers for pid in children(worker.pid)]
            return next((pid for pid in below if run in environ(pid)), None)

        return until(look, f"the process of {run}", PATIENCE_S)

    def history(self, run):
        """Name, message and time of the states of a flow run, in order."""
        states = sorted(self.get(f"/flow_run_states/?flow_run_id={run}"), key=lambda state: state["timestamp"])
        return [(state["name"], state.get("message") or "", state["timestamp"]) for state in states]

    def await_state(self, run, kinds, seconds=PATIENCE_S):
        def look():
            state = self.flow_run(run)["state"]
            return state if state["type"] in kinds else None

        return until(look, f"{run} to be {' or '.join(kinds)}", seconds)

    def retry(self, run):
        """What a person types."""
        self.type("prefect", "flow-run", "retry", run)

    def type(self, *words):
        command = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
        self.do(f"typed-{next(self._numbers)}", command)

    def automation(self, name, **changes):
        (found,) = [each for each in self.post("/automations/filter") if each["name"] == f"hazardmill-{name}"]
        self._asked("PATCH", f"/automations/{found['id']}", json=changes)

    def wait_before_crash(self, seconds):
        """Have `automations/lost.yaml` wait so many seconds; returns how many it waited before."""
        (found,) = [each for each in self.post("/automations/filter") if each["name"] == "hazardmill-lost"]
        names = ("name", "description", "enabled", "trigger", "actions")
        changed = {name: found[name] for name in names}
        before, changed["trigger"]["within"] = changed["trigger"]["within"], seconds
        self._asked("PUT", f"/automations/{found['id']}", json=changed)
        return before

    @contextmanager
    def lock_database(self):
        """Hold SQLite's write lock, or have PostgreSQL die; until the end of the block."""
        if self.postgres is not None:
            self.postgres.stop("immediate")
            yield
            self.postgres.start()
            return
        connection = sqlite3.connect(self.folder / "prefect" / "prefect.db", isolation_level=None, timeout=60)
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
        finally:
            connection.close()


@contextmanager
def standing(folder, kind, wholes):
    """A stand that is ended whatever happens."""
    with ExitStack() as stack:
        stand = Stand(folder, kind, wholes)
        stack.callback(stand.http.close)
        if stand.postgres is not None:
            stack.callback(stand.postgres.close)
            stand.postgres.start()
        stack.callback(lambda: stand.server and kill_tree(stand.server, signal.SIGKILL))
        stack.callback(stand.end_all)
        stand.start_server()
        stand.do("deploy", stand.make("deploy"))
        stand.start_worker("default")
        yield stand


@dataclass(frozen=True)
class Whole:
    """A run that nothing disturbs."""

    digest: dict
    requests: int


class Wholes:
    """What the command line makes of records, undisturbed; each worked out once."""

    def __init__(self):
        self._locks = defaultdict(threading.Lock)
        self._done = {}

    def of(self, source, records):
        key = (source, records)
        with self._locks[key]:
            if key not in self._done:
                with tempfile.TemporaryDirectory() as name, LlmServer(dialect="none") as server:
                    store = Path(name) / "store"
                    generate_by_command(source, records, store, f"of-{source}", server.address)
                    self._done[key] = Whole(Store.open(store).digest(), len(server.attempts))
            return self._done[key]


class Job:
    """A flow run of one source against a model's server of its own, which outlives it.

    Args:
        stand: Where it runs.
        folder: An empty folder for store and journal.
        source: Its source.
        records: How many records it takes.
        latency: Seconds to an answer.
    """

    def __init__(self, stand, folder, source, records, latency=0.8, store=None, queue="default"):
        self.stand, self.folder, self.source, self.records, self.latency = stand, folder, source, records, latency
        self.store, self.queue = store or folder / source / "store", queue
        self.run_id = f"of-{source}"
        self.provider, self.port, self.flow_run, self.before = None, 0, None, ()

    def open_provider(self):
        log = self.folder / f"{self.source}.journal"
        self.provider = LlmServer(latency=self.latency, dialect="none", log=log, port=self.port)
        self.provider.__enter__()
        self.port = int(self.provider.address.split(":")[2].split("/")[0])

    def close_provider(self):
        if self.provider is not None:
            self.before = self.provider.attempts
            self.provider.__exit__(None, None, None)
            self.provider = None

    def begin(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.whole()
        self.open_provider()
        asks = {"model": MODEL, "api_base": self.provider.address, "concurrency": CONCURRENCY, "wave_size": 6}
        given = {"store": str(self.store), "run_id": self.run_id, "limit": self.records, **asks}
        found = self.stand.deployment(f"generate/{self.source}")
        path = f"/deployments/{found['id']}/create_flow_run"
        self.flow_run = self.stand.post(path, parameters=given, work_queue_name=self.queue)["id"]
        return self

    def whole(self):
        return self.stand.wholes.of(self.source, self.records)

    def await_moment(self, share):
        """Wait until this share of all requests has come."""
        wanted = max(1, int(share * self.whole().requests))
        until(lambda: len(self.provider.attempts) >= wanted, f"{wanted} requests", PATIENCE_S)
        return f"request {wanted} of {self.whole().requests}"

    def violations(self, *, digest=None):
        """Records lost, answers paid for twice, requests that were in flight, and what is wrong."""
        store = Store.open(self.store)
        wrong = [f"verify: {finding}" for finding in store.verify()]
        made, expected = store.digest(), self.whole().digest if digest is None else digest
        different = [name for name, value in expected.items() if made[name] != value]
        wrong += [f"other digests of {', '.join(different)}"] if different else []
        lost = self.records - store.count("outcomes", {"run_id": self.run_id})
        wrong += [f"{lost} records lost"] if lost else []
        paid = Counter(each.identity for each in self.provider.attempts if each.usage_went_out)
        twice = sum(times - 1 for times in paid.values())
        in_flight = sum(row["error"] == IN_FLIGHT for row in store.rows("llm_calls", {"run_id": self.run_id}))
        if twice > in_flight:
            wrong.append(f"{twice} answers paid twice, of which {in_flight} were in flight")
        return lost, twice, in_flight, wrong


def generate_by_command(source, records, store, run_id, address):
    words = ["run", "generate", "--source", source, "--input", f"{source}={PROJECT / 'sources' / source / 'sample'}"]
    words += ["--limit", records, "--store", store, "--run-id", run_id, "--model", MODEL, "--api-base", address]
    return hazardmill(*words, "--concurrency", CONCURRENCY, "--wave-size", 6, "--json", check=True)


def hazardmill(*words, check=False):
    done = subprocess.run(
        [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(PROJECT), "DEEPSEEK_API_KEY": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed: {done.stderr[-800:]}")
    return done


def kill_tree(process, how):
    """Kill a process and all below it, at once as far as that goes."""
    pids = [process.pid, *children(process.pid)]
    for pid in pids:
        _signal(pid, how)
    process.wait(PATIENCE_S)
    until(lambda: not any(map(alive, pids)), "their ends", 30)


def _signal(pid, how):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return
