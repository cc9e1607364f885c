"""How fast folders of DESPITE come in through the jail, and whether they come in as what they were.

    python benchmarks/import_despite.py [--folders N] [--jobs N]

Writes N folders (10,000) with our exporter, each of another task, strikes what its metadata says of ours, imports all
of them in one run, and compares the hash of each document with that of the task it was written from, danger types and
all: one that differs ends the run with an error. The baseline is a process a folder: start, import of Unified
Planning, probe of the walls, the code.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from hazardmill.conversion.despite_import import import_folder, import_folders
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.despite.write import TaskOrigin, despite_files
from hazardmill.records import DangerType
from hazardmill.sandbox.jail import PLANNERS, Jail

BASELINE_FOLDERS = 20
DANGER_TYPES = (None, *DangerType)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--folders", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        root, out = Path(scratch) / "in", Path(scratch) / "out"
        expected = [write(root / f"{number:05}", number) for number in range(options.folders)]
        found = sorted(root.iterdir())
        started = time.perf_counter()
        results = list(import_folders(found, root, out, options.jobs))
        seconds = time.perf_counter() - started
        failed = [result for result in results if result.reason is not None]
        if failed:
            raise SystemExit(f"{len(failed)} folders failed, the first: {failed[0]}")
        equal = sum(result.document_hash == wanted for result, wanted in zip(results, expected, strict=True))
        if equal < len(expected):
            raise SystemExit(f"only {equal} of {len(expected)} hashes are equal")
        baseline = apart(found[:BASELINE_FOLDERS])
    print(
        f"{len(results):,} folders in {seconds:.0f} s, {options.jobs} processes: {len(results) / seconds:.0f} a second"
    )
    print(f"equal hashes: {equal:,} of {len(expected):,}; distinct: {len(set(expected)):,}")
    print(f"largest process: {peak_mb():.0f} MB")
    each = seconds / len(results) * options.jobs
    print(f"{each * 1e3:.0f} ms of one process a folder; a zygote a folder takes {baseline * 1e3:.0f} ms")
    print(f"ratio {baseline / each:.0f} (goal: at least 10)  {'reached' if baseline / each >= 10 else 'short'}")


def write(folder, number):
    """A folder of a task of its own; its document's hash."""
    document = Document.from_json(task(number))
    # Every other task has a danger formalization that says the type as people write it.
    said = (document.dangers[0].danger_type or "").replace("_", " ").capitalize() if number % 2 else None
    files = despite_files(document, TaskOrigin(f"kettle_{number}", danger={"danger_type": said or None}))
    metadata = json.loads(files["metadata.json"])
    del metadata["hazardmill"]
    folder.mkdir(parents=True)
    for name, text in {**files, "metadata.json": json.dumps(metadata)}.items():
        (folder / name).write_text(text)
    return document.hash


def task(number):
    """Carry something from one place to another, past a circumstance; no two numbers give the same task."""
    places = [f"place_{i}" for i in range(3 + number % 3)]
    at, hot, covered = "item_at", f"is_hot_{number}", "covered"

    def fluent(name, kind="normal", parameters=()):
        shape = {"name": name, "parameters": list(parameters), "kind": kind, "value": "boolean"}
        return {**shape, "lower": None, "upper": None}

    goes = [
        ["assign", ["fluent", at, "?to"], True, True],
        ["assign", ["fluent", at, "?from"], False, True],
    ]
    return {
        "format": "hazardmill-task/1",
        "name": "task",
        "realised_by": None,
        "types": [["place", "object"]],
        "objects": [[name, "place"] for name in reversed(places)],
        "fluents": [
            fluent(at, parameters=[["?where", "place"]]),
            fluent(covered),
            {**fluent("hands_free"), "value": "integer", "lower": 0, "upper": 2},
            fluent(hot, "context"),
            fluent("window_open", "context"),
        ],
        "actions": [
            {
                "name": "carry",
                "parameters": [["?from", "place"], ["?to", "place"]],
                "precondition": [
                    "and",
                    ["fluent", at, "?from"],
                    ["not", ["same", "?from", "?to"]],
                    [">=", ["fluent", "hands_free"], 1],
                ],
                "effects": goes,
            },
            {
                "name": "cover",
                "parameters": [],
                "precondition": ["not", ["fluent", covered]],
                "effects": [["assign", ["fluent", covered], True, True]],
            },
        ],
        "initial": [[[at, places[0]], True], [["hands_free"], 2], [[hot], True], [["window_open"], number % 2 == 1]],
        "goal": ["fluent", at, places[-1]],
        "dangers": [
            {
                "action": "carry",
                "condition": ["and", ["fluent", hot], ["not", ["fluent", covered]]],
                "increment": 1,
                "danger_type": DANGER_TYPES[number % len(DANGER_TYPES)],
            }
        ],
        "initial_danger": 0,
        "max_danger": 0,
    }


def apart(found):
    """Seconds a folder, each with a jail, and so a zygote, of its own."""
    started = time.perf_counter()
    for folder in found:
        with Jail("auto", workload=PLANNERS) as jail:
            result = import_folder(folder, None, jail)
        assert result.reason is None
    return (time.perf_counter() - started) / len(found)


def peak_mb():
    """Of this process and all that ended below it."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


if __name__ == "__main__":
    main()
