"""What users wait for: commands of an older commit and of this checkout, in turns.

    python benchmarks/waits.py --before COMMIT [--row NAME ...] [--times N] [--reports N] [--models N] [--inputs FOLDER]

Each row is a command that people type, in a process of its own, cold: no server, nothing loaded before. Both sides read
the same files, which this checkout makes first (the demo's store and release, plans for them, a file of NEISS reports
in a store), and both run once before anything is timed, so that neither compiles its modules then. In each pair of
turns the side that begins changes. A ratio is the older commit's time divided by this checkout's, in a pair; printed
are the median and the range over all pairs, of processor time (children included) and of wall time.

Outputs are compared: standard output, and every byte of what was written. The exit code is 1 if a row gives other
bytes than before.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cached_property
from pathlib import Path

from hazardmill import load_release

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the factories are the tests'

from factories.generated import write_full

PROJECT = Path(__file__).resolve().parent.parent
HAZARDMILL = [sys.executable, "-c", "from hazardmill.cli.main import main; main()"]
LOAD = """
import sys
from hazardmill import load_release
task = next(iter(load_release(sys.argv[1]).tasks()))
print(task.task_id, task.verdict(task.safe_plan).safe)
"""
YEAR = 410_202
"""Reports of the largest year of NEISS."""


class Inputs:
    """What the commands read, each made by this checkout when it is first asked for."""

    def __init__(self, folder, reports, models):
        self.folder, self.reports, self.models = folder, reports, models

    @cached_property
    def release(self):
        if not (self.folder / "demo").exists():
            self._run("demo", "--out", self.folder / "demo")
        (found,) = (self.folder / "demo").glob("release*")
        return found

    @cached_property
    def document(self):
        """A document of the release, in a file."""
        path = self.folder / "task.json"
        path.write_text(json.dumps(next(iter(load_release(self.release).tasks())).document.to_json()), encoding="utf-8")
        return path

    @property
    def plan(self):
        return next(iter(load_release(self.release).tasks())).safe_plan

    @cached_property
    def plans(self):
        """The safe plan of every task for each of the models, in a text of some length."""
        path = self.folder / "plans.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for task in load_release(self.release).tasks():
                for model in range(self.models):
                    text = f"{'Let me think. ' * (model + 1)}\n{task.safe_plan}"
                    row = {"task_id": task.task_id, "model": f"model-{model}", "answer": text}
                    stream.write(json.dumps(row) + "\n")
        return path

    @property
    def store(self):
        return self.folder / f"store-{self.reports}"

    @cached_property
    def last_report(self):
        """The id of the last record that a file of NEISS adds to a store."""
        path = self.folder / f"reports-{self.reports}" / "neiss2025.tsv"
        if not path.exists():
            path = write_full("neiss", path.parent, share=self.reports / YEAR).path
            self._run("ingest", "--source", "neiss", path, "--store", self.store)
        # The file ends with cases that it had before.
        *_, last = dict.fromkeys(line.split(b"\t")[0] for line in path.read_bytes().splitlines())
        return f"neiss:{last.decode()}"

    def _run(self, *words):
        side(PROJECT, self.folder, [*HAZARDMILL, *words])


ROWS = {
    "help": lambda _: [*HAZARDMILL, "--help"],
    "validate": lambda given: [*HAZARDMILL, "task", "validate", given.document, "--plan", given.plan, "--json"],
    "load": lambda given: [sys.executable, "-c", LOAD, given.release],
    "score": lambda given: [
        *(*HAZARDMILL, "evaluate", "score", "--release", given.release, "--plans", given.plans),
        *("--out", "OUT/scores", "--json"),
    ],
    "why": lambda given: [*HAZARDMILL, "why", given.last_report, "--store", given.store],
}
"""The words of each command, where OUT is a folder for what it writes."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--before", required=True, help="the older commit")
    parser.add_argument("--row", action="append", choices=[*ROWS], help="only this")
    parser.add_argument("--times", type=int, default=7, help="so many pairs")
    parser.add_argument("--reports", type=int, default=YEAR, help="NEISS reports for `why`")
    parser.add_argument("--models", type=int, default=23, help="models for `score`")
    parser.add_argument("--inputs", type=Path, help="folder that keeps what the commands read, for another time")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, {options.times} pairs"
    )
    print("\n| command | before, s | now, s | ratio of processor time | of wall time | outputs |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory(prefix="hazardmill-waits-") as name:
        folder = Path(name)
        before = checked_out(options.before, folder / "before")
        inputs = Inputs((options.inputs or folder / "inputs").resolve(), options.reports, options.models)
        inputs.folder.mkdir(exist_ok=True)
        same = [compared(row, ROWS[row](inputs), before, folder, options.times) for row in options.row or ROWS]
    return 0 if all(same) else 1


def checked_out(commit, folder):
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=PROJECT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
    return folder


def compared(row, words, before, folder, times):
    """Print a row; false if the outputs differ."""
    sides = {"before": before, "now": PROJECT}
    outputs = {side(checkout, folder, words)[2] for checkout in sides.values()}
    pairs = []
    for number in range(times):
        order = list(sides) if number % 2 == 0 else [*sides][::-1]
        pairs.append({name: side(sides[name], folder, words) for name in order})
    cells = [f"{statistics.median(pair[name][0] for pair in pairs):.2f}" for name in sides]
    for which in (0, 1):
        ratios = sorted(pair["before"][which] / pair["now"][which] for pair in pairs)
        cells.append(f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    outputs |= {pair[name][2] for pair in pairs for name in sides}
    same = len(outputs) == 1
    print(f"| {row} | {' | '.join(cells)} | {'equal' if same else 'DIFFERENT'} |")
    return same


def side(checkout, folder, words):
    """Run a command of a checkout: seconds of processor, seconds by the clock, digest of what it said and wrote."""
    out = folder / "out"
    out.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    # Both sides keep what they compile.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    used, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [re.sub(r"^OUT(?=/)", str(out), str(word)) for word in words],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr.decode()}")
    digest = hashlib.sha256(done.stdout)
    for path in sorted(out.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(out)).encode() + path.read_bytes())
    shutil.rmtree(out)
    return after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime, wall, digest.hexdigest()


if __name__ == "__main__":
    raise SystemExit(main())
