"""How fast and in how much memory the sources are read, against plain readers of the same files.

    python benchmarks/ingest.py [--quick] [--rows N] [--bulk] [--source NAME ...]

The files are generated, of the size of the public sets, with their oddities. Ours reads, validates, decodes and hashes
every item in one process, and must give the counts that were written, or the run ends with an error; the baselines
only read. Each side runs in a process of its own, in turns, and its best of three counts: ours by processor time, so
that other work on the machine falls out of its one thread, a baseline by the lesser of processor time and clock.
"Split and hashed" is no baseline but the floor: what hashing each row or file takes in Python with nothing asked of it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hazardmill.ingest.ingest import ANYTHING, ingest
from hazardmill.ingest.sources import load_source
from hazardmill.records import Record, content_hash

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the factories are the tests'

from factories.generated import WRITERS, write_full

GOAL = 10
"""Most times that a baseline's time may be taken."""
MOST_MB = 500
NEISS_YEAR = 410_201


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the items, one repeat")
    parser.add_argument(
        "--rows", type=int, help=f"so many NEISS rows instead of {NEISS_YEAR:,}, the others in proportion"
    )
    parser.add_argument("--bulk", action="store_true", help="ALFRED files of their real size: 1.1 GB")
    parser.add_argument("--source", action="append", choices=sorted(WRITERS), help="only this source; may be repeated")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(*options.child)
    sys.stdout.reconfigure(line_buffering=True)
    share = options.rows / NEISS_YEAR if options.rows else 0.05 if options.quick else 1.0
    repeats = 1 if options.quick else 3
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, best of {repeats}")
    short = []
    for name in options.source or WRITERS:
        with tempfile.TemporaryDirectory() as folder:
            written = write_full(name, Path(folder) / "input", share=share, bulk=options.bulk)
            short += [name] * (not one_source(name, written, repeats))
            whole_command(name, written, Path(folder) / "store")
    print(f"\ngoal: at most {GOAL} times the baseline. " + (f"Short: {', '.join(short)}" if short else "All reach it."))
    return 0


# One source


def one_source(name, written, repeats):
    """Time and memory of each side; whether the goal is reached against every baseline."""
    sides = ("ours", *BASELINES[name], "floor")
    best = {}
    for _ in range(repeats):
        for side in sides:
            found = in_child(side, name, written.path)
            best[side] = {key: min(value, best.get(side, found)[key]) for key, value in found.items()}
    ours = best["ours"]
    got = tuple(ours[key] for key in ("records", "repeats", "rejects"))
    if got != (written.records, written.repeats, written.rejects):
        raise SystemExit(f"{name}: {got} is not what was written: its speed means nothing")
    items, size = sum(got), size_of(written.path)
    print(f"\n{name}: {items:,} items, {size / 1e6:,.1f} MB" + " " * 24 + "processor    clock")
    for side in sides:
        told_as = {"ours": "ours, validated and hashed", "floor": FLOOR, **BASELINES[name]}[side]
        print(f"  {told_as:45} {best[side]['processor']:8.3f} s {best[side]['clock']:8.3f} s")
    print(f"  ours: {items / ours['processor']:,.0f} items a second")
    reached = True
    for side, told_as in BASELINES[name].items():
        ratio = ours["processor"] / min(best[side]["processor"], best[side]["clock"])
        reached &= ratio <= GOAL
        print(f"  ratio to {told_as}: {ratio:.1f} (goal: at most {GOAL})  {told(ratio <= GOAL)}")
    print(f"  ratio to the floor: {ours['processor'] / best['floor']['processor']:.1f}")
    print(f"  peak memory {ours['peak_mb']:.0f} MB (goal: under {MOST_MB})  {told(ours['peak_mb'] < MOST_MB)}")
    return reached


def size_of(path):
    return path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in files_of(path))


def files_of(path):
    return [file for file in path.rglob("*") if file.is_file()]


def told(yes):
    return "PASS" if yes else "short"


# Sides, each in a process of its own


def in_child(side, name, path):
    command = [sys.executable, __file__, "--child", side, name, str(path)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def child(side, name, path):
    call = SIDES[side]
    # What is imported is no part of reading.
    importlib.import_module("pyarrow.csv") if side in _ARROW else load_source(name)
    clock, processor = time.perf_counter(), time.process_time()
    found = call(name, Path(path)) or {}
    spent = {"clock": time.perf_counter() - clock, "processor": time.process_time() - processor}
    print(json.dumps({**found, **spent, "peak_mb": peak_mb()}))
    return 0


def ours(name, path):
    source = load_source(name)
    run = ingest(source, path, where=dict.fromkeys(source.default_where, ANYTHING))
    hashed = sum(bool(item.content_hash) for item in run if isinstance(item, Record))
    return {"records": hashed, "repeats": run.counts.repeats, "rejects": run.counts.rejects}


def arrow(name, path, *, threads=True):
    from pyarrow import csv as arrow_csv

    tabs = path.suffix == ".tsv"
    arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(use_threads=threads),
        parse_options=arrow_csv.ParseOptions(
            delimiter="\t" if tabs else ",",
            quote_char=False if tabs else '"',
            # The record that is split in two.
            invalid_row_handler=lambda row: "skip",
        ),
    )


def one_thread(name, path):
    arrow(name, path, threads=False)


def loaded(name, path):
    for file in files_of(path):
        data = file.read_bytes()
        if file.suffix == ".json":
            with contextlib.suppress(ValueError):  # the file that is cut off
                json.loads(data)


def read(name, path):
    for file in files_of(path):
        file.read_bytes()


def floor(name, path):
    """What hashing in Python cannot go below: the cells of each row, or each file's text, as JSON into SHA-256."""
    if path.is_file():
        with path.open(encoding="cp1252", newline="") as file:
            tabs = path.suffix == ".tsv"
            dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {}
            for row in csv.reader(file, **dialect):
                content_hash(row)
    else:
        for file in files_of(path):
            content_hash(file.read_text())


FLOOR = "each row or file split and hashed, no more"
SIDES = {"ours": ours, "arrow": arrow, "one_thread": one_thread, "loaded": loaded, "read": read, "floor": floor}
_ARROW = {"arrow": "pyarrow.csv, its own threads", "one_thread": "pyarrow.csv, one thread"}
BASELINES = {
    "neiss": _ARROW,
    "normbank": _ARROW,
    "alfred": {"loaded": "json.loads of each file"},
    "virtualhome": {"loaded": "both files read, json.loads of one"},
    "bddl": {"read": "bytes of each file"},
}


# The whole command

COMMAND = """
import atexit, sys, time
start = time.perf_counter()
def tell():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(time.process_time(), time.perf_counter() - start, int(line.split()[1]) / 1024, file=sys.stderr)
atexit.register(tell)
from hazardmill.cli.main import main
main()
"""


def whole_command(name, written, store):
    """``hazardmill ingest`` into a new store, and once more into the same."""
    where = [f"--where={key}={ANYTHING}" for key in load_source(name).default_where]
    told_twice = []
    for expected in (written.records, 0):
        arguments = ["ingest", "--source", name, str(written.path), "--store", str(store), "--json", *where]
        ended = subprocess.run([sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, check=False)
        if ended.returncode or json.loads(ended.stdout)["new_records"] != expected:
            raise SystemExit(f"`hazardmill ingest` went wrong: {ended.stderr[-400:] or ended.stdout[-400:]}")
        told_twice.append([float(figure) for figure in ended.stderr.split()[-3:]])
    items = written.records + written.repeats + written.rejects
    for what, (processor, clock, peak) in zip(("hazardmill ingest", "the same again"), told_twice, strict=True):
        print(f"  {what:45} {processor:8.3f} s {clock:8.3f} s")
        print(f"    {items / processor:,.0f} items a second, peak memory {peak:.0f} MB  {told(peak < MOST_MB)}")


def peak_mb():
    # Not getrusage: its peak begins with that of the process which started this one.
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
