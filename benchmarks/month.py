"""What a server with a worker leaves behind in a month of scheduled runs, and whether it grows.

    python benchmarks/month.py [--days N] [--records N] [--keep-days N] [--reports-days N] [--publish-every HOURS]

Starts `make server`, `make deploy` and `make worker` on loopback under a clock that this script drives
(`driven_clock.c`, compiled by `cc` when the script starts), switches on the schedules of prefect.yaml, and goes from
one scheduled time to the next: ingest and the five sources on Monday to Friday, all sources and the check on Saturday,
and publication. Each morning the sources have new files, and each run takes a few records of them, with the offline
author. The clock is moved only while nothing is under way, and in between it goes at its usual speed. Monotonic time is
never touched.

A month at the shipped retention of 90 days would never remove a flow run. Flow runs are therefore kept for --keep-days
(7), as events are, so that from the second week on as much is removed as is written. Publication has its own schedule,
every --publish-every hours (12) and not every hour, to save time.

After each day it measures: bytes of the store, of the reports and of scratch files; the server's database, by pages and
by table; resident memory of server and worker, which have nothing to do then. For each figure the line of least squares
over the last three weeks, without the first days in which nothing is removed yet, says whether it grows, against what
docs/operations.md promises. The exit code is 1 if anything grows that should not, if a flow run fails, if a schedule
starts nothing, or if too few days have passed to say. Ctrl-C ends it early, with the table of the days until then.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

# Server and worker are started as the tests start them, and the factories are theirs. On a busy machine, with patience.
sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
os.environ.setdefault("PYTEST_TIMEOUT", "900")

from e2e.prefect_server import children, serving, until, working
from factories.generated import write_full, write_neiss

PROJECT = Path(__file__).resolve().parent.parent
SOURCES = ("alfred", "bddl", "neiss", "normbank", "virtualhome")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "CRASHED")
PATIENCE_S = 900.0
EVENT_S = 16.0
"""How long nothing may be under way after a run of generate: an event starts publication ten seconds later, and the
server looks for such events every five seconds."""
REST_S = 3.0
"""The same where no event starts anything."""
MISSING_S = 120.0
"""The same while something has not begun that should; then it counts as missing."""
FITTED = 21
"""Days at the end over which growth is fitted: whole weeks, because Saturdays have more runs."""
ENOUGH = 7
"""Fewer days than these say nothing."""
TOLERATED = 0.05
"""Growth over these days, as a share of their mean, up to which a figure counts as flat."""
NEGLIGIBLE = {"rows": 50.0, "MB": 0.5}
"""Growth over these days that counts as flat however large its share is."""
MB = 1e6


class Clock:
    """The clock of server and worker: so many seconds ahead of the machine's."""

    def __init__(self, folder, begins):
        self._ahead = 0
        file, library = folder / "clock", folder / "driven_clock.so"
        file.write_bytes(bytes(8))
        # Written in place, because processes have it mapped.
        self._file = file.open("r+b", buffering=0)
        if shutil.which("cc") is None:
            raise SystemExit("there is no C compiler here (cc), which driven_clock.c needs: install gcc and libc6-dev")
        words = ["cc", "-O2", "-shared", "-fPIC", "-o", library, Path(__file__).with_name("driven_clock.c"), "-ldl"]
        subprocess.run([str(word) for word in words], check=True)
        self.environment = {"LD_PRELOAD": str(library), "DRIVEN_CLOCK": str(file)}
        self.move_to(begins)

    def now(self):
        return datetime.now(UTC) + timedelta(seconds=self._ahead)

    def move_to(self, moment):
        """Move forward to a moment, or not at all if it has passed."""
        self._ahead += max(round((moment - self.now()).total_seconds()), 0)
        self._file.seek(0)
        self._file.write(self._ahead.to_bytes(8, sys.byteorder))


@dataclass
class Day:
    """What there was at the end of a day."""

    number: int
    flow_runs: int
    figures: dict[str, float]
    rows: Counter[str] = field(default_factory=Counter)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--days", type=int, default=30, help="days to simulate (30)")
    parser.add_argument("--records", type=int, default=12, help="records of each run (12)")
    parser.add_argument("--keep-days", type=int, default=7, help="days for which flow runs and events are kept (7)")
    parser.add_argument("--reports-days", type=int, help="the setting reports_days (unset: pages are kept)")
    parser.add_argument("--publish-every", type=int, default=12, help="hours from one publication to the next (12)")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    # As Ctrl-C does: server and worker end too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began, load = time.monotonic(), os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, Python {sys.version.split()[0]}, {datetime.now(UTC):%Y-%m-%d}")
    days = []
    with tempfile.TemporaryDirectory(prefix="month-") as name:
        month = Month(Path(name), options)
        try:
            with month:
                for number in range(options.days):
                    days.append(month.pass_day(number))
                    print(describe_day(days[-1]))
        except KeyboardInterrupt:
            print(f"stopped after {len(days)} of {options.days} days")
    if days:
        print_table(days, options)
    print(f"\n{time.monotonic() - began:,.0f} s in all; load {load:.1f} at the beginning, {os.getloadavg()[0]:.1f} now")
    if month.failed:
        print("\nnot as it should be:", *month.failed, sep="\n  ")
    enough = len(days) == options.days and len(choose_days(days, options)) >= ENOUGH
    return 0 if enough and not month.failed and not find_growing(days, options) else 1


class Month:
    """A server, a worker, the clock of both, and what they have done."""

    def __init__(self, folder, options):
        self.folder, self.options, self.failed = folder, options, []
        today = datetime.now(UTC).replace(hour=0, minute=30, second=0, microsecond=0)
        # The first Monday to come.
        self.first = today + timedelta(days=7 - today.weekday())
        self.clock = Clock(folder, self.first)
        self.mill, self._inputs, self._paths = folder / "mill", folder / "inputs", {}
        scratch = folder / "scratch"
        for each in (self.mill, scratch):
            each.mkdir()
        self._environment = {
            **self.clock.environment,
            "PYTHONPATH": str(PROJECT),
            "TMPDIR": str(scratch),
            "HAZARDMILL_STORE": str(self.mill / "store"),
            "HAZARDMILL_MODEL": "offline-author",
            "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": f"{options.keep_days * 86_400}",
            "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": f"P{options.keep_days}D",
            # By default only the next three flow runs of a schedule are made, and looked after once a minute: less
            # than the hours that pass here in that time.
            "PREFECT_SERVER_SERVICES_SCHEDULER_MIN_RUNS": "12",
            "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "5",
        }
        if options.reports_days is not None:
            self._environment["HAZARDMILL_REPORTS_DAYS"] = str(options.reports_days)

    def __enter__(self):
        home = self.folder / "home"
        home.mkdir()
        database = make_database(self.folder / "empty")
        with ExitStack() as stack:
            self.prefect = stack.enter_context(serving(home, PROJECT, self._environment, database))
            self.prefect.do("deploy", self.prefect.make("deploy"))
            stack.enter_context(working(self.prefect))
            self.server, self.worker = (find_process(self.prefect, words) for words in ("server start", "worker start"))
            self._write_inputs(0)
            self._switch_on()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def pass_day(self, number):
        """Let a day pass, from midnight on, and return what there is at its end."""
        self._write_inputs(number)
        midnight = self.first.replace(minute=0) + timedelta(days=number)
        for moment, starts in sorted(self._moments(midnight).items()):
            self.clock.move_to(moment + timedelta(seconds=2))
            self._wait(EVENT_S if "publish" in starts else REST_S, moment, starts)
        # The server removes old rows every hour.
        self.clock.move_to(midnight + timedelta(hours=23, minutes=50))
        self._wait(REST_S, midnight, [])
        return self._measure(number + 1)

    def _moments(self, midnight):
        """What is started at which moment of a day, by a schedule or by the event of what was started then."""
        moments = {
            midnight + timedelta(hours=hour, minutes=30): ["publish by its schedule"]
            for hour in range(2, 24, self.options.publish_every)
        }
        weekday = midnight.weekday()
        if weekday == 0:
            moments[midnight + timedelta(hours=1)] = ["ingest"]
        if weekday < 6:
            moments[midnight + timedelta(hours=2)] = ["generate", "publish"]
        if weekday == 5:
            moments[midnight + timedelta(hours=14)] = ["check"]
        return moments

    def _write_inputs(self, number):
        """Write the files of a day in place of those of the day before."""
        for source in SOURCES:
            folder = self._inputs / source
            for old in sorted(folder.rglob("*"), reverse=True) if folder.exists() else []:
                old.rmdir() if old.is_dir() else old.unlink()
            if source == "neiss":
                folder.mkdir(parents=True, exist_ok=True)
                # Case numbers begin with the year, so each day has its own.
                written = write_neiss(folder, 100, seed=number, year=1995 + number).path
                self._paths[source] = str(written.rename(folder / "neiss.tsv"))
            else:
                self._paths[source] = str(write_full(source, folder, share=0.0, seed=number).path)

    def _switch_on(self):
        """Give the deployments their files, and switch their schedules on."""
        paths = self._paths
        limit = {"limit": self.options.records}
        given = {f"generate/{source}": {"source": source, "path": paths[source], **limit} for source in SOURCES}
        given["ingest/default"] = {"source": "neiss", "path": paths["neiss"]}
        given["generate-all/default"] = {"paths": paths, **limit}
        given["check/default"] = {}
        for name, parameters in given.items():
            found = self.prefect.deployment(name)
            self._patch(f"/deployments/{found['id']}", parameters={**found["parameters"], **parameters})
            for schedule in found["schedules"]:
                self._patch(f"/deployments/{found['id']}/schedules/{schedule['id']}", active=True)
        found = self.prefect.deployment("publish/default")
        often = {"cron": f"30 2-23/{self.options.publish_every} * * *", "timezone": "UTC"}
        for schedule in found["schedules"]:
            self._patch(f"/deployments/{found['id']}/schedules/{schedule['id']}", schedule=often, active=True)
        until(lambda: self._count(["SCHEDULED"]) >= 12 * (len(given) + 1), "flow runs of all schedules", PATIENCE_S)

    def _patch(self, path, **body):
        self.prefect._asked("PATCH", path, json=body)

    def _wait(self, rest_s, moment, starts):
        """Wait until what a moment starts has ended, with its process, and nothing else begins for so long."""
        quiet, before, begun = time.monotonic(), None, 0

        def rests():
            nonlocal quiet, before, begun
            due = {"before_": self.clock.now().isoformat()}
            waiting = self._count(["SCHEDULED"], next_scheduled_start_time=due)
            under_way, total = self._count(["PENDING", "RUNNING", "CANCELLING"]), self._count(ENDED)
            if waiting or under_way or total != before or children(self.worker):
                quiet, before = time.monotonic(), total
            begun = self._count(ENDED, start_time={"after_": moment.isoformat()})
            return time.monotonic() - quiet >= (rest_s if begun >= len(starts) else MISSING_S)

        until(rests, "the end of what is due", PATIENCE_S)
        if begun < len(starts):
            self.failed.append(f"{moment:%F %R}: {begun} flow runs instead of at least {' and '.join(starts)}")

    def _count(self, kinds, **more):
        return self.prefect.post("/flow_runs/count", flow_runs={"state": {"type": {"any_": list(kinds)}}, **more})

    def _measure(self, number):
        for run in self.prefect.post("/flow_runs/filter", flow_runs={"state": {"type": {"any_": list(ENDED[1:])}}}):
            failure = f"{run['name']}: {run['state']['name']}, {run['state']['message']}"
            self.failed += [] if failure in self.failed else [failure]
        home = Path(self.prefect.environment["PREFECT_HOME"])
        pages, free, size, rows = read_database(home / "prefect.db")
        database = sum(path.stat().st_size for path in home.glob("prefect.db*"))
        figures = {
            "store, MB": bytes_below(self.mill / "store") / MB,
            "reports, MB": bytes_below(self.mill / "reports") / MB,
            "scratch, MB": bytes_below(self.folder / "scratch") / MB,
            "database, MB": database / MB,
            "pages in use, MB": (pages - free) * size / MB,
            "rest of PREFECT_HOME, MB": (bytes_below(home) - database) / MB,
            "rows": float(sum(rows.values())),
            "server, MB": resident_mb(self.server),
            "worker, MB": resident_mb(self.worker),
        }
        return Day(number, self.prefect.post("/flow_runs/count"), figures, rows)


def make_database(home):
    """Make a database without rows, before the clock is driven."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    words = [str(Path(sys.executable).with_name("prefect")), "server", "database", "upgrade", "-y"]
    subprocess.run(words, env={**settings, "PREFECT_HOME": str(home)}, check=True, capture_output=True)
    return home / "prefect.db"


def find_process(prefect, words):
    """The process of this one's children that was started by these words."""
    for pid in children(os.getpid()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if words in command and "prefect" in command and "make" not in command.split()[0]:
            return pid
    raise SystemExit(f"there is no process of prefect {words}: {prefect.said(words.split()[0])}")


def bytes_below(folder):
    """Bytes of all files below a folder; 0 if there is none."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0


def read_database(path):
    """Pages of a database, those that are free, bytes of a page, and rows by table."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as connection:

        def one(words):
            return connection.execute(words).fetchone()[0]

        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = Counter({name: one(f'SELECT count(*) FROM "{name}"') for name in names})
        return one("PRAGMA page_count"), one("PRAGMA freelist_count"), one("PRAGMA page_size"), rows


def resident_mb(pid):
    """Resident memory of a process and of those below it."""
    total = 0
    for each in (pid, *children(pid)):
        try:
            status = Path(f"/proc/{each}/status").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")), 0)
    return total * 1024 / MB


# The table

GROWING = ("store, MB", "reports, MB")
"""What grows by docs/operations.md; with --reports-days, reports do not."""


def find_growing(days, options):
    """The figures that grow although they should not."""
    allowed = GROWING if options.reports_days is None else GROWING[:1]
    names = [*days[-1].figures, *(f"rows of {table}" for table in days[-1].rows)]
    return [name for name in names if name not in allowed and grows(name, fit(days, name, options))]


def choose_days(days, options):
    """The days over which growth is fitted, without the first ones, in which nothing is removed yet."""
    kept = max(options.keep_days, options.reports_days or 0)
    # Two days more than things are kept, until the first of them are removed.
    return [day for day in days if day.number > kept + 2][-FITTED:]


def read_figure(day, name):
    table = name.removeprefix("rows of ")
    return day.rows[table] if table != name else day.figures[name]


def fit(days, name, options):
    """Growth per day by least squares, over all of the days that count, and as a share of their mean."""
    found = [read_figure(day, name) for day in choose_days(days, options)]
    if len(found) < ENOUGH or not any(found):
        return 0.0, 0.0, 0.0
    slope = float(np.polyfit(range(len(found)), found, 1)[0])
    growth = slope * (len(found) - 1)
    return slope, growth, growth / (sum(found) / len(found))


def grows(name, fitted):
    _, growth, share = fitted
    return share > TOLERATED and growth > NEGLIGIBLE["rows" if name.startswith("rows") else "MB"]


def describe_day(day):
    figures = ", ".join(f"{name} {value:,.1f}" for name, value in day.figures.items())
    return f"day {day.number}: {day.flow_runs} flow runs kept, {figures}"


def print_table(days, options):
    bad, fitted = set(find_growing(days, options)), len(choose_days(days, options))
    columns = [day for day in days if day.number in {1, 5, 7, 10, 15, 20, 25, len(days)}]
    head = ["figure", *(f"day {day.number}" for day in columns), "per day", f"over {fitted} days", "so it"]
    print("\n| " + " | ".join(head) + " |\n| --- |" + " ---: |" * (len(head) - 2) + " --- |")
    large = [f"rows of {table}" for table, count in days[-1].rows.most_common() if count > NEGLIGIBLE["rows"]]
    for name in [*days[-1].figures, *large]:
        slope, growth, share = fit(days, name, options)
        digits = 0 if name.startswith("rows") else 1
        verdict = "grows" if grows(name, (slope, growth, share)) else "is flat"
        verdict += ", and should not" if name in bad else ""
        cells = [f"{read_figure(day, name):,.{digits}f}" for day in columns]
        end = [f"{slope:+,.2f}", f"{share:+.0%}", verdict] if fitted >= ENOUGH else ["", "", "may grow: too few days"]
        print("| " + " | ".join([name, *cells, *end]) + " |")


if __name__ == "__main__":
    raise SystemExit(main())
