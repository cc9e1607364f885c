"""Whether Prefect's limit on a tag holds over two flow runs at once, on a server with PostgreSQL.

    python benchmarks/tag_limit.py [--limit N] [--records N] [--latency SECONDS]

Starts a PostgreSQL of its own, a Prefect server on it, and a server that answers as the offline author after some
seconds. Two processes, as two workers would start them, run the flow `generate` at once, with a limit of N (3) on the
tag `llm`. The server's task runs say how many with that tag were running at the same time: never more than N, N at some
time, and some of both flow runs at some time, or the run ends with an error. The same without a limit is the baseline
for the time: stages then have no tags.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path

import httpx
from orchestration import KEY, PROJECT, answering, server

SOURCES = ("bddl", "neiss")
FLOW = """
import asyncio, sys
from pathlib import Path
from flows.generate import generate
source, records, store, address = sys.argv[1:]
asyncio.run(generate(source, Path("sources") / source / "sample", limit=int(records), store=Path(store), wave_size=2,
    model="deepseek/deepseek-chat", api_base=address, run_id=source))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--limit", type=int, default=3, help="task runs with the tag at once (3)")
    parser.add_argument("--records", type=int, default=8, help="records of each flow run (8)")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds of the model's server to an answer (1)")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            postgres(folder / "postgres") as database,
            server(folder / "prefect", PREFECT_API_DATABASE_CONNECTION_URL=database) as (environment, _),
            answering(options) as address,
        ):
            free = work(folder / "free", options.records, address, environment)
            print(f"without a limit: {free[0]:.1f} s")
            limit(environment, options.limit)
            held = work(folder / "held", options.records, address, environment)
    seconds, most, both = held
    print(f"with a limit of {options.limit}: {seconds:.1f} s, at most {most} at once{', of both flow runs' * both}")
    if most != options.limit or not both:
        raise SystemExit(
            f"the limit of {options.limit} was not kept or not reached, or the flow runs never worked at once"
        )
    return 0


def work(store, records, address, environment):
    """Run both flows; the seconds, the most tagged task runs at once, and whether both were among them then."""
    since, started = time.time(), time.perf_counter()
    given = {**os.environ, "PYTHONPATH": str(PROJECT), **KEY, **environment}
    words = [(source, str(records), str(store), address) for source in SOURCES]
    logs = [store.with_name(f"{store.name}-{source}.log") for source in SOURCES]
    with ExitStack() as stack:
        runs = []
        for each, log in zip(words, logs, strict=True):
            said = stack.enter_context(log.open("wb"))
            command = [sys.executable, "-c", FLOW, *each]
            runs.append(subprocess.Popen(command, cwd=PROJECT, env=given, stdout=said, stderr=said))
            stack.callback(runs[-1].kill)
        for run, log in zip(runs, logs, strict=True):
            if run.wait() != 0:
                raise SystemExit(f"a flow failed: {log.read_text()[-800:]}")
    seconds = time.perf_counter() - started
    # Task runs reach the server as events, somewhat later.
    time.sleep(5)
    spans = tagged_spans(environment, since)
    changes = sorted(
        (at, change, flow) for begin, end, flow in spans for at, change in ((begin, 1), (end, -1))
    )  # an end comes before a beginning at the same time
    under_way, most, both = [], 0, False
    for _, change, flow in changes:
        under_way.append(flow) if change > 0 else under_way.remove(flow)
        both = both or len(set(under_way)) == len(SOURCES)
        most = max(most, len(under_way))
    return seconds, most, both


def tagged_spans(environment, since):
    """Beginning, end and flow run of each span in which a task run with the tag was running, by the server's log."""
    found = []
    with httpx.Client(base_url=environment["PREFECT_API_URL"], timeout=60) as http:
        wanted, offset = {"task_runs": {"tags": {"all_": ["llm"]}}}, 0
        while runs := http.post("/task_runs/filter", json={**wanted, "offset": offset}).json():
            offset += len(runs)
            for run in runs:
                states = http.get("/task_run_states/", params={"task_run_id": run["id"]}).json()
                times = [(datetime.fromisoformat(state["timestamp"]).timestamp(), state["type"]) for state in states]
                times.sort()
                for (begin, kind), (end, _) in itertools.pairwise(times):
                    if kind == "RUNNING" and begin >= since:
                        found.append((begin, end, run["flow_run_id"]))
    return found


def limit(environment, most):
    with httpx.Client(base_url=environment["PREFECT_API_URL"], timeout=60) as http:
        http.post("/concurrency_limits/", json={"tag": "llm", "concurrency_limit": most}).raise_for_status()


@contextmanager
def postgres(home):
    """An empty database of a PostgreSQL of its own; its address. PostgreSQL refuses to run as root."""
    home.mkdir()
    found = shutil.which("pg_config")
    tools = Path(subprocess.check_output([found, "--bindir"], text=True).strip()) if found else Path("/usr/bin")
    as_user = []
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(home, owner.pw_uid, owner.pw_gid)
        as_user = ["runuser", "-u", "postgres", "--"]
    port = free_port()
    data = home / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home}
    subprocess.run([*as_user, tools / "initdb", "-D", data, "-A", "trust", "-U", "prefect"], check=True, **quiet)
    settings = ["-c", f"port={port}", "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={home}"]
    with subprocess.Popen([*as_user, tools / "postgres", "-D", data, *settings], **quiet) as process:
        try:
            ready = [tools / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
            while subprocess.run(ready, check=False, **quiet).returncode != 0:
                if process.poll() is not None:
                    raise SystemExit("PostgreSQL did not start")
                time.sleep(0.2)
            yield f"postgresql+asyncpg://prefect@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*as_user, tools / "pg_ctl", "-D", data, "-m", "fast", "stop"], check=False, **quiet)


def free_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return free.getsockname()[1]


if __name__ == "__main__":
    raise SystemExit(main())
