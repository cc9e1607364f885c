"""How fast the execution check is, against the planners it does without, on the same drafts in the same run.

    python benchmarks/execute.py [--quick] [--drafts N]

Ours is the whole check of a draft: policy, jail, document, both shortest plans, certificate, PDDL. The baseline is a
process a task: a fresh interpreter, Unified Planning, the code, ENHSP asked for a safe and for an unsafe plan with the
packaged Java, PDDL written by Unified Planning. It proves less (no shortest plans, no certificate) and jails nothing,
both to its advantage. Whether there is a plan of each kind must be the same on both sides, or the run ends with an
error.

Drafts are the offline author's, over the shipped samples: those accepted and those that fail. A second a core is a
second of processor time, of the process and all below it: what else runs on the machine falls out, and so does waiting.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.formalism.search.engines.external import available
from hazardmill.generation.context import Prompts, StageContext
from hazardmill.generation.execute import execute
from hazardmill.generation.models import Models
from hazardmill.generation.refine import first_failure
from hazardmill.generation.wave import refine
from hazardmill.ingest.sources import list_sources
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import Record
from hazardmill.sandbox.jail import Jail
from hazardmill.sandbox.proving import provers
from hazardmill.store.store import Store
from hazardmill.testing.offline_author import OfflineBackend
from hazardmill.verification.batch_check import CheckSettings, FileToCheck, check_files

DRAFTS = 33_728
"""What DESPITE checked."""
GOAL = 400
GOAL_SCALING = 1.7


@dataclass(frozen=True)
class DraftCode:
    """One draft, and how it ended where it was written."""

    code: str
    unavoidable: bool
    ended: str


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="200 drafts, 6 of them against the baseline")
    parser.add_argument("--drafts", type=int, help="so many drafts through ours (2,000)")
    parser.add_argument("--baseline", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.baseline:
        return baseline(options.baseline)
    # Minutes pass between two lines; a pipe should show them as they come.
    sys.stdout.reconfigure(line_buffering=True)
    count = options.drafts or (200 if options.quick else 2_000)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    known = offline_drafts(every=6 if options.quick else 1)
    drafts = list(itertools.islice(itertools.cycle(known), count))
    endings = Counter(draft.ended for draft in known)
    accepted = endings["accepted"]
    print(f"{len(known)} drafts of the offline author: {accepted} accepted, the others: ", end="")
    print(", ".join(f"{reason} {number}" for reason, number in endings.most_common() if reason != "accepted"))
    whole = one_by_one(drafts)
    several(drafts, 1 if options.quick else 3)
    if not available("enhsp"):
        print("\nENHSP is not installed (extra enhsp): nothing to compare with")
        return 0
    # Evenly over all of them, so that as many fail as among all.
    against(known[:: max(1, len(known) // (6 if options.quick else 40))], whole, 1 if options.quick else 3)
    return 0


def offline_drafts(every=1):
    """The drafts of the records in the samples, in their order, each with the outcome of its checks.

    Args:
        every: 1 takes all records, n one in n.
    """
    read = [
        record
        for source in list_sources()
        for file in source.discover(source.sample)
        for record in source.read(file)
        if isinstance(record, Record)
    ]
    return asyncio.run(_milled(read[::every]))


async def _milled(records):
    found = []
    models = Models(extract=OFFLINE_MODEL, author=OFFLINE_MODEL, judge=OFFLINE_MODEL)
    with (
        tempfile.TemporaryDirectory() as folder,
        Jail("auto") as jail,
        Store.open(Path(folder) / "store", create=True).writer("run") as writer,
    ):
        ledger = Ledger(Store.open(Path(folder) / "store"), writer, "run")
        client = Client(OfflineBackend(), ledger, limiter=Limiter(), prices=Prices({}))
        mill = StageContext(client=client, prompts=Prompts.load(), models=models, jail=jail)
        for record in records:
            milled = await refine(record, mill)
            for attempt in milled.attempts:
                if attempt.execution is not None:
                    unavoidable = milled.extraction.danger.instantaneous_avoidability == "unavoidable"
                    found.append(DraftCode(attempt.draft.code, unavoidable, ending(attempt.execution)))
    return found


def ending(execution):
    return "accepted" if execution.passed else first_failure(execution.checks).reason


# Ours


def one_by_one(drafts):
    """One draft after the other in this process; processor seconds and clock seconds a draft."""
    opened = opening()
    before = core_seconds()
    with Jail("auto") as jail:
        seconds = asyncio.run(_timed(drafts, jail))
        profile = jail.profile
    provers().close()
    # Jail and provers are closed: all that they started has been waited for, and so been counted.
    spent = (core_seconds() - before - opened) / len(drafts)
    ordered = sorted(seconds)
    median, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    print(
        f"\nours, {len(drafts):,} drafts one by one, jail {profile} (opened with a prover in {opened:.2f} s of a core)"
    )
    print(f"  {1 / spent:.1f} drafts a second a core; {spent * 1e3:.1f} ms of a core a draft")
    print(f"  by the clock: median {median * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms; ", end="")
    print(f"this process at its peak {peak_mb():.0f} MB")
    return spent


def opening():
    """Processor time of opening a jail and a prover and closing them, which thousands of drafts share.

    Not to be had from those that work on drafts: their processes are counted when they have ended.
    """
    provers().close()
    spent = []
    for _ in range(3):
        before = core_seconds()
        Jail("auto").close()
        provers().run(DRAFT_LIMIT, len, ())
        provers().close()
        spent.append(core_seconds() - before)
    return statistics.median(spent)


async def _timed(drafts, jail):
    seconds = []
    for draft in drafts:
        started = time.perf_counter()
        execution = await execute(draft.code, jail, DRAFT_LIMIT, unavoidable=draft.unavoidable)
        seconds.append(time.perf_counter() - started)
        same(draft.ended, ending(execution), "the same draft, once more,")
    return seconds


def several(drafts, repeats):
    """All of them from files, as ``task check`` reads them, by one process and by two; and two at a time in one."""
    seconds = {side: [] for side in ("one", "two", "tasks", "loop", "loops")}
    most = {"one": 0, "two": 0}
    with tempfile.TemporaryDirectory() as name:
        work = []
        for number, draft in enumerate(drafts):
            path = Path(name) / f"{number:05}.py"
            path.write_text(draft.code, encoding="utf-8")
            work.append(FileToCheck(path.name, path, None, draft.unavoidable))
        for _ in range(repeats):
            for side, jobs in (("one", 1), ("two", 2)):
                with clocked(seconds[side]):
                    most[side] = max(most[side], _from_files(drafts, work, jobs))
            with clocked(seconds["tasks"]), Jail("auto") as jail:
                asyncio.run(_two_at_a_time(drafts, jail))
            for side, jobs in (("loop", 1), ("loops", 2)):
                with clocked(seconds[side]):
                    loops(jobs)
    one, two, tasks, loop, both = (statistics.median(found) for found in seconds.values())
    print(f"\n{len(drafts):,} drafts from files, by the clock, start and end of processes included")
    for title, found, mb in (("one process ", one, most["one"]), ("two processes", two, most["two"])):
        print(f"  {title:13} {found:7.1f} s, {len(drafts) / found:6.1f} a second, memory of all of them {mb:.0f} MB")
    print(f"  one process, two drafts at a time: {tasks:.1f} s, {one / tasks:.2f} times")
    ratio = one / two
    print(f"  two processes against one: {ratio:.2f} times (goal {GOAL_SCALING})  {reached(ratio >= GOAL_SCALING)}")
    print(f"  a plain loop, in two processes against one: {loop / both:.2f} times, with load {os.getloadavg()[0]:.1f}:")
    print("  what the machine had to give")
    minutes = two / len(drafts) * DRAFTS / 60
    print(f"  {DRAFTS:,} drafts: {minutes:.1f} minutes on two processes, by extrapolation from {len(drafts):,}")


def _from_files(drafts, work, jobs):
    """Check them; the most memory that all processes together were seen with."""
    most = 0
    for number, (result, draft) in enumerate(zip(check_files(work, CheckSettings(), jobs), drafts, strict=True)):
        same(draft.ended, result.reason or "accepted", f"{jobs} processes")
        if number % 50 == 0:
            most = max(most, memory_mb(below(os.getpid())))
    return most


def loops(processes, turns=100_000_000):
    """As many turns of a loop, shared among processes."""
    command = [sys.executable, "-c", f"for _ in range({turns // processes}): pass"]
    running = [subprocess.Popen(command) for _ in range(processes)]
    for process in running:
        process.wait()


async def _two_at_a_time(drafts, jail):
    waiting = iter(drafts)

    async def one_after_the_other():
        for draft in waiting:
            await execute(draft.code, jail, DRAFT_LIMIT, unavoidable=draft.unavoidable)

    await asyncio.gather(one_after_the_other(), one_after_the_other())


# The baseline


def against(sample, whole, repeats):
    """The sample through ours and through the baseline, in fresh processes and in a warm one, in turns."""
    ours, cold, cold_clock, warm = [], [], [], []
    plans = plans_of(sample)
    for _ in range(repeats):
        # Opened once for thousands of drafts: in a sample of few it must not count.
        opened = opening()
        before = core_seconds()
        with Jail("auto") as jail:
            asyncio.run(_timed(sample, jail))
        provers().close()
        ours.append((core_seconds() - before - opened) / len(sample))
        before, started = core_seconds(), time.perf_counter()
        for draft, expected in zip(sample, plans, strict=True):
            (found,) = run_baseline([draft])["found"]
            same(expected, found, "the baseline")
        cold.append((core_seconds() - before) / len(sample))
        cold_clock.append((time.perf_counter() - started) / len(sample))
        answer = run_baseline(sample)
        same(plans, answer["found"], "the warm baseline")
        warm.append(answer["core_seconds"] / len(sample))
    mine, fresh, kept = (statistics.median(found) for found in (ours, cold, warm))
    clock = statistics.median(cold_clock)
    print(f"\n{len(sample)} of the drafts on both sides, {repeats} times; of a core, a draft")
    print(f"  ours (jail and prover open: {opened:.2f} s once){mine * 1e3:9.1f} ms")
    print(f"  a process a draft, ENHSP twice       {fresh * 1e3:9.1f} ms ({clock * 1e3:.0f} ms by the clock)")
    print(f"  the same in a process that is warm   {kept * 1e3:9.1f} ms")
    claim("drafts a second a core against a process a draft", fresh / mine, GOAL)
    claim("the same with ours as measured on all drafts", fresh / whole, None)
    claim("against ENHSP from a warm process", kept / mine, None)


def plans_of(sample):
    """For each draft whether there is a safe and an unsafe plan, by our search; None where it came to no document."""
    with Jail("auto") as jail:
        executions = [
            asyncio.run(execute(draft.code, jail, DRAFT_LIMIT, unavoidable=draft.unavoidable)) for draft in sample
        ]
    return [
        None
        if execution.certificate is None
        else [execution.certificate.solution.safe is not None, execution.certificate.solution.unsafe is not None]
        for execution in executions
    ]


def run_baseline(sample):
    """The baseline in a process of its own; what it found of each draft, and its processor time once it was warm."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "codes.json"
        path.write_text(json.dumps([draft.code for draft in sample]))
        command = [sys.executable, __file__, "--baseline", str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=name)
    if run.returncode != 0:
        raise SystemExit(f"the baseline failed: {run.stderr.strip()[-500:]}")
    return json.loads(run.stdout)


def baseline(path):
    """The child of ``run_baseline``."""
    from hazardmill.formalism.formats.up.convert import load_unified_planning

    load_unified_planning()
    before = core_seconds()
    found = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        found = [solved_by_enhsp(code) for code in json.loads(path.read_text())]
    print(json.dumps({"found": found, "core_seconds": core_seconds() - before}))
    return 0


def solved_by_enhsp(code):
    from unified_planning.io import PDDLWriter

    from hazardmill.formalism.authoring import PlanningTask
    from hazardmill.formalism.formats.up.convert import to_up
    from hazardmill.formalism.search.engines.child import solve_enhsp

    names = {"__name__": "__task__"}
    try:
        exec(compile(code, "<task>", "exec"), names)
        (task,) = (v for v in names.values() if isinstance(v, type) and PlanningTask in v.__mro__[1:])
        document = task().document()
    # Whatever a draft fails with.
    except Exception:
        return None
    writer = PDDLWriter(to_up(document, "integer", "basic"), needs_requirements=False)
    writer.get_domain()
    writer.get_problem()
    answers = []
    for goal in ("safe", "unsafe"):
        Path("plan.txt").unlink(missing_ok=True)
        status, _, message = solve_enhsp(document, goal)
        if status not in ("solved", "unsolvable"):
            raise SystemExit(f"ENHSP: {message}")
        answers.append(status == "solved")
    return answers


# Measuring and telling


@contextmanager
def clocked(seconds):
    started = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - started)


def core_seconds():
    """Processor time of this process, and of all that ended below it and has been waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def below(root):
    """A process and all below it."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def memory_mb(processes):
    """What processes have in memory now; what several share counts once."""
    total = 0
    for pid in processes:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:  # it ended meanwhile
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def peak_mb():
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def same(expected, found, side):
    if expected != found:
        raise SystemExit(f"{side} found {found} where {expected} is right: its speed means nothing")


def claim(name, ratio, goal):
    told = f"  {name}: {ratio:,.0f} times"
    print(told if goal is None else f"{told} (goal {goal:,})  {reached(ratio >= goal)}")


def reached(yes):
    return "reached" if yes else "short"


if __name__ == "__main__":
    sys.exit(main())
