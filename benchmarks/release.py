"""How long a release takes to build, in how much memory, against writing the same rows with plain pyarrow.

    python benchmarks/release.py [--quick] [--tasks N]

The tasks are real ones: those of an offline run over the samples, each many times with other circumstances, proved like
in a run. Every build is a process of its own; it and its workers are watched while they run. The builds must give the
same bytes, or the run ends with an error. Goals: at most 5 times as long as pyarrow takes, under 2 GB. See README.md
beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the factories are the tests'

TASKS, QUICK = 12_279, 1_000
GOAL, GOAL_GB = 5, 2
WATCHED_S = 0.05

BUILDS = {
    "plain": "pyarrow.parquet, the same rows in the same files",
    "ungated": "ours, no gate, one process",
    "unproved": "ours, all gates but no re-validation, one process",
    "one": "ours, all gates, one process",
    "all": "ours, all gates, a worker a processor",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} tasks instead of {TASKS:,}")
    parser.add_argument("--tasks", type=int, help="so many tasks")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, folder = options.child
        print(json.dumps(SIDES[name](Path(folder))))
        return 0
    sys.stdout.reconfigure(line_buffering=True)
    tasks = options.tasks or (QUICK if options.quick else TASKS)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, {tasks:,} tasks")
    with tempfile.TemporaryDirectory(prefix="hazardmill-release-") as name:
        folder = Path(name)
        print(f"a store of real tasks, made in {make_store(folder, tasks):.0f} s (not compared)")
        compare(folder, tasks)
    return 0


def make_store(folder, tasks):
    from factories.release_store import by_model, multiplied, rewritten, run_offline

    started = time.perf_counter()
    model = rewritten(run_offline(folder / "offline"), folder / "model", by_model)
    multiplied(model, folder / "store", tasks)
    return time.perf_counter() - started


def compare(folder, tasks):
    # The builds come first: what pyarrow is to write is what they wrote.
    found = {side: in_child(side, folder) for side in ("all", "one", "unproved", "ungated", "plain")}
    same = {found[side]["manifest"] for side in ("all", "one")}
    data = {found[side]["data"] for side in ("all", "one", "unproved", "ungated")}
    if len(same) > 1 or len(data) > 1:
        raise SystemExit("the builds gave different bytes, so their speed means nothing")
    plain = found["plain"]
    print(f"{plain['rows']:,} rows in {plain['files']} Parquet files, {plain['mb']:.0f} MB as Arrow has them")
    print(f"{'':54} {'clock':>9} {'processor':>10} {'a task':>11} {'peak':>9}  ratios to pyarrow of both")
    for side, told in BUILDS.items():
        one = found[side]
        clock, processor, peak = one["clock"], one["processor"], one["peak_mb"]
        print(
            f"  {told:54} {clock:7.1f} s {processor:8.1f} s {processor / tasks * 1e3:8.2f} ms {peak:6.0f} MB"
            f" {clock / plain['clock']:7.1f} {processor / plain['processor']:7.1f}"
        )
    ratio = found["all"]["clock"] / plain["clock"]
    peak = max(found[side]["peak_mb"] for side in ("all", "one")) / 1e3
    print(f"time to pyarrow's: {ratio:.1f} (goal at most {GOAL}: {'met' if ratio <= GOAL else 'missed'})")
    print(f"peak memory: {peak:.2f} GB (goal under {GOAL_GB}: {'met' if peak < GOAL_GB else 'missed'})")


def in_child(side, folder):
    """What a side says, and the most memory that its processes had at once."""
    command = [sys.executable, __file__, "--child", side, str(folder)]
    environment = {**os.environ, "PYTHONHASHSEED": str(list(BUILDS).index(side))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        peak = 0
        while child.poll() is None:
            peak = max(peak, sum(map(resident_bytes, family(child.pid))))
            time.sleep(WATCHED_S)
        said = child.stdout.read()
    if child.returncode:
        raise SystemExit(f"the side {side} failed")
    return {**json.loads(said.splitlines()[-1]), "peak_mb": peak / 1e6}


def family(pid):
    """The process and all below it that still are."""
    found = [pid]
    for each in found:
        try:
            for thread in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
    return found


def resident_bytes(pid):
    """Memory of a process; what it shares with others counts in each of them."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


# Sides, each in a process of its own


def build(folder, name, jobs):
    from hazardmill.release.build.build import build as build_release
    from hazardmill.release.build.options import Options
    from hazardmill.store.store import Store

    options = Options(version="1.0.0", policy="none", waive={"corpus": "made for a benchmark"}, jobs=jobs)
    started = time.perf_counter()
    built = build_release(Store.open(folder / "store"), None, options, folder / name)
    clock = time.perf_counter() - started
    times = os.times()
    data = {path: file.sha256 for path, file in built.manifest.files.items() if path.startswith(("data/", "tasks"))}
    return {
        "clock": clock,
        "processor": times.user + times.system + times.children_user + times.children_system,
        "manifest": built.manifest.sha256(),
        "data": json.dumps(data, sort_keys=True),
    }


def all_gates(folder):
    return build(folder, "all", os.cpu_count() or 1)


def one_process(folder):
    return build(folder, "one", 1)


def unproved(folder):
    from hazardmill.quality.duplicates import structure_or_null
    from hazardmill.release.gates import proofs
    from hazardmill.verification.task import TaskVerification

    proofs.verify_task = lambda row, document: TaskVerification((), structure_or_null(document.to_json()))
    return build(folder, "unproved", 1)


def ungated(folder):
    import hazardmill.release.build.build as building

    building.Gates = _Open
    return build(folder, "ungated", 1)


class _Open:
    """Gates that look at nothing."""

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def see(self, row, beside=(), document=None):
        pass

    def results(self):
        return ()


def plain(folder):
    """Write the rows of the finished release, read as Python values, as plain as pyarrow does it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    spent = before = 0.0
    processor = rows = files = nbytes = 0
    for path in sorted((folder / "all" / "data").glob("*/*.parquet")):
        place = folder / "plain" / path.relative_to(folder / "all" / "data")
        place.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetFile(path) as opened, pq.ParquetWriter(place, opened.schema_arrow, compression="zstd") as writer:
            for number in range(opened.num_row_groups):
                values = opened.read_row_group(number).to_pylist()
                before, at_first = time.perf_counter(), time.process_time()
                data = pa.Table.from_pylist(values, schema=opened.schema_arrow)
                writer.write_table(data)
                spent += time.perf_counter() - before
                processor += time.process_time() - at_first
                rows += data.num_rows
                nbytes += data.nbytes
        files += 1
    return {"clock": spent, "processor": processor, "rows": rows, "files": files, "mb": nbytes / 1e6}


SIDES = {"all": all_gates, "one": one_process, "unproved": unproved, "ungated": ungated, "plain": plain}


if __name__ == "__main__":
    sys.exit(main())
