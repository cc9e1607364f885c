"""Whether a flipped bit of a store or release is ever read as truth, by any way to read it.

    python benchmarks/flipped_bits.py [--flips N] [--seed N] [--seconds S]

A store with rows in every table, and a release built of it, are damaged N times, one bit each, at places drawn over all
parts and data files. After each flip every reader must give the very result of before, or an error that names the file
and what to do. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

# The factories are the tests'. First, because `store` is also the name of a benchmark.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import pyarrow as pa
import pyarrow.parquet as pq
from factories.release_store import by_model, rewritten, run_offline
from store.factories import row

from hazardmill.errors import HazardmillError
from hazardmill.evaluation.released_tasks import ReleasedTasks
from hazardmill.quality.corpus_thresholds import Thresholds
from hazardmill.quality.dedupe import dedupe_store
from hazardmill.release.build.build import build
from hazardmill.release.build.candidates import gather
from hazardmill.release.build.options import Options
from hazardmill.release.diff.load import open_side
from hazardmill.release.read.release import load_release
from hazardmill.report.html import render_report
from hazardmill.report.why.build import build_story
from hazardmill.store.read_only_sql import query_rows
from hazardmill.store.schemas import TABLES

FLIPS = 500
OPTIONS = Options(version="1.0.0", policy="none", waive={"corpus": "a few samples"}, thresholds=Thresholds(enough=1))
SAME, TOLD, WRONG = "the same", "an error that names it", "wrong"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--flips", type=int, default=FLIPS, help=f"so many flips, by default {FLIPS}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no flip after this time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hazardmill-flips-") as name:
        store, release = make(Path(name))
        parts = sorted(path for table in TABLES for path in (store.path / table).glob("*.parquet"))
        data = sorted(release.rglob("data/**/*.parquet"))
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {len(parts)} parts, {len(data)} data files")
        return flip_and_read(options, (parts, data), (of_store(store, Path(name)), of_release(release)))


def flip_and_read(options, files, readers):
    before = [{name: read() for name, read in side.items()} for side in readers]
    random, began = Random(options.seed), time.perf_counter()
    counts, plain = collections.Counter(), collections.Counter()
    done = 0
    while done < options.flips and time.perf_counter() - began < options.seconds:
        # A fifth in the release. Each file is as likely as any other, so that small tables are hit too.
        side = int(done % 5 == 4)
        path = random.choice(files[side])
        whole = path.read_bytes()
        flip(path, whole, random.randrange(8 * len(whole)))
        plain[read_plainly(path, whole)] += 1
        for name, read in readers[side].items():
            counts[name, judge(read, before[side][name], path)] += 1
        path.write_bytes(whole)
        done += 1
    print(f"{done} flips in {time.perf_counter() - began:.0f} s")
    outcomes = (SAME, TOLD, WRONG)
    print(" " * 34 + "".join(f"{outcome:>24}" for outcome in outcomes))
    for name in dict.fromkeys(name for name, _ in counts):
        print(f"  {name:32}" + "".join(f"{counts[name, outcome]:24}" for outcome in outcomes))
    print(f"  {'for comparison: pyarrow alone':32}" + "".join(f"{plain[outcome]:24}" for outcome in outcomes))
    # Every file is mended, and is read again.
    healed = all(read() == before[side][name] for side in (0, 1) for name, read in readers[side].items())
    reached = healed and not any(outcome == WRONG for _, outcome in counts)
    print(f"goal: none read as truth: {'reached' if reached else 'short'}")
    return 0 if reached else 1


def flip(path, whole, bit):
    spoilt = bytearray(whole)
    spoilt[bit // 8] ^= 1 << bit % 8
    path.write_bytes(spoilt)


def judge(read, before, path):
    try:
        return SAME if read() == before else WRONG
    except HazardmillError as error:
        # The error for a release that is checked whole has its folder, and names the file in the message.
        names = str(path) == error.file or path.name in error.message
        return TOLD if names and error.remedy else WRONG


def read_plainly(path, whole):
    try:
        return SAME if pq.read_table(path).equals(pq.read_table(pa.BufferReader(whole))) else WRONG
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return TOLD


def make(folder):
    """A store with rows in every table, and a release."""
    store = rewritten(run_offline(folder / "offline", limit=2), folder / "store", by_model)
    release = build(store, None, OPTIONS, folder / "release").folder
    with store.writer("more") as writer:
        writer.append_sync({name: [row(name, run_id="more")] for name in TABLES if not store.count(name)})
    return store, release


def of_store(store, folder):
    accepted = store.rows("outcomes", {"outcome": "accepted"}, ["run_id", "record_id"])[0]

    def view(name):
        return store.query(lambda views: views.execute(f"FROM {name} ORDER BY ALL").fetchall(), [name])

    def candidates():
        with tempfile.TemporaryDirectory(dir=folder) as working:
            found = gather(store, None, OPTIONS, Path(working))
            try:
                return [candidate.task_id for candidate in found.candidates]
            finally:
                found.close()

    return {
        "Store.rows": lambda: [store.rows(name) for name in TABLES],
        "views": lambda: [view(name) for name in TABLES],
        "connect": lambda: store.connect().execute("FROM tasks_latest ORDER BY ALL").fetchall(),
        "query": lambda: query_rows(store, "SELECT * FROM checks ORDER BY ALL"),
        "report": lambda: store.query(lambda views: render_report(views, [accepted["run_id"]])),
        "why": lambda: repr(build_story(store, accepted["record_id"], reread=False)),
        "digest": store.digest,
        "release build": candidates,
        "dedupe": lambda: repr(dedupe_store(store)),
    }


def of_release(folder):
    def rows():
        release = load_release(folder)
        return [list(release.rows(name)) for name in release.configs()]

    return {
        "load_release": rows,
        "evaluate": lambda: repr([item.task_id for item in load_release(folder)]) + str(len(list(of_tasks(folder)))),
        "diff": lambda: open_side(folder).manifest,
    }


def of_tasks(folder):
    return ReleasedTasks(load_release(folder), twins=True, unavoidable=True)


if __name__ == "__main__":
    sys.exit(main())
