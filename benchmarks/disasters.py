"""The table "When something dies" of docs/operations.md, each row done for real, at moments that a seed draws.

    python benchmarks/disasters.py [--database sqlite|postgres] [--row NAME] [--seed N] [--moments N]

A Prefect server with everything deployed (with PostgreSQL, also with a password), a worker, and runs of `generate`
against a model's server on this machine. At the moment, when so many of a run's requests have come, something dies; the
table says what the flow run showed and what had to be typed. At the end of each moment the store must verify and have
the digest of an undisturbed run of the same records, nothing may be paid for twice but what was in flight, and no flow
run may be Crashed whose process was well. Otherwise the result says what is wrong, and the exit code is 1.

PostgreSQL's programs must be installed; a folder of 16 MB is mounted for the full disk, which only root can do.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from disasters_rows import RECORDS, ROWS, SOURCES, Moment
from disasters_stand import Wholes, standing

GROUPS = (
    ("flow-killed", "worker-stopped", "machine", "provider", "disk"),
    ("event-lost", "damage", "worker-drained"),
    ("worker-killed",),
    ("server",),
    ("database",),
    ("four-workers",),
    ("server-long",),
)
CRASHES_UNHEARD = ("event-lost", "damage")
"""While these are broken, no automation hears of a crash."""


def begin(moment):
    """Do a moment; what it raises is wrong with it."""
    started = time.monotonic()
    try:
        ROWS[moment.row](moment)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        moment.wrong.append(f"{type(error).__name__}: {str(error)[:300]}")
    moment.seconds = time.monotonic() - started
    for each in [moment, *moment.twins]:
        print(each.row_text(moment.stand.kind))


def work(kind, names, count, seed, folder, wholes):
    """Do the moments with one database; returns them."""
    done = []
    with standing(folder, kind, wholes) as stand:
        for lap in itertools.count():
            for group in GROUPS:
                rows = [row for row in group if row in names]
                moments = [
                    Moment(row, stand, folder / f"{row}-{lap}", random.Random(f"{seed} {kind} {row} {lap}"))
                    for row in rows
                ]
                stand.automation("resume", enabled=not set(rows) & set(CRASHES_UNHEARD))
                threads = [threading.Thread(target=begin, args=(moment,)) for moment in moments]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                done += moments
                if sum(1 + len(each.twins) for each in done) >= count:
                    done[0].wrong += _crashed_after_their_end(stand)
                    return done
    return done


def _crashed_after_their_end(stand):
    """Flow runs, of whatever deployment, that had ended well and were set to Crashed."""
    found = []
    for run in stand.post("/flow_runs/filter", flow_runs={"state": {"type": {"any_": ["CRASHED"]}}}):
        names = [name for name, _, _ in stand.history(run["id"])]
        if "Completed" in names:
            found.append(f"{run['name']} was crashed after its end")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--database", choices=["sqlite", "postgres"], help="only this one")
    parser.add_argument("--row", choices=list(ROWS), action="append", help="only this row; may be repeated")
    parser.add_argument("--seed", type=int, default=1, help="draws the moments (1)")
    parser.add_argument("--moments", type=int, default=24, help="how many in all (24, each row on each database)")
    parser.add_argument("--keep", type=Path, help="a folder for what is left, instead of a temporary one")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    kinds = [options.database] if options.database else ["sqlite", "postgres"]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, seed {options.seed}, {time.strftime('%F %R')}\n")
    print("| row | database | moment | seen | typed | lost | paid twice | result |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    folder, wholes, done = options.keep or Path(tempfile.mkdtemp(prefix="disasters-")), Wholes(), []

    def work_with(place, kind):
        count = options.moments // len(kinds) + (place < options.moments % len(kinds))
        (folder / kind).mkdir(parents=True, exist_ok=True)
        done.extend(work(kind, options.row or list(ROWS), count, options.seed, folder / kind, wholes))

    try:
        # Both at once: most of the time is waiting.
        with ThreadPoolExecutor() as threads:
            begun = [threads.submit(work_with, place, kind) for place, kind in enumerate(kinds)]
            for source in dict.fromkeys(SOURCES.values()):
                wholes.of(source, RECORDS)
            for each in begun:
                each.result()
    finally:
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    moments = [each for moment in done for each in [moment, *moment.twins]]
    wrong = sum(bool(moment.wrong) for moment in moments)
    print(f"\n{len(moments)} moments, {wrong} with something wrong; load {os.getloadavg()[0]:.1f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
