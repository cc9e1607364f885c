"""Hostile, huge, nested, oddly encoded and oddly scoped drafts, until one gets out, costs too much or has no reason.

    python benchmarks/fuzz_drafts.py [--drafts 2000] [--seed 0] [--kind NAME ...]

The drafts (``hostile_drafts.py``) go through ``hazardmill task check`` one at a time, 25 a command, and then through
``hazardmill run generate``, whose author is a server on this machine that answers with them. Meanwhile their targets
lie open: files and folders, a planted variable, a listening port, a process. The code of what is accepted is then run,
as people run it. A finding is something made, changed, reached or told outside, a process or file left behind, a
traceback, no end, no reason, the reason ``killed``, another document than the accepted one, more than 1 GB in all
processes together, or more than 10 s of processor time for a draft; the exit code is then 1, and the drafts are kept.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))  # the attacks are the tests'
sys.path.append(str(PROJECT / "tests"))

from execute import below, memory_mb  # noqa: E402
from factories.generated import write_neiss  # noqa: E402
from hostile_drafts import KINDS, ORDER, Module, make  # noqa: E402

from hazardmill.store.store import Store  # noqa: E402
from hazardmill.testing.llm_server import LlmServer  # noqa: E402
from tests.generation.support import APPROVED, FOUND, NONE  # noqa: E402

MOST_SECONDS = 10.0
MOST_MB = 1024
MOST_WALL_SECONDS = 1_800
"""After which a command hangs; with a minute more for each draft. A busy machine is no finding."""
A_COMMAND = 25
"""Drafts that one command checks."""
PAST = ("document", "search", "certificate", "pddl", None)
"""The check that fails where a draft came past policy and jail."""
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Draft:
    """A draft, its kind, and the name of its file."""

    kind: str
    name: str
    data: bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--drafts", type=int, default=2_000, help="drafts of all kinds together (2,000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other drafts")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind; may be repeated")
    parser.add_argument("--run-codes", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run_codes:
        return run_codes(options.run_codes)
    sys.stdout.reconfigure(line_buffering=True)
    # What a draft leaves behind when its parent ends becomes ours, where it can be found.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place = stack.enter_context(laid_out(home))
        kinds = options.kind or ORDER
        drafts = []
        for number in range(options.drafts):
            kind = kinds[number % len(kinds)]
            chance = random.Random(f"{kind} {options.seed} {number}")
            data = make(kind, number, chance, place.targets)
            drafts.append(Draft(kind, f"{number:05}-{kind}.py", data))
        fuzz = Fuzz(place)
        fuzz.check_all(drafts)
        fuzz.run_all(drafts)
        good = fuzz.tell(drafts)
        if fuzz.findings:
            kept = Path(tempfile.mkdtemp(prefix="fuzz-drafts-"))
            for draft in drafts:
                if any(draft.name in found for found in fuzz.findings):
                    (kept / draft.name).write_bytes(draft.data)
            print(f"the drafts of the findings are in {kept}")
    return 0 if good else 1


class Place:
    """Where commands work, and what lies open around them."""

    def __init__(self, home, listener, datagrams, bait):
        self.home = home
        self.secret = f"planted-{os.urandom(8).hex()}"
        self.mark = f"hazardmill-fuzz-{os.urandom(8).hex()}"
        self.work, self.user, self.scratch, self.outside = (home / n for n in ("work", "user", "scratch", "outside"))
        for folder in (self.work, self.user, self.scratch, self.outside):
            folder.mkdir()
            folder.chmod(0o777)
        home.chmod(0o755)
        (self.outside / "secret").write_text(self.secret)
        (self.outside / "doomed").write_text("to be deleted")
        (self.outside / "module.py").write_text(f"VALUE = {self.secret!r}\n")
        self.targets = {
            "project_file": str(PROJECT / "pyproject.toml"),
            "secret_file": str(self.outside / "secret"),
            "doomed_file": str(self.outside / "doomed"),
            "module_file": str(self.outside / "module.py"),
            "free_path": str(Path("/tmp") / self.mark),
            "mark": str(self.outside / self.mark),
            "port": listener.getsockname()[1],
            "parent": bait.pid,
            "zygote": bait.pid,
        }
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user),
            "TMPDIR": str(self.scratch),
            "PLANTED": self.secret,
            "OPENAI_API_KEY": "none",
        }
        self._sockets = listener, datagrams
        self._bait = bait
        self._before = self._open()

    def _open(self):
        """All that lies open, with what a change of it would change."""
        found = {}
        for folder in (self.user, self.outside):
            for path in folder.rglob("*"):
                told = path.lstat()
                found[path] = told.st_mode, told.st_mtime_ns, path.read_bytes() if stat.S_ISREG(told.st_mode) else b""
        return found

    def touched(self):
        """What was done outside since it was laid out, each thing once."""
        now = self._open()
        for path in sorted(now.keys() ^ self._before.keys()):
            yield f"{path} was {'made' if path in now else 'removed'}"
        for path in sorted(now.keys() & self._before.keys()):
            if now[path] != self._before[path]:
                yield f"{path} was changed"
        self._before = now
        for folder in ("/tmp", "/var/tmp", "/dev/shm", PROJECT, self.home, self.work, self.scratch):
            for path in Path(folder).glob(f"*{self.mark}*"):
                yield f"{path} was made"
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for path in self.scratch.iterdir():
            yield f"{path.name} is left in the folder for temporary files"
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for opened in self._sockets:
            try:
                opened.accept() if opened.type == socket.SOCK_STREAM else opened.recv(1)
            except BlockingIOError:
                continue
            yield f"something came to the port, as {opened.type.name}"
        for pid in below(os.getpid()) - {os.getpid(), self._bait.pid}:
            yield f"process {pid} is left"
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        if self._bait.poll() is not None:
            yield "the process that was a target ended"

    def told(self, text):
        """What a text says that nobody may know, or that only a failure of ours says."""
        for what, sign in (
            ("the secret", self.secret),
            ("loot", "SystemExit: LOOT"),
            ("a traceback", "Traceback (most recent"),
        ):
            if sign in text:
                at = text.index(sign)
                yield f"{what} is told: {text[max(0, at - 200) : at + 1_000]!r}"


@contextmanager
def laid_out(home):
    """The targets of all attacks."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bait,
    ):
        datagrams.bind(listener.getsockname())
        listener.setblocking(False)
        datagrams.setblocking(False)
        try:
            yield Place(home, listener, datagrams, bait)
        finally:
            bait.terminate()


@dataclass
class Ended:
    """A command that ended."""

    status: int | None
    """None if it had to be ended."""
    stdout: str
    stderr: str
    seconds: float
    """Of processor time, of it and all below it."""
    peak_mb: float


class Fuzz:
    """What was tried so far, and what was found."""

    def __init__(self, place):
        self.place = place
        self.findings = []
        self.checked = {}
        """What ``task check`` said of each draft, by the name of its file."""
        self.reasons, self.outcomes = Counter(), Counter()
        self.codes = 0
        self.worst_seconds = self.worst_mb = self.run_seconds = self.run_mb = self.slowest_in_run = 0.0
        plain = Draft("plain", "plain.py", Module(10**6).text().encode())
        started = self.task_check([plain])
        assert started.status == 0, started
        self.startup = started.seconds
        """Processor time of a command with a draft of no account."""
        self.looked_at([plain.name])

    def found(self, what):
        self.findings.append(what)
        print(f"FOUND {what}")

    def looked_at(self, names, *texts):
        """Note what was touched outside, or told, by drafts."""
        for wrong in (*self.place.touched(), *(told for text in texts for told in self.place.told(text))):
            self.found(f"{wrong}: by one of {', '.join(names)}")

    # By task check

    def check_all(self, drafts):
        """Check all drafts, some at a time."""
        for start in range(0, len(drafts), A_COMMAND):
            self.check(drafts[start : start + A_COMMAND])
            if (start // A_COMMAND + 1) % 8 == 0:
                print(f"{start + A_COMMAND} drafts checked, {len(self.findings)} findings")

    def check(self, drafts):
        """Check some drafts, run the code of those accepted, and look around."""
        names = [draft.name for draft in drafts]
        out = self.place.work / "out"
        done = self.task_check(drafts, "--out", out)
        self.judge_cost(drafts, done)
        told = [done.stdout, done.stderr]
        if done.status not in (0, 1):
            self.found(f"task check ended with {done.status}, {done.stderr[-1500:]!r}: by one of {', '.join(names)}")
        else:
            results = {result["file"]: result for result in json.loads(done.stdout)["results"]}
            for name in names:
                if name not in results:
                    self.found(f"{name} has no result")
                    continue
                self.judge(name, results[name])
            codes = {
                name: (out / name.removesuffix(".py") / "code.py").read_text()
                for name in names
                if results.get(name, {}).get("accepted")
            }
            told += [path.read_text() for path in out.rglob("*") if path.is_file()] if out.exists() else []
            self.run_rendered(codes, {name: results[name]["document_hash"] for name in codes})
        shutil.rmtree(out, ignore_errors=True)
        self.looked_at(names, *told)

    def judge(self, name, result):
        """Count what became of a draft."""
        self.checked[name] = result
        check, reason = result["check"], result["reason"]
        self.reasons["accepted" if result["accepted"] else f"{check}: {reason}"] += 1
        if result["accepted"] is None or reason == "killed":
            self.found(f"{name}: {check}: {reason}: {result['message']}")
        elif not result["accepted"] and not (check and reason and result["message"]):
            self.found(f"{name} failed without a check, a reason or a message: {result}")

    def judge_cost(self, drafts, done):
        """Hold memory and processor time against the limits, draft by draft where there is need."""
        seconds = done.seconds - self.startup
        if len(drafts) == 1 or seconds <= MOST_SECONDS:
            self.worst_seconds = max(self.worst_seconds, seconds)
            self.worst_mb = max(self.worst_mb, done.peak_mb)
            names = ", ".join(draft.name for draft in drafts)
            if seconds > MOST_SECONDS:
                self.found(f"{seconds:.1f} s of processor time: {names}")
            if done.peak_mb > MOST_MB:
                self.found(f"{done.peak_mb:.0f} MB: {names}")
            return
        for half in (drafts[: len(drafts) // 2], drafts[len(drafts) // 2 :]):
            self.judge_cost(half, self.task_check(half))

    def task_check(self, drafts, *words):
        """The command, on drafts in files."""
        folder = self.place.work / "drafts"
        folder.mkdir()
        for draft in drafts:
            (folder / draft.name).write_bytes(draft.data)
        done = self.command(len(drafts), "task", "check", folder, "--jobs", 1, "--json", *words)
        shutil.rmtree(folder)
        return done

    # By a run

    def run_all(self, drafts):
        """Let a run be answered with all drafts, one after the other."""
        place = self.place
        (place.work / "reports").mkdir()
        reports = write_neiss(place.work / "reports", 4 * len(drafts) + 400).path
        author = Author(drafts)
        names = ["all drafts"]
        with LlmServer(author) as server:
            words = ["--source", "neiss", "--input", reports, "--limit", len(drafts) + 20, "--wave-size", 50]
            asked = ["--model", "openai/fuzz", "--api-base", server.address, "--concurrency", 1]
            author.child = lambda: self.child
            done = self.command(len(drafts), "run", "generate", *words, *asked, "--store", "store", "--json")
        self.run_seconds, self.run_mb = done.seconds, done.peak_mb
        self.slowest_in_run = author.slowest
        if done.status != 0:
            self.found(f"the run ended with {done.status}: {done.stderr[-3000:]}")
            return
        if done.peak_mb > MOST_MB:
            self.found(f"the run took {done.peak_mb:.0f} MB")
        if author.asked < len(drafts):
            self.found(f"the run asked for {author.asked} drafts of {len(drafts)}: there were too few records")
        store = Store(place.work / "store")
        rows = store.rows("drafts")
        if len(rows) != author.asked:
            self.found(f"{author.asked} drafts were given to the run, and its rows name {len(rows)}")
        if author.again:
            self.found(f"the run asked again for {', '.join(author.again)}")
        for row in rows:
            if not row["accepted"] and not (row["failed_check"] and row["failed_reason"]):
                self.found(f"draft {row['draft']} of {row['record_id']} has no reason")
            if row["failed_reason"] in ("killed", "jail_failed"):
                self.found(f"draft {row['draft']} of {row['record_id']} in the run: {row['failed_reason']}")
        outcomes = store.rows("outcomes")
        self.outcomes.update(row["outcome"] for row in outcomes)
        if len(outcomes) != len(drafts) + 20 or not all(
            row["reason"] or row["outcome"] == "accepted" for row in outcomes
        ):
            self.found(f"{len(drafts) + 20} records were to be worked on: {self.outcomes}")
        tasks = store.rows("tasks")
        self.run_rendered(
            {row["task_id"]: row["code"] for row in tasks}, {row["task_id"]: row["document_hash"] for row in tasks}
        )
        # What the author wrote may say what it likes; what was made of it may not.
        told = [row | {"code": None, "answer": None} for row in (*rows, *store.rows("checks"), *tasks, *outcomes)]
        self.looked_at(names, done.stdout, done.stderr, *(json.dumps(row, default=str) for row in told))

    # The code that people run

    def run_rendered(self, codes, hashes):
        """Run modules as people run them: they must give the documents of these hashes, and do nothing else."""
        if not codes:
            return
        folder = self.place.work / "codes"
        for name, code in codes.items():
            (folder / name).mkdir(parents=True)
            (folder / name / "code.py").write_text(code)
        done = self.watched([sys.executable, __file__, "--run-codes", str(folder)], len(codes))
        said = json.loads(done.stdout) if done.status == 0 else {}
        for name in codes:
            self.codes += 1
            if said.get(name) != hashes[name]:
                self.found(f"the code of {name} gives {said.get(name)}, not {hashes[name]}: {done.stderr[-1500:]}")
        shutil.rmtree(folder)

    # Commands

    def command(self, drafts, *words):
        """Run hazardmill."""
        return self.watched([sys.executable, "-m", "hazardmill.cli.main", *map(str, words)], drafts)

    def watched(self, command, drafts):
        """Run a command, and watch what it and all below it take."""
        files = self.place.home / "stdout", self.place.home / "stderr"
        with files[0].open("wb") as out, files[1].open("wb") as errors:
            process = subprocess.Popen(
                command, cwd=self.place.work, env=self.place.environment, stdout=out, stderr=errors, process_group=0
            )
        self.child = process.pid
        watch = Watch(process.pid)
        too_late = threading.Event()

        def end():
            too_late.set()
            os.killpg(process.pid, signal.SIGKILL)

        late = threading.Timer(MOST_WALL_SECONDS + 60 * drafts, end)
        late.start()
        _, status, used = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        peak = watch.stop()
        ended = None if too_late.is_set() else process.returncode
        texts = (file.read_text(errors="backslashreplace") for file in files)
        return Ended(ended, *texts, used.ru_utime + used.ru_stime, peak)

    def tell(self, drafts):
        """What was run and found; whether all is well."""
        print(f"\n{len(drafts)} drafts, {len(self.findings)} findings")
        for kind in KINDS:
            ends = [
                self.checked[draft.name]["check"]
                for draft in drafts
                if draft.kind == kind and draft.name in self.checked
            ]
            accepted = sum(end is None for end in ends)
            print(
                f"  {kind}: {len(ends)}, past policy and jail {sum(end in PAST for end in ends)}, accepted {accepted}"
            )
        past = sum(result["check"] in PAST for result in self.checked.values())
        enough = past >= len(drafts) / 4
        print(f"  past policy and jail: {past}, at least a quarter: {'yes' if enough else 'NO'}")
        print(f"task check: {', '.join(f'{reason} {count}' for reason, count in self.reasons.most_common())}")
        print(f"  most of a draft: {self.worst_seconds:.1f} s of processor time, {self.worst_mb:.0f} MB")
        print(f"run: {', '.join(f'{outcome} {count}' for outcome, count in self.outcomes.most_common())}")
        print(
            f"  {self.run_seconds:.0f} s of processor time, at most {self.slowest_in_run:.1f} s while a draft was out;"
            f" {self.run_mb:.0f} MB"
        )
        print(f"code run: {self.codes}")
        return enough and not self.findings


class Author:
    """Answers a run: a danger for each record as long as there are drafts, and the drafts in their order."""

    def __init__(self, drafts):
        self.drafts = drafts
        self.asked = 0
        self.slowest = 0.0
        """Most processor time from a draft's leaving to the next request of its record."""
        self.child = None
        self.again = []
        """Drafts that were asked for more than once."""
        self.given = {}
        """Which draft a record's draft of a number is."""
        self._out = {}

    def __call__(self, asked):
        key = asked.key
        now = processor_seconds(self.child())
        if key.record_hash in self._out:
            self.slowest = max(self.slowest, now - self._out.pop(key.record_hash))
        if key.stage == "extract":
            return FOUND if self.asked < len(self.drafts) else NONE
        if key.stage == "judge":
            return APPROVED
        self._out[key.record_hash] = now
        if (number := self.given.get((key.record_hash, key.draft))) is None:
            number = self.given[key.record_hash, key.draft] = self.asked
            self.asked += 1
        else:
            self.again.append(self.drafts[number].name if number < self.asked else "a plain draft")
        if number >= len(self.drafts):
            return f"```python\n{Module(number).text()}```"
        # A server sends text: bytes that are none were for task check.
        return f"```python\n{self.drafts[number].data.decode('utf-8', 'replace')}\n```"


class Watch:
    """The most memory that a process and all below it have together; what several share counts once."""

    def __init__(self, pid):
        self._pid = pid
        self._peak = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        while not self._over.wait(0.05):
            processes = below(self._pid)
            # Reading what is shared takes the kernel long: only where it could be more than ever.
            if resident_mb(processes) > self._peak:
                self._peak = max(self._peak, memory_mb(processes))

    def stop(self):
        self._over.set()
        self._thread.join()
        return self._peak


def resident_mb(processes):
    """What processes have in memory, with what they share counted in each."""
    pages = 0
    for pid in processes:
        try:
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError):  # it ended meanwhile
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor_seconds(root):
    """What a process and all below it took so far."""
    ticks = 0
    for pid in below(root):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile, and its parent counts it
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def run_codes(folder):
    """In a process of its own: run each module as a program, which may write nothing, start nothing, reach nobody."""
    import contextlib
    import io
    import runpy

    from hazardmill.formalism.authoring import PlanningTask
    from hazardmill.formalism.json_task import JsonTask
    from hazardmill.formalism.task_main import main as _loaded  # noqa: F401  # nothing is imported from here on

    sys.dont_write_bytecode = True
    refused = ("socket.", "subprocess.", "os.", "shutil.", "ctypes.", "signal.", "mmap.", "sqlite3.", "urllib.")
    harmless = {"os.listdir", "os.scandir", "os.putenv"}
    done = []

    def watch(event, args):
        writes = event == "open" and (args[1] not in (None, "r", "rb") or (args[2] or 0) & (os.O_WRONLY | os.O_RDWR))
        if writes or (event.startswith(refused) and event not in harmless):
            done.append(f"{event} {args}")

    sys.addaudithook(watch)
    said = {}
    for path in sorted(folder.glob("*/code.py")):
        done.clear()
        names = runpy.run_path(str(path), run_name="task")
        (task,) = (
            value
            for value in names.values()
            if isinstance(value, type) and issubclass(value, PlanningTask) and value not in (PlanningTask, JsonTask)
        )
        sys.argv = [str(path)]
        printed = io.StringIO()
        ended = 0
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                runpy.run_path(str(path), run_name="__main__")
            except SystemExit as leaving:
                ended = leaving.code
        wrong = [*done, *([f"it ended with {ended}: {printed.getvalue()}"] if ended else [])]
        said[path.parent.name] = "; ".join(wrong) or task().document().hash
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
