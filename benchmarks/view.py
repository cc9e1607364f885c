"""How large the static pages of a release are, how long writing them takes, and how soon a browser shows them.

    python benchmarks/view.py --release demo-out/release [--tasks N]

The tasks are those of the release, each many times. Copies are so far from one another that no file gets smaller by
them, and the words of their titles, records and dangers are shuffled, so that none of these texts is there twice. The
export is a process of its own, whose memory is watched. Chromium opens the page from disk, each time with nothing in
its cache. Goals: 12,000 tasks under 50 MB, and the table on the
screen within 1 s. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import release as builds

TEXTS = ("context", "robot_task", "danger_action", "cause_of_danger", "result_of_danger", "instantaneous_solution")
TASKS, GOAL_MB, GOAL_S, OPENED = 12_000, 50, 1.0, 5


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--release", type=Path, required=True, help="release of which copies are made")
    parser.add_argument("--tasks", type=int, default=TASKS, help="so many tasks")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(export(*map(Path, options.child))))
        return 0
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="hazardmill-view-") as name:
        folder = Path(name)
        multiply(options.release, folder / "release", options.tasks)
        told = watched(options.release, folder / "release", folder / "site")
        print(f"{told['rows']:,} tasks in {told['files']} files, {told['kb']:.2f} kB a task")
        print(f"written in {told['clock']:.0f} s, {told['clock'] / told['rows'] * 1e3:.0f} ms a task")
        print(f"peak memory {told['peak_mb']:.0f} MB")
        met = "met" if told["mb"] < GOAL_MB else "missed"
        print(f"{told['mb']:.1f} MB (goal for {TASKS:,} tasks under {GOAL_MB} MB: {met})")
        look(folder / "site")
    return 0


def multiply(place, folder, tasks):
    """Write a release with so many tasks, made of the tasks of another one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from hazardmill.release.build.configs import CONFIGS, base_of
    from hazardmill.release.manifest import file_of
    from hazardmill.release.read.release import Release

    source = Release(place)
    rows = [row for config in source.configs() if base_of(config) == "tasks" for row in source.rows(config)]
    path = folder / "data" / "tasks" / "train.parquet"
    path.parent.mkdir(parents=True)
    with pq.ParquetWriter(path, CONFIGS["tasks"].schema, compression="zstd") as writer:
        for first in range(0, tasks, 256):
            made = [copy(rows[number % len(rows)], number) for number in range(first, min(first + 256, tasks))]
            writer.write_table(pa.Table.from_pylist(made, schema=CONFIGS["tasks"].schema))
    counts = {"tasks": {"train": tasks}}
    files = {"data/tasks/train.parquet": file_of(path, tasks)}
    source.manifest.model_copy(update={"tasks": tasks, "counts": counts, "files": files}).write(folder)


def copy(row, number):
    """A row under another id, in whose texts each word has another place."""
    shuffled = Random(number)

    def shuffle(text):
        words = text.split()
        shuffled.shuffle(words)
        return " ".join(words)

    document = json.loads(row["document"])
    texts = {name: shuffle(text) for name, text in document.get("texts", {}).items()}
    told = {name: shuffle(row[name]) for name in TEXTS if row[name]}
    return {**row, **told, "task_id": f"task-{number:06}", "document": json.dumps({**document, "texts": texts})}


def watched(release, place, out):
    """What the export says, and the most memory that it had."""
    command = [sys.executable, __file__, "--release", str(release), "--child", str(place), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        peak = 0
        while child.poll() is None:
            peak = max(peak, sum(map(builds.resident_bytes, builds.family(child.pid))))
            time.sleep(builds.WATCHED_S)
        said = child.stdout.read()
    if child.returncode:
        raise SystemExit("the export failed")
    return {**json.loads(said.splitlines()[-1]), "peak_mb": peak / 1e6}


def export(place, out):
    from hazardmill.release.read.release import Release
    from hazardmill.viewer.export import export_view
    from hazardmill.viewer.opinions import PlannerResults
    from hazardmill.viewer.release import ReleaseView

    started = time.perf_counter()
    said = export_view(ReleaseView(Release(place), PlannerResults([])), out)
    clock = time.perf_counter() - started
    kb = said.bytes / 1e3 / said.rows
    return {"rows": said.rows, "files": said.files, "mb": said.bytes / 1e6, "kb": kb, "clock": clock}


def look(site):
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    address = (site / "index.html").as_uri()
    first, search, task = [], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(OPENED):
            page = browser.new_context(viewport={"width": 1280, "height": 850}).new_page()
            page.goto(address)
            page.wait_for_selector("body[data-ready]")
            # Since the navigation began, by the browser's own clock.
            first.append(page.evaluate("performance.getEntriesByName('hazardmill table')[0].startTime") / 1e3)
            search.append(timed(lambda page=page: find(page)))
            page.get_by_role("button", name="Show all").click()
            task.append(timed(lambda page=page: open_task(page)))
            page.context.close()
        browser.close()
    shown = statistics.median(first)
    met = "met" if shown < GOAL_S else "missed"
    print(f"the table is there after {shown:.2f} s, the median of {OPENED} (goal under {GOAL_S:.0f} s: {met})")
    print(f"the first search takes {statistics.median(search):.2f} s, opening a task {statistics.median(task):.2f} s")


def timed(do):
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def find(page):
    before = page.locator("#tally").inner_text()
    page.get_by_label("Search").fill("zzz no such word")
    page.wait_for_selector("#rows[hidden]", state="attached")
    assert page.locator("#tally").inner_text() != before


def open_task(page):
    page.locator("#rows tbody a").nth(50).click()
    page.wait_for_selector("#item h1")


if __name__ == "__main__":
    sys.exit(main())
