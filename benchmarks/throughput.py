"""How near a run comes to the rate that its provider allows, and whether its memory stays flat.

    python benchmarks/throughput.py [--quick] [--records N] [--latency SECONDS] [--tail SHARE SECONDS] [--in-flight N]

A whole run, as ``run generate`` does it: litellm over HTTP, ledger, jail and proofs of every draft, store. The provider
is ``hazardmill.testing.llm_server`` in a process of its own, which answers every request after ``--latency`` seconds;
records are reports written for load (``tests/factories/generated.py``). A provider who takes 2 s and 64 requests at
once can be asked 32 times a second: that is the ideal rate.

Nobody can hold that rate at both ends of a run, when fewer than 64 records are left to ask about. So there are three
figures: requests a second of the whole run; the same over the time in which records were waiting to be begun; and the
time of the whole run against the least in which 64 hands that never rest could send these very requests, each after
the one before it. With a tail, a share of the requests takes longer, and each counts with the time it took. Then how
soon the first accepted task was committed.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hazardmill.generation.models import Models
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import read_journal

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the factories are the tests'

from factories.generated import write_full

MODEL = "deepseek/deepseek-chat"
RATE_GOAL = 0.95
MOST_OF_LEAST = 1.1
"""The whole run takes at most so many times the least time for its requests."""
GROWTH_GOAL = 0.1
"""Most that the resident memory may have grown at the end, against when a fifth of the records was done."""
REPORTS_A_YEAR = 410_202
"""How many a full file of NEISS holds."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="300 records")
    parser.add_argument("--records", type=int, help="so many (5,000)")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds to an answer (2); 0 for memory alone")
    parser.add_argument("--in-flight", type=int, default=64, help="requests at once (64)")
    parser.add_argument("--tail", nargs=2, type=float, metavar=("SHARE", "SECONDS"), help="so many answers take longer")
    parser.add_argument("--wave", type=int, help="records of a wave (an eighth of the run, from 25 to 1,000)")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    count = options.records or (300 if options.quick else 5_000)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reports = write_full("neiss", folder / "reports", share=2 * count / REPORTS_A_YEAR)
        log = folder / "attempts.jsonl"
        with serving(log, options) as address:
            config = RunConfig(
                inputs=(RunInput(source="neiss", path=reports.path, limit=count),),
                backend="litellm",
                models=Models(extract=MODEL, author=MODEL, judge=MODEL),
                api_base=address,
                wave_size=options.wave,
                concurrency=options.in_flight,
            )
            os.environ["DEEPSEEK_API_KEY"] = "none"
            store = Store.open(folder / "store", create=True)
            began = spent()
            run, _ = Run.start(store, config, "run")
            memory, accepted = asyncio.run(worked(run))
            seconds = [now - before for now, before in zip(spent(), began, strict=True)]
        calls = store.rows("llm_calls", None, ["record_id", "latency_s"])
        outcomes = Counter(row["outcome"] for row in store.rows("outcomes", None, ["outcome"]))
        attempts = read_journal(log)
        told(run, attempts, calls, options)
        print(
            f"  {outcomes.total():,} records, {outcomes['accepted']:,} accepted; this process and its jail took ",
            end="",
        )
        print(f"{sum(seconds) / len(attempts) * 1e3:.1f} ms of a core a request")
        first = min(each.asked_at for each in attempts)
        print(f"  the first accepted task was committed after {accepted - first:.0f} s")
        grown(memory)
    return 0


@contextmanager
def serving(log: Path, options: argparse.Namespace) -> Iterator[str]:
    """The server's address."""
    command = [sys.executable, "-m", "hazardmill.testing.llm_server", "--latency", options.latency, "--log", log]
    if options.tail:
        share, seconds = options.tail
        command += ["--faults", f"slow:{seconds:g}", "--rate", share, "--most", 1]
    words = [str(word) for word in (*command, "--dialect", "deepseek")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def worked(run):
    """Work on the whole run; resident megabytes after each hundredth of its records, and when a task was accepted."""
    memory, accepted = [], None
    every = max(1, len(run.selection) // 100)
    done = 0

    def on_record(record_id, outcome):
        nonlocal done, accepted
        done += 1
        if outcome == "accepted" and accepted is None:
            accepted = time.time()
        if done % every == 0:
            memory.append((done, resident_mb()))

    with run.under_way():
        async with run.session() as session:
            await session.work_through(run.waves(), on_record)
    return memory, accepted


def told(run, attempts, calls, options):
    whole = max(each.ended_at for each in attempts) - min(each.asked_at for each in attempts)
    print(f"\n{len(attempts):,} requests, {options.in_flight} in flight, {options.latency:g} s each: {whole:.0f} s")
    if len(attempts) != len(calls):
        raise SystemExit(f"the ledger holds {len(calls)} attempts, and the server saw {len(attempts)}")
    if not options.latency:
        print(f"  {len(attempts) / whole:.1f} a second")
        return
    taken = [each.ended_at - each.asked_at for each in attempts]
    mean = max(options.latency, sum(taken) / len(taken)) if options.tail else options.latency
    ideal = options.in_flight / mean
    print(f"  whole run: {len(attempts) / whole:.1f} a second of {ideal:.1f} ({len(attempts) / whole / ideal:.1%})")
    requests, seconds, held = while_waiting(attempts, options)
    if seconds:
        share = requests / seconds / ideal
        reached = "reached" if share >= RATE_GOAL else "short"
        print(
            f"  while records were waiting ({seconds:.0f} s): {requests / seconds:.1f} a second ({share:.1%}; ", end=""
        )
        print(f"goal {RATE_GOAL:.0%}: {reached}), {held / seconds:.1f} of them in flight on the average")
    least = least_seconds(run, calls, options)
    reached = "reached" if whole <= MOST_OF_LEAST * least else "short"
    print(f"  the least time for these requests is {least:.0f} s; the run took {whole / least:.3f} times that ", end="")
    print(f"(goal {MOST_OF_LEAST}: {reached})")


def while_waiting(attempts, options):
    """Answers, seconds, and seconds of requests in flight, of the time in which there were records to begin with.

    It begins once nine tenths of the requests that may be in flight are, and ends with the first request about the last
    record.
    """
    last = max(each.asked_at for each in attempts if each.stage == "extract")
    changes = sorted([(each.asked_at, 1) for each in attempts] + [(each.ended_at, -1) for each in attempts])
    levels = zip(changes, itertools.accumulate(by for _, by in changes), strict=True)
    full = next((at for (at, _), level in levels if level >= 0.9 * options.in_flight), last)
    answers = sum(full <= each.ended_at < last for each in attempts)
    held = sum(max(0.0, min(each.ended_at, last) - max(each.asked_at, full)) for each in attempts)
    return answers, max(0.0, last - full), held


def least_seconds(run, calls, options):
    """When the last of the requests is answered if nothing but they take time."""
    seconds = Counter()
    for call in calls:
        seconds[call["record_id"]] += call["latency_s"] if options.tail else options.latency
    hands = [0.0] * options.in_flight
    for record_id in run.selection:
        heapq.heapreplace(hands, hands[0] + seconds[record_id])
    return max(hands)


def grown(memory):
    fifth = len(memory) // 5
    early, late = (max(mb for _, mb in part) for part in (memory[fifth : 2 * fifth], memory[-fifth:]))
    flat = "reached" if late <= early * (1 + GROWTH_GOAL) else "short"
    (first, low), (last, high) = memory[fifth], memory[-1]
    print(f"\nresident memory: {low:.0f} MB after {first:,} records, {high:.0f} MB after {last:,}; at most ", end="")
    print(
        f"{max(mb for _, mb in memory):.0f} MB; {(high - low) / (last - first) * 1000:+.1f} MB a thousand records ",
        end="",
    )
    print(f"(goal: grown by {GROWTH_GOAL:.0%} at most: {flat})")


def resident_mb():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def spent():
    """Processor seconds of this process, and of those of its children that have ended."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return [usage.ru_utime + usage.ru_stime for usage in each]


if __name__ == "__main__":
    raise SystemExit(main())
