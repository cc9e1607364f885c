"""How fast the store writes and is queried, and in how much memory, against plain pyarrow and DuckDB.

    python benchmarks/store.py [--quick] [--tasks N] [--answers N]

One store is written as a run writes it: a record a task, in batches of 25, the answers of its requests made durable as
they come and its other rows in one group. Besides the checks that is ten rows a task, a million for 100,000 tasks. The
queries then read this store, as it was written and compacted. Each side runs in a process of its own; both must give
the same rows, or the run ends with an error. No goal is stated for these figures, so they are ratios alone.

With ``--answers`` it measures instead how long an answer that was read is not yet on the disk: what a kill can take.
The goal is a 99th percentile below 100 ms with 64 requests in flight. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextvars import ContextVar
from itertools import islice
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the factories are the tests'

from factories.synthetic_store import synthetic_records

TASKS, QUICK = 100_000, 2_000
BATCH = 25
RUN = "generate-benchmark"
MODEL = "deepseek/deepseek-chat"
FUNNEL = (
    "Where the records of each source ended",
    "Yield and cost by number of the draft",
    "The most common reasons for failure",
)
"""Headings of docs/queries.md whose queries make the funnel."""
IN_FLIGHT, GOAL_MS = 64, 100
QUANTILES = ("p50", "p90", "p99")
OF_ONE_RECORD = ("records", "dangers", "drafts", "checks", "llm_calls", "tasks", "outcomes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} tasks instead of {TASKS:,}")
    parser.add_argument("--tasks", type=int, help="so many tasks")
    parser.add_argument("--answers", type=int, metavar="N", help="instead: how long answers are not on disk yet")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, tasks, folder = options.child
        print(json.dumps({**SIDES[name](int(tasks), Path(folder)), "peak_mb": peak_mb()}))
        return 0
    sys.stdout.reconfigure(line_buffering=True)
    if options.answers:
        with tempfile.TemporaryDirectory(prefix="hazardmill-answers-") as name:
            return answering(options.answers, Path(name))
    tasks = options.tasks or (QUICK if options.quick else TASKS)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, {tasks:,} tasks")
    with tempfile.TemporaryDirectory(prefix="hazardmill-store-") as name:
        folder = Path(name)
        in_child("run", tasks, folder)
        writing(tasks, folder)
        reading(tasks, folder, "as written")
        checking(tasks, folder)
        compacting(tasks, folder)
        reading(tasks, folder, "compacted")
    return 0


# What is told


def answering(count, folder):
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {count:,} answers, {IN_FLIGHT} requests in flight")
    found = in_child("answers", count, folder)
    print(f"{count / found['clock']:.0f} answers a second")
    print(" " * 44 + "".join(f"{name:>10}" for name in QUANTILES) + "   longest")
    for told, values in found["milliseconds"].items():
        print(f"  {told:41} " + "".join(f"{value:7.1f} ms" for value in values))
    p99 = found["milliseconds"]["read, until on disk"][QUANTILES.index("p99")]
    print(f"goal: p99 below {GOAL_MS} ms: {'met' if p99 < GOAL_MS else 'missed'}")
    return 0


def writing(tasks, folder):
    before = size_of(folder / "store")
    ours, plain, nothing = (in_child(side, tasks, folder) for side in ("write", "write_plain", "make"))
    same(ours["rows"], plain["rows"], "writing")
    sizes = {"ours": size_of(folder / "store") - before, "plain": size_of(folder / "plain")}
    print(f"\n{ours['rows']:,} rows, {plain['mb']:,.0f} MB in Arrow, {plain['mb'] * 1e3 / tasks:.0f} kB a task")
    print(" " * 43 + "    clock  processor     rows/s    MB/s  kB a task      peak")
    for told, found, size in (
        ("ours: journal, parts, manifests, fsync", ours, sizes["ours"]),
        ("pyarrow.parquet, one file a table", plain, sizes["plain"]),
    ):
        print(
            f"  {told:41} {found['clock']:7.1f} s {found['processor']:8.1f} s {found['rows'] / found['clock']:10,.0f}"
            f" {plain['mb'] / found['clock']:7.1f} {size / tasks / 1e3:10.2f} {found['peak_mb']:6.0f} MB"
        )
    print(f"  {'making the rows, not timed above':41} {nothing['peak_mb']:60.0f} MB")
    print(f"  ours: the last tenth of the batches took {ours['slowing']:.2f} times the first")
    ratio("time to write", ours["clock"], plain["clock"])
    ratio("the same by processor time", ours["processor"], plain["processor"])
    ratio("bytes on disk", sizes["ours"], sizes["plain"])
    ratio("peak memory", ours["peak_mb"], plain["peak_mb"])


def reading(tasks, folder, state):
    parts = len([file for name in OF_ONE_RECORD for file in folder.glob(f"store/{name}/*.parquet")])
    print(f"\nthe store {state}: {parts:,} parts of seven tables")
    print(" " * 43 + "    opened      asked      peak")
    found = {}
    for side, told in READERS.items():
        found[side] = in_child(side, tasks, folder)
        opened, asked, peak = (found[side][what] for what in ("opened", "asked", "peak_mb"))
        print(f"  {told:41} {opened * 1e3:7.0f} ms {asked * 1e3:7.0f} ms {peak:6.0f} MB")
    for ours, plain in (("funnel", "funnel_plain"), ("rows", "rows_plain"), ("views", "rows_plain")):
        same(found[ours]["answer"], found[plain]["answer"], READERS[ours])
    print(f"  {'ratio to plain DuckDB':41}     whole      asked       peak")
    for ours, plain in (("funnel", "funnel_plain"), *((side, "rows_plain") for side in ("why", "rows", "views"))):
        one, other = found[ours], found[plain]
        whole = (one["opened"] + one["asked"]) / (other["opened"] + other["asked"])
        asked, peak = one["asked"] / other["asked"], one["peak_mb"] / other["peak_mb"]
        print(f"  {READERS[ours]:41} {whole:9.2f} {asked:10.2f} {peak:10.2f}")


def checking(tasks, folder):
    found = in_child("checksums", tasks, folder)
    print("\nchecksums, by processor time, in turns with and without")
    for told, key in (("a commit of 25 records", "write"), ("its bytes", "bytes"), ("all rows by Store.rows", "read")):
        with_them, without = found[key]
        unit = "kB" if key == "bytes" else "ms"
        print(f"  {told:41} {with_them:10.1f} {unit} {without:10.1f} {unit}  {with_them / without:6.3f} times")
    first, later, parts, mb = found["verified"]
    print(f"  {'verification of all parts: first, later':41} {first:10.1f} ms {later:10.1f} ms", end="")
    print(f"  {parts:,} parts, {mb:.0f} MB; reading all rows took {found['read'][0]:.0f} ms besides")


def compacting(tasks, folder):
    found = in_child("compact", tasks, folder)
    print(f"\ncompacted in {found['clock']:.1f} s, peak memory {found['peak_mb']:.0f} MB, ", end="")
    print(f"then {size_of(folder / 'store') / tasks / 1e3:.2f} kB a task")


def ratio(name, ours, plain):
    print(f"  {name}: {ours / plain:.2f} times")


def same(ours, theirs, what):
    if ours != theirs:
        raise SystemExit(f"{what}: the sides give different rows, so their speed means nothing")


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def batches(tasks):
    """Records, ``BATCH`` at a time."""
    records = synthetic_records(tasks, run_id=RUN)
    while batch := list(islice(records, BATCH)):
        yield batch


# Sides that write, each in a process of its own; making the rows is not timed


class Stopwatch:
    """Clock and processor time, all threads included, of what is done under it."""

    def __init__(self):
        self.clock = self.processor = 0.0

    def __enter__(self):
        self._since = time.perf_counter(), time.process_time()

    def __exit__(self, *_):
        self.clock += time.perf_counter() - self._since[0]
        self.processor += time.process_time() - self._since[1]


def run(tasks, folder):
    """A real offline run, so that there is a record whose story can be told."""
    from hazardmill.store.store import Store

    sample = Path(__file__).resolve().parent.parent / "sources" / "neiss" / "sample" / "sample.tsv"
    command = [
        sys.executable,
        "-m",
        "hazardmill.cli.main",
        "run",
        "generate",
        "--source",
        "neiss",
        "--input",
        str(sample),
    ]
    options = ["--model", "offline-author", "--run-id", "offline", "--limit", "25", "--jail", "minimal", "--json"]
    subprocess.run([*command, *options, "--store", str(folder / "store")], stdout=subprocess.DEVNULL, check=True)
    accepted = Store.open(folder / "store").rows("outcomes", {"outcome": "accepted"}, ["record_id"])
    (folder / "record").write_text(accepted[-1]["record_id"])
    return {}


def write(tasks, folder):
    return asyncio.run(_write(tasks, folder / "store"))


async def _write(tasks, place):
    from hazardmill.store.store import Store

    spent, rows, batch_seconds = Stopwatch(), 0, []
    with Store.open(place).writer(RUN) as writer:
        for batch in batches(tasks):
            rows += sum(record.rows for record in batch)
            before = spent.clock
            with spent:
                calls = (call for record in batch for call in record.calls)
                await asyncio.gather(*(writer.append({"llm_calls": [call]}) for call in calls))
                for record in batch:
                    await writer.append(record.group)
                await asyncio.to_thread(writer.roll)
            batch_seconds.append(spent.clock - before)
    tenth = max(1, len(batch_seconds) // 10)
    slowing = sum(batch_seconds[-tenth:]) / sum(batch_seconds[:tenth])
    return {"rows": rows, "clock": spent.clock, "processor": spent.processor, "slowing": slowing}


def write_plain(tasks, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from hazardmill.store.schemas import TABLES

    spent, rows, nbytes, waiting = Stopwatch(), 0, 0, {name: [] for name in OF_ONE_RECORD}
    (folder / "plain").mkdir()
    writers = {
        name: pq.ParquetWriter(folder / "plain" / f"{name}.parquet", TABLES[name].schema, compression="zstd")
        for name in OF_ONE_RECORD
    }

    def flush():
        size = 0
        for name, of_table in waiting.items():
            data = pa.Table.from_pylist(of_table, schema=TABLES[name].schema)
            writers[name].write_table(data)
            size += data.nbytes
            of_table.clear()
        return size

    for batch in batches(tasks):
        rows += sum(record.rows for record in batch)
        for record in batch:
            for name, of_table in {**record.group, "llm_calls": record.calls}.items():
                waiting[name] += of_table
        # Ten gigabytes of rows are not held at once: groups of about a thousand tasks.
        if len(waiting["records"]) >= 1000:
            with spent:
                nbytes += flush()
    with spent:
        nbytes += flush()
        for writer in writers.values():
            writer.close()
    return {"rows": rows, "mb": nbytes / 1e6, "clock": spent.clock, "processor": spent.processor}


def make(tasks, folder):
    return {"rows": sum(record.rows for batch in batches(tasks) for record in batch)}


def compact(tasks, folder):
    from hazardmill.store.store import Store

    spent = Stopwatch()
    with spent:
        Store.open(folder / "store").compact()
    return {"clock": spent.clock, "processor": spent.processor}


def checksums(tasks, folder):
    """Milliseconds of processor time, and kB, each with and without; medians of the same work done in turns."""
    import pyarrow.dataset as ds

    from hazardmill.store.files import footers, parts
    from hazardmill.store.files.verified import VerifiedParts
    from hazardmill.store.rows import pack, to_arrow
    from hazardmill.store.schemas import TABLES
    from hazardmill.store.snapshot import read_table

    snapshot = ours(folder).snapshot()
    listed, alone = snapshot.listed(), folder / "checksums"
    alone.mkdir()
    verifications = []
    for place in (folder / "none" / "none", alone / "verified", alone / "verified"):
        spent = Stopwatch()
        with spent:
            VerifiedParts(place).refuse_damage(listed)
        verifications.append(spent.processor * 1e3)

    def write(batch, checks):
        parts.COMPRESSION["write_page_checksum"] = checks
        size, spent = 0, Stopwatch()
        for name, data in batch.items():
            path = alone / f"{name}.parquet"
            with spent:
                parts.write_part(TABLES[name], data, path, path.name)
            size += path.stat().st_size
        return spent.processor * 1e3, size / 1e3

    def read(_, checks):
        footers._FORMAT = ds.ParquetFileFormat(
            default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=checks)
        )
        spent = Stopwatch()
        with spent:
            for name in OF_ONE_RECORD:
                read_table(snapshot, TABLES[name])
        return spent.processor * 1e3, 0

    def in_turns(work, inputs):
        done = {True: [], False: []}
        for number, given in enumerate(inputs):
            for checks in (True, False) if number % 2 else (False, True):
                done[checks].append(work(given, checks))
        return [[statistics.median(one[k] for one in done[checks]) for checks in (True, False)] for k in (0, 1)]

    groups = []
    for batch in islice(batches(tasks), 40):
        rows = {name: [] for name in OF_ONE_RECORD}
        for record in batch:
            for name, some in {**record.group, "llm_calls": record.calls}.items():
                rows[name] += [pack(TABLES[name], row) for row in some]
        groups.append({name: to_arrow(TABLES[name], some) for name, some in rows.items() if some})
    written, size = in_turns(write, groups)
    taken, _ = in_turns(read, range(6))
    mb = sum(part.size for _, part in listed) / 1e6
    return {
        "write": written,
        "bytes": size,
        "read": taken,
        "verified": [verifications[0], verifications[2], len(listed), mb],
    }


# How long an answer that was read can be lost


def answers(count, folder):
    server = subprocess.Popen(
        [sys.executable, __file__, "--child", "server", "0", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with server:
        address = json.loads(server.stdout.readline())
        found = asyncio.run(_answers(count, folder / "store", address))
        server.stdin.close()
        server.stdout.read()
    return found


def server(_, folder):
    from hazardmill.testing.llm_server import LlmServer

    # As long as a draft, and not one like the other.
    text = json.dumps([hashlib.sha256(str(number).encode()).hexdigest() for number in range(60)])
    with LlmServer(lambda asked: text, latency=0.5) as serving:
        print(json.dumps(serving.address), flush=True)
        sys.stdin.read()
    return {}


async def _answers(count, place, address):
    """Ask for so many answers through all of the client; the times of each, as measured at each layer it passes."""
    import httpx

    from hazardmill.llm.backends.litellm import LitellmBackend
    from hazardmill.llm.client import Client
    from hazardmill.llm.ledger import Ledger
    from hazardmill.llm.limits.limiter import Limiter
    from hazardmill.llm.prices import Prices
    from hazardmill.llm.requests import Message, Request
    from hazardmill.store.store import Store

    own, marks = ContextVar("mark"), []
    aread, complete, hand_over = httpx.Response.aread, LitellmBackend.complete, Ledger.hand_over

    async def reads(response):
        body = await aread(response)
        own.get().setdefault("read", time.perf_counter())
        return body

    async def completes(backend, request):
        completion = await complete(backend, request)
        own.get()["completed"] = time.perf_counter()
        return completion

    def hands_over(ledger, attempt, number=None):
        mark = own.get()
        handed = hand_over(ledger, attempt, number)
        if attempt.completion is not None:
            mark["handed"] = time.perf_counter()
            handed.written.add_done_callback(lambda _: mark.__setitem__("written", time.perf_counter()))
        return handed

    httpx.Response.aread, LitellmBackend.complete, Ledger.hand_over = reads, completes, hands_over

    async def ask(client, number):
        mark = {}
        own.set(mark)
        text = f"{number}: What is dangerous here? " * 100
        await client.ask(Request(stage="author", model=MODEL, messages=(Message(role="user", content=text),)))
        marks.append(mark)

    os.environ["DEEPSEEK_API_KEY"] = "none"
    store = Store.open(place, create=True)
    with store.writer(RUN) as writer:
        ledger = Ledger(store, writer, RUN)
        client = Client(LitellmBackend(address), ledger, limiter=Limiter(IN_FLIGHT), prices=Prices.load())
        # What is loaded at the first request is no matter of the others.
        await ask(client, -1)
        marks.clear()
        began, left = time.perf_counter(), iter(range(count))

        async def worker():
            for number in left:
                await ask(client, number)
                if number % 100 == 99:
                    await asyncio.to_thread(writer.roll)

        await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
        clock = time.perf_counter() - began
    spans = {
        "read, until the client library gave it": ("read", "completed"),
        "given, until handed to the journal": ("completed", "handed"),
        "handed over, until on disk": ("handed", "written"),
        "read, until on disk": ("read", "written"),
    }
    return {
        "clock": clock,
        "milliseconds": {
            **{
                told: spread([(mark[end] - mark[begin]) * 1e3 for mark in marks])
                for told, (begin, end) in spans.items()
            },
            "for comparison: an fsync alone": spread(list(fsyncs(place.parent / "alone", 200))),
        },
    }


def fsyncs(path, count):
    """Milliseconds of each of so many writes of an answer's size, with nothing else to do."""
    with path.open("wb", buffering=0) as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * 8000)
            os.fsync(file)
            yield (time.perf_counter() - began) * 1e3


def spread(values):
    """The quantiles, and the largest."""
    hundredths = statistics.quantiles(values, n=100)
    return [*(hundredths[int(name[1:]) - 1] for name in QUANTILES), max(values)]


# Sides that read


def asked(connect, ask):
    """Seconds to open, the median of asking five times (or for ten seconds), and the answer, made comparable."""
    started = time.perf_counter()
    opened = connect()
    to_open, seconds = time.perf_counter() - started, []
    while len(seconds) < 5 and sum(seconds) < 10:
        started = time.perf_counter()
        answer = ask(opened)
        seconds.append(time.perf_counter() - started)
    # Sorted, because none of the sides promises an order.
    told = {
        what: sorted(str([str(row[name]) for name in sorted(row)]) for row in rows) for what, rows in answer.items()
    }
    return {
        "opened": to_open,
        "asked": statistics.median(seconds),
        "answer": hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest(),
    }


def ours(folder):
    from hazardmill.store.store import Store

    return Store.open(folder / "store")


def plain(folder):
    """DuckDB on the same parts, one view a table, as anybody would write it."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in OF_ONE_RECORD:
        connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{folder / 'store' / name}/*.parquet')")
    return connection


def funnel_of(connection):
    page = (Path(__file__).resolve().parent.parent / "docs" / "queries.md").read_text()
    queries = {
        title: re.search(rf"^## {re.escape(title)}\n.*?```sql\n(.*?)```", page, re.DOTALL | re.MULTILINE)[1]
        for title in FUNNEL
    }
    return {title: rows_from(connection, sql) for title, sql in queries.items()}


def rows_from(connection, sql, parameters=()):
    found = connection.execute(sql, parameters)
    names = [column[0] for column in found.description]
    return [dict(zip(names, values, strict=True)) for values in found.fetchall()]


def of_record(connection, record_id):
    return {name: rows_from(connection, f"FROM {name} WHERE record_id = ?", [record_id]) for name in OF_ONE_RECORD}


def funnel(tasks, folder):
    return asked(lambda: ours(folder).connect(), funnel_of)


def funnel_plain(tasks, folder):
    return asked(lambda: plain(folder), funnel_of)


def why(tasks, folder):
    def connect():
        # What is imported is part of opening, here as elsewhere.
        from hazardmill.report.why.build import build_story

        return ours(folder), build_story

    def ask(opened):
        store, build_story = opened
        story = build_story(store, record_in(folder), reread=False)
        assert story.task is not None
        return {}

    return asked(connect, ask)


def rows(tasks, folder):
    def ask(store):
        return {name: store.rows(name, {"record_id": record_in(folder)}) for name in OF_ONE_RECORD}

    return asked(lambda: ours(folder), ask)


def views(tasks, folder):
    return asked(lambda: ours(folder).connect(), lambda connection: of_record(connection, record_in(folder)))


def rows_plain(tasks, folder):
    return asked(lambda: plain(folder), lambda connection: of_record(connection, record_in(folder)))


def record_in(folder):
    return (folder / "record").read_text()


READERS = {
    "funnel": "funnel by our views",
    "funnel_plain": "funnel by plain DuckDB",
    "why": "why: the story of a record",
    "rows": "rows of a record by Store.rows",
    "views": "rows of a record by our views",
    "rows_plain": "rows of a record by plain DuckDB",
}
SIDES = {
    "run": run,
    "write": write,
    "write_plain": write_plain,
    "make": make,
    "answers": answers,
    "server": server,
    "compact": compact,
    "checksums": checksums,
    "funnel": funnel,
    "funnel_plain": funnel_plain,
    "why": why,
    "rows": rows,
    "views": views,
    "rows_plain": rows_plain,
}


def in_child(side, tasks, folder):
    command = [sys.executable, __file__, "--child", side, str(tasks), str(folder)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def peak_mb():
    # Not getrusage: its peak begins with that of the process which started this one.
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
