"""Whether a jail that runs thousands of drafts, hostile ones among them, leaves anything behind or grows.

    python benchmarks/soak.py [--drafts N] [--hostile SHARE]
    python benchmarks/soak.py --kills N [--seed S]
    python benchmarks/soak.py --batch-faults RECORDS [--seed S]

Runs N drafts (20,000) through one jail, as a run does: several at a time, in one process. One in twenty is hostile and
goes to the jail past the policy; each kind must end as it should, and each honest draft as it did the first time, or
the run ends with an error. Then it counts what is left: processes, descriptors, files in the scratch folder; and
compares the memory of this process, and of the jail's own if it has one, in the first and the last tenth.

With --kills, runs are soaked instead: the same few records by the command line, by the flow and by two shards, then by
batches of a provider and by an exchange folder, each killed at N points, which a seed draws from the writes, fsyncs and
requests of an undisturbed run, and resumed. Each must end with the digest of the undisturbed run, and pay twice for
nothing but what was in flight.

With --batch-faults, so many records go through a local server once as single requests without faults, and once in
batches of which three in ten calls, batches and lines fail in every way there is. Both must end with the same digest.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from execute import below, ending, offline_drafts, reached

from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.generation.execute import execute
from hazardmill.sandbox.jail import Jail, JailFailure, Limits

PROJECT = Path(__file__).resolve().parent.parent
sys.path.append(str(PROJECT / "tests"))  # killing is the tests'
GROWTH = 1.10
WALL_SECONDS = 2.0
SAMPLES = 200
"""How often memory is read in all."""
_PR_SET_CHILD_SUBREAPER = 36

HOSTILE = {
    "busy loop": ("while True:\n    pass\n", {"timeout"}),
    "fork": ("import os\nwhile True:\n    os.fork()\n", {"exception", "crashed"}),
    "memory": ("hoard = []\nwhile True:\n    hoard.append(bytes(50_000_000))\n", {"memory"}),
    "flood": (
        "import os\n"
        "def flood(descriptor):\n    for _ in range(40):\n        os.write(descriptor, b'x' * 50_000)\n"
        "for descriptor in range(16):\n    try:\n        flood(descriptor)\n    except OSError:\n        pass\n",
        {"output_too_large"},
    ),
    "exit": ("import os\nos._exit(0)\n", {"crashed"}),
    "signal": (
        "import os\n"
        "for whom in (os.getppid(), -1, 0):\n    try:\n        os.kill(whom, 9)\n    except OSError:\n        pass\n"
        "os.abort()\n",
        {"crashed"},
    ),
    "files": ("for n in range(100):\n    open(f'left{n}', 'w').close()\n", {"exception"}),
}
"""Code, and how the jail may end it."""


def count(text):
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def soak_with_batches(records, seed):
    """Compare a run in batches with faults to one of single requests without; 1 if they differ."""
    from runs.faulty_batches import soak_batches

    reference = Path(os.environ.get("HAZARDMILL_REFERENCE", PROJECT.parent / "shared"))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        said = soak_batches(Path(folder), reference, PROJECT, records, seed)
    print(*said.lines, *said.wrong, f"{time.perf_counter() - began:.0f} s", sep="\n")
    return 1 if said.wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--drafts", type=int, default=20_000)
    parser.add_argument("--hostile", type=float, default=0.05, help="share of hostile drafts (0.05)")
    parser.add_argument("--kills", type=count, help="points of each way at which to kill a run; no drafts then")
    parser.add_argument("--seed", type=int, default=1, help="draws the points (1)")
    parser.add_argument("--batch-faults", type=count, help="records of a run in batches with faults; no drafts then")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    if options.batch_faults is not None:
        return soak_with_batches(options.batch_faults, options.seed)
    if options.kills is not None:
        return kill_runs(options.kills, options.seed)
    # What a draft leaves behind when its parent ends becomes ours, where it can be counted.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    # A few records in each: what is left behind and what grows does not depend on how many tasks are different.
    honest = offline_drafts(every=6 if options.drafts < 2_000 else 2)
    with tempfile.TemporaryDirectory() as scratch:
        tempfile.tempdir = scratch
        processes, descriptors = below(os.getpid()), open_descriptors(os.getpid())
        with Jail("auto", Limits(wall_seconds=WALL_SECONDS)) as jail:
            soak = Soak(jail, honest)
            try:
                asyncio.run(soak.run(order(options.drafts, options.hostile, honest)))
            except NotAsItShould as error:
                raise SystemExit(str(error)) from None
            # The jail's own process may stay until it is closed; nothing else may.
            idle = below(os.getpid()) - processes - keepers(os.getpid())
        left = {
            "processes while the jail is open": len(idle),
            "processes": len(below(os.getpid()) - processes),
            "descriptors": len(open_descriptors(os.getpid()) - descriptors),
            "files in the scratch folder": len(list(Path(scratch).rglob("*"))),
        }
        tempfile.tempdir = None
    soak.tell()
    print("\nleft behind")
    for what, number in left.items():
        print(f"  {what}: {number} (goal 0)  {reached(number == 0)}")
    print("\nin the last tenth against the first, medians")
    good = [
        soak.growth(whose, what) for whose in ("this process", "the jail's process") for what in ("MB", "descriptors")
    ]
    return 0 if all(good) and not any(left.values()) else 1


def kill_runs(count, seed):
    """Kill and resume runs of each way; 0 if all ended as the undisturbed one."""
    from e2e.drawn_kills import WAYS, mill

    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, seed {seed}")
    summary, contents, good = [], [], True
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "prefect").mkdir()
        with mill(PROJECT, folder / "prefect") as works:
            for way in WAYS:
                whole = works.undisturbed(way, folder / way)
                contents.append(whole.content)
                print(f"\n{way}: {whole.count:,} points, of which {count} are drawn")
                verdicts = []
                for number, point in enumerate(whole.draw(count, f"{seed} {way}")):
                    verdicts.append(works.kill(way, point, whole, folder / f"{way}-{number}"))
                    print(f"  {verdicts[-1]}")
                good = good and not any(verdict.wrong for verdict in verdicts)
                summary.append((way, verdicts))
    print()
    for way, verdicts in summary:
        equal, twice, again, in_flight = (
            sum(getattr(verdict, name) for verdict in verdicts) for name in ("equal", "twice", "again", "in_flight")
        )
        wrong = sum(bool(verdict.wrong) for verdict in verdicts)
        print(
            f"{way}: {len(verdicts)} killed and resumed, {equal} with equal digest, {wrong} with something wrong; "
            f"{in_flight} requests in flight, {again} asked again, {twice} paid twice; "
            f"median {statistics.median(verdict.seconds for verdict in verdicts):.1f} s"
        )
    same = all(content == contents[0] for content in contents)
    print(f"the content of all ways is equal (goal): {reached(same)}")
    together = kill_batches(count, seed)
    return 0 if good and same and together else 1


def kill_batches(count, seed):
    """Kill and resume runs by batches and by an exchange folder; whether all ended as the undisturbed ones."""
    from e2e.drawn_batch_kills import WAYS, BatchMill
    from e2e.keeper import keeping

    digests, wrong = [], 0
    with tempfile.TemporaryDirectory() as scratch, keeping("e2e.killed_anywhere", {}) as keeper:
        works, folder = BatchMill(PROJECT, keeper), Path(scratch)
        for way in WAYS:
            whole = works.undisturbed(way, folder / way)
            digests.append(whole.digest)
            print(f"\n{way}: {whole.count:,} points, of which {count} are drawn")
            for number, point in enumerate(whole.draw(count, f"{seed} {way}")):
                verdict = works.kill(way, point, whole, folder / f"{way}-{number}")
                wrong += bool(verdict.wrong)
                print(f"  {verdict}")
    same = digests[0] == digests[1]
    print(
        f"\n{2 * count} killed and resumed, {wrong} with another digest, a request paid for twice, or a batch that "
        f"nobody knows; both ways have the same digest (goal): {reached(same and not wrong)}"
    )
    return same and not wrong


def order(count, share, honest):
    """The drafts to run, hostile ones spread evenly: kind, code and whether the danger was declared unavoidable."""
    good, bad = itertools.cycle(enumerate(honest)), itertools.cycle(HOSTILE)
    for number in range(count):
        if int((number + 1) * share) > int(number * share):
            kind = next(bad)
            yield kind, HOSTILE[kind][0], False
        else:
            place, draft = next(good)
            yield place, draft.code, draft.unavoidable


class NotAsItShould(Exception):
    """A draft ended otherwise than it must."""


class Soak:
    """The drafts run so far, and what was measured meanwhile."""

    def __init__(self, jail, honest):
        self.jail = jail
        self.honest = honest
        self.endings = Counter()
        self.hashes = {}
        self.seconds = []
        self.hostile = 0
        self.measured = {}
        self.started = time.monotonic()
        self.took = 0.0

    async def run(self, drafts):
        """Run all, as many at a time as the jail takes, and two more waiting."""
        drafts = list(drafts)
        waiting = iter(enumerate(drafts))
        every = max(1, len(drafts) // SAMPLES)

        async def one_after_the_other():
            for number, (kind, code, unavoidable) in waiting:
                if number % every == 0:
                    self.measure()
                await (self.attacked(kind, code) if isinstance(kind, str) else self.checked(kind, code, unavoidable))

        await asyncio.gather(*(one_after_the_other() for _ in range(self.jail.limits.concurrency + 2)))
        self.measure()
        self.took = time.monotonic() - self.started

    async def attacked(self, kind, code):
        answer = await self.jail.run_async(code)
        if not isinstance(answer, JailFailure) or answer.reason not in HOSTILE[kind][1]:
            raise NotAsItShould(f"{kind}: the jail gave {answer}")
        self.hostile += 1
        self.endings[f"{kind}: {answer.reason}"] += 1

    async def checked(self, place, code, unavoidable):
        started = time.perf_counter()
        execution = await execute(code, self.jail, DRAFT_LIMIT, unavoidable=unavoidable)
        self.seconds.append(time.perf_counter() - started)
        now = ending(execution)
        if now != self.honest[place].ended:
            raise NotAsItShould(f"honest draft {place} ended as {now}, and before as {self.honest[place].ended}")
        found = execution.document and execution.document.hash
        if self.hashes.setdefault(place, found) != found:
            raise NotAsItShould(f"honest draft {place} gave another document than before")

    def measure(self):
        """Memory and descriptors now."""
        own = os.getpid()
        for whose, pids in (("this process", {own}), ("the jail's process", keepers(own))):
            for pid in pids:
                self.measured.setdefault((whose, "MB"), []).append(memory_mb(pid))
                self.measured.setdefault((whose, "descriptors"), []).append(len(open_descriptors(pid)))

    def tell(self):
        """What was run."""
        count = len(self.seconds) + self.hostile
        print(f"\n{count:,} drafts in {self.took:.0f} s, {count / self.took:.1f} a second, jail {self.jail.profile}")
        ordered = sorted(self.seconds)
        median, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
        print(f"  honest: {len(ordered):,}, median {median * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms")
        print(f"  hostile: {self.hostile:,}: " + ", ".join(f"{e} {n}" for e, n in sorted(self.endings.items())))

    def growth(self, whose, what):
        """Say how one measure grew; whether it stayed within bounds, or there was nothing to measure."""
        found = self.measured.get((whose, what))
        if not found:
            print(f"  {whose}, {what}: there is none")
            return True
        tenth = max(1, len(found) // 10)
        first, last = statistics.median(found[:tenth]), statistics.median(found[-tenth:])
        good = last <= first * GROWTH
        told = f"{first:.0f} and {last:.0f} {what}, {last / first:.2f} times (goal {GROWTH:.2f})"
        print(f"  {whose}: {told}  {reached(good)}")
        return good


def keepers(root):
    """The processes of jails themselves, which fork their children."""
    return {pid for pid in below(root) if parent_of(pid) == root and "sandbox.forking" in read(pid, "cmdline")}


def parent_of(pid):
    fields = read(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else None


def memory_mb(pid):
    line = next(line for line in read(pid, "status").splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def read(pid, name):
    """A file of a process; empty if it ended meanwhile."""
    try:
        return (Path("/proc") / str(pid) / name).read_text()
    except OSError:
        return ""


def open_descriptors(pid):
    """Descriptors and what they are, without the one that reads them."""
    found = set()
    for link in (Path("/proc") / str(pid) / "fd").iterdir():
        try:
            target = str(link.readlink())
        except OSError:  # it was closed meanwhile
            continue
        if "/proc/" not in target:
            found.add((link.name, target))
    return found


if __name__ == "__main__":
    sys.exit(main())
