"""What Prefect adds to a run: the same records by the command line and by the flow, against a real server.

    python benchmarks/orchestration.py [--quick] [--records N] [--repeats N] [--latency SECONDS] [--reference FOLDER]

The baseline is `hazardmill run generate`; ours is the flow `generate` in a process as a worker would start it, with the
API of a Prefect server of its own on loopback (SQLite, as `prefect server start` comes). Both have the offline author,
or with --latency a server that answers so many seconds later. Both write the store's views at the end; a run's figures
are published by another flow. The digests of both stores must be equal, or the run ends with an error.

Three ratios: of the whole process by the clock, which is what the goal is about; of its processor time; and of the run
itself, from its first row to its last, without start and imports. Then what the server had to write: rows in all tables
of its database a record; and the lag, from the end of the flow's process to the last row that came of it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hazardmill.store.store import Store

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the factories are the tests'

from factories.generated import write_full

GOAL = 1.15
QUIET_S = 15.0
"""When nothing was written to the server's database for so long, it has everything."""
START_S = 120.0
REPORTS_A_YEAR = 410_202
"""How many a full file of NEISS holds."""
PROJECT = Path(__file__).resolve().parent.parent
MILL = [sys.executable, "-m", "hazardmill.cli.main"]
KEY = {"DEEPSEEK_API_KEY": "none"}
"""What the model's library asks for; the server does not look at it."""


@dataclass(frozen=True)
class Taken:
    """Seconds of one side."""

    whole: float
    processor: float
    run: float


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="200 records, once")
    parser.add_argument("--records", type=int, help="so many (2,000)")
    parser.add_argument("--repeats", type=int, help="times each side, in turns (3); medians count")
    parser.add_argument("--latency", type=float, help="seconds of a model's server to an answer; without, no server")
    parser.add_argument("--reference", type=Path, help="folder of reference data")
    parser.add_argument("--flow", nargs=6, metavar="WORD", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.flow:
        return flow_process(*options.flow)
    sys.stdout.reconfigure(line_buffering=True)
    count = options.records or (200 if options.quick else 2_000)
    repeats = options.repeats or (1 if options.quick else 3)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = reports(options, folder, count)
        print(f"{count:,} records of {path.name}, {asked(options)}")
        plain, flow, written, lags = [], [], [], []
        with server(folder / "prefect") as (environment, database), answering(options) as address:
            for number in range(repeats):
                ours, theirs = (folder / f"{side}-{number}" for side in ("flow", "plain"))
                words = ["--source", "neiss", "--input", path, "--limit", count, "--store", theirs, "--run-id", "r"]
                words = [*words, "--model", model_of(options), *(["--api-base", address] if address else [])]
                ended = taken([*MILL, "run", "generate", *words, "--json"], KEY)
                plain.append(Taken(*ended, run_seconds(theirs)))
                before = rows_in(database)
                flow_words = ["--flow", path, count, ours, "r", model_of(options), address or ""]
                ended = taken([sys.executable, __file__, *flow_words], {**environment, **KEY})
                lag, after = settled(database)
                flow.append(Taken(*ended, run_seconds(ours)))
                lags.append(lag)
                written.append({table: after[table] - before.get(table, 0) for table in after})
                same(ours, theirs)
        told(plain, flow, count)
        told_of_server(written, lags, count)
    return 0


def reports(options, folder, count):
    """A file with so many reports: of the reference data where it has them, else written for load."""
    beside = PROJECT.parent / "shared"
    reference = options.reference or Path(os.environ.get("HAZARDMILL_REFERENCE", beside))
    file = reference / "data" / "neiss" / "neiss2019.tsv"
    if file.is_file():
        with file.open("rb") as lines:
            if sum(1 for _ in lines) > count:
                return file
    return write_full("neiss", folder / "reports", share=2 * count / REPORTS_A_YEAR).path


# The two sides


def flow_process(path, count, store, run_id, model, address):
    """The process of the flow: what a worker would start."""
    from flows.generate import generate

    words = {"path": Path(path), "limit": int(count), "store": Path(store), "run_id": run_id}
    # The state of a run of the flow is not looked at here: its store is.
    asyncio.run(generate(source="neiss", model=model, api_base=address or None, **words))
    return 0


def model_of(options):
    return "offline-author" if options.latency is None else "deepseek/deepseek-chat"


def asked(options):
    return "the offline author" if options.latency is None else f"a server that answers after {options.latency:g} s"


@contextmanager
def answering(options):
    """The address of a model's server; None without one."""
    if options.latency is None:
        yield None
        return
    command = [sys.executable, "-m", "hazardmill.testing.llm_server", "--latency", str(options.latency)]
    with subprocess.Popen([*command, "--dialect", "deepseek"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def taken(command, environment):
    """Run a side in a process of its own; seconds by the clock, and of a processor."""
    before, started = spent(), time.perf_counter()
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("HAZARDMILL_", "PREFECT_"))}
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env={**settings, "PYTHONPATH": str(PROJECT), "DO_NOT_TRACK": "1", **environment},
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed: {done.stderr.strip()[-800:]}")
    return time.perf_counter() - started, spent() - before


def run_seconds(store):
    """From the first row of a run's states to its last."""
    written = [row["at"] for row in Store.open(store).rows("runs", {"run_id": "r"}, ["at"])]
    return (max(written) - min(written)).total_seconds()


def spent():
    """Processor seconds of processes that this one started and that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def same(ours, theirs):
    one, other = (Store.open(path).digest() for path in (ours, theirs))
    if one != other:
        different = ", ".join(name for name in one if one[name] != other[name])
        raise SystemExit(f"the flow and the command line wrote different {different}: their speed means nothing")


# The server


@contextmanager
def server(home, **settings_of_server):
    """A Prefect server of its own: what its clients need in the environment, and where its database is by default."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    quiet = {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    address = f"http://127.0.0.1:{port}/api"
    command = [
        sys.executable,
        "-m",
        "prefect",
        "server",
        "start",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-ui",
    ]
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**settings, **quiet, **settings_of_server}
    ) as process:
        try:
            await_health(address, process)
            yield {**quiet, "PREFECT_API_URL": address, "PREFECT_LOGGING_TO_API_ENABLED": "true"}, home / "prefect.db"
        finally:
            process.terminate()


def await_health(address, process):
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit("the Prefect server did not start")


def rows_in(database):
    """Rows of each table of the server's database."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}


def settled(database):
    """Seconds from now, when the flow's process has just ended, to the last row written; and the rows then."""
    ended = changed = time.perf_counter()
    rows = rows_in(database)
    while time.perf_counter() - changed < QUIET_S:
        time.sleep(0.1)
        now = rows_in(database)
        if now != rows:
            rows, changed = now, time.perf_counter()
    return changed - ended, rows


# Telling


def told(plain, flow, count):
    print(f"\n{'':28}{'command line':>14}{'flow':>10}{'ratio':>8}")
    for name in ("whole", "processor", "run"):
        theirs, ours = (statistics.median(getattr(each, name) for each in side) for side in (plain, flow))
        title = {"whole": "whole process", "processor": "its processor time", "run": "the run alone"}[name]
        goal = ""
        if name == "whole":
            goal = f"  (goal {GOAL}: {'reached' if ours <= GOAL * theirs else 'short'})"
        print(f"{title:28}{theirs:12.1f} s{ours:8.1f} s{ours / theirs:8.2f}{goal}")
    rates = [count / statistics.median(each.run for each in side) for side in (plain, flow)]
    print(f"records a second of the run: {rates[0]:.1f} and {rates[1]:.1f}, load {os.getloadavg()[0]:.1f}")


def told_of_server(written, lags, count):
    rows = {table: statistics.median(each.get(table, 0) for each in written) for table in written[-1]}
    total = sum(rows.values())
    print(f"\nthe server wrote {total:,.0f} rows: {total / count:.2f} a record")
    most = sorted(((number, table) for table, number in rows.items() if number), reverse=True)
    print("  " + ", ".join(f"{table} {number:,.0f}" for number, table in most[:8]))
    print(f"lag after the run: {statistics.median(lags):.1f} s, at most {max(lags):.1f} s")


if __name__ == "__main__":
    raise SystemExit(main())
