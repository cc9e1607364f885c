"""Odd files and folders among each source's sample, until one hangs an ingest, breaks it, or is passed over in silence.

    python benchmarks/fuzz_files.py [--cases 500] [--seed 0] [--source NAME ...]

A case is a copy of a sample with one to three odd things in it: pipes, sockets, devices, links to nothing, in circles
and to folders, files and folders without permission, a file of 100 GB that is all hole, files cut short, with a line
of two megabytes, in wide encodings, with NULs, with names that are no text, that change while they are read, and
folders deeper than a path may be. Each is ingested into a store of its own, in a process of its own, with the rights
of the superuser given up, who may read everything. A finding is a traceback, more than 10 seconds of
processor time or 60 of the clock, more than 1 GB, an odd thing that neither a reject nor the error names, or a record
lost of a file that was left alone; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

from hazardmill.errors import HazardmillError
from hazardmill.ingest.ingest import ANYTHING, ingest
from hazardmill.ingest.intake import ingest_into
from hazardmill.ingest.sources import list_sources, load_source
from hazardmill.records import Record
from hazardmill.store.store import Store

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the factories are the tests'

from factories.odd_files import CLOSED, ODD_THINGS, give_up_rights

MOST_SECONDS = 10
MOST_WALL_SECONDS = 60
MOST_BYTES = 1 << 30
FOLDERS_IN = {"virtualhome": "withoutconds"}
"""Where in a sample a source looks for folders; by default at the top."""
FLAT = {"neiss", "normbank"}
"""Sources that read the files of a folder, and enter none."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cases", type=int, default=500, help="cases over all sources (500)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other cases")
    parser.add_argument("--source", action="append", help="only this source; may be repeated")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    names = options.source or [source.name for source in list_sources()]
    whole = {name: records_of(load_source(name)) for name in names}
    laid, reasons, findings = Counter(), Counter(), []
    worst_seconds = worst_bytes = 0
    for number in range(options.cases):
        name = names[number % len(names)]
        chance = random.Random(f"{name} {options.seed} {number}")
        with tempfile.TemporaryDirectory() as home:
            try:
                case = Case(load_source(name), Path(home), chance)
                answer, seconds, size = run(case)
            finally:
                open_all(home)
        worst_seconds, worst_bytes = max(worst_seconds, seconds), max(worst_bytes, size)
        laid.update(what for what, _, _ in case.odd)
        reasons.update(reason for _, reason in answer.get("rejects", []))
        for wrong in case.judge(answer, whole[name], seconds):
            findings.append(wrong)
            print(f"FOUND in case {number} of {name}, {', '.join(what for what, _, _ in case.odd)}: {wrong}")
        if (number + 1) % 100 == 0:
            print(f"{number + 1} cases, {len(findings)} findings")
    print(f"{options.cases} cases, {sum(laid.values())} odd things, {len(findings)} findings")
    print(f"most of one case: {worst_seconds:.1f} s of processor time, {worst_bytes / 1e6:.0f} MB")
    print(f"laid: {', '.join(f'{what} {count}' for what, count in laid.most_common())}")
    print(f"rejects: {', '.join(f'{reason} {count}' for reason, count in reasons.most_common())}")
    return 1 if findings else 0


def records_of(source):
    """The records of the whole sample, by the file that they are in."""
    found = {}
    for item in ingest(source, source.sample, where=dict.fromkeys(source.default_where, ANYTHING)):
        if isinstance(item, Record):
            found.setdefault(item.file, set()).add(item.record_id)
    return found


class Case:
    """A sample with odd things in it. ``odd`` says what they are, where, and which name must be told of each."""

    def __init__(self, source, home, chance):
        self.source, self.home, self.chance = source, home, chance
        self.input = shutil.copytree(source.sample, home / "input")
        self.odd, self.files, self.changing = [], set(), []
        made = [self.in_place, self.in_place, self.in_place, self.broken, self.broken, self.beside, self.changed]
        for lay in chance.sample(made, chance.choice((1, 1, 2, 3))):
            lay()

    def file(self):
        """A file of the sample that is left alone as yet, and holds a record."""
        whole = records_of_names(self.source)
        files = [file for file in self.source.discover(self.input) if file.name in whole - self.files]
        if not files:
            return None
        file = self.chance.choice(files)
        self.files.add(file.name)
        return file

    def in_place(self):
        """Something that is no file where a file was."""
        file = self.file()
        if file is not None:
            odd = self.chance.choice((*ODD_THINGS, *CLOSED))
            file.path.unlink()
            odd.lay(file.path)
            self.odd.append((odd.name, file.path, file.name))

    def broken(self):
        """A file of another content."""
        file = self.file()
        if file is None:
            return
        what = self.chance.choice(("cut short", "endless line", "encoding", "NULs", "all NULs"))
        data = file.path.read_bytes()
        if what == "cut short":
            data = data[: self.chance.randrange(len(data))]
        elif what == "endless line":
            data += b"x" * (2 << 20) + b"\n"
        elif what == "encoding":
            name = self.chance.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "cp037"))
            data = data.decode("utf-8", "replace").encode(name, "replace")
        elif what == "NULs":
            place = self.chance.randrange(len(data))
            data = data[:place] + b"\0" * self.chance.choice((1, 2, 5000)) + data[place:]
        else:
            data = b"\0" * len(data)
        file.path.write_bytes(data)
        self.odd.append((what, file.path, file.name))

    def beside(self):
        """Something beside the files."""
        base = self.input / FOLDERS_IN.get(self.source.name, ".")
        what = self.chance.choice(("dangling link", "circle", "closed folder", "deep folder", "name"))
        path = base / f"beside{len(self.odd)}"
        if what == "dangling link":
            path.symlink_to("nowhere/at/all")
        elif what == "circle":
            path.symlink_to(self.chance.choice((".", "..", path.name)))
        elif what == "closed folder":
            path.mkdir()
            path.chmod(0)
        elif what == "deep folder":
            descend(path)
        else:
            # A copy under a name that is no text; of a file in a folder, the folder's.
            first = self.source.discover(self.source.sample)[0]
            path = Path(os.fsdecode(os.fsencode(str(base / "caf")) + b"\xe9" + os.fsencode(first.path.suffix)))
            if first.path.parent == self.source.sample or self.source.name in FOLDERS_IN:
                shutil.copy(first.path, path)
            else:
                shutil.copytree(first.path.parent, path)
        told = os.fsencode(path.name).decode("utf-8", "backslashreplace")
        not_entered = self.source.name in FLAT and (what in ("closed folder", "deep folder") or path.is_dir())
        self.odd.append((what, path, None if not_entered else told))

    def changed(self):
        """A file that somebody goes on writing to."""
        file = self.file()
        if file is not None:
            self.changing.append(file.path)
            self.odd.append(("changing", file.path, file.name))

    def judge(self, answer, whole, seconds):
        """What is wrong with how the ingest ended."""
        if answer["ended"] not in ("well", "error"):
            yield f"{answer['ended']}: {answer.get('text', '')[-1500:]}"
            return
        if seconds > MOST_SECONDS:
            yield f"{seconds:.1f} s of processor time"
        rejects = answer.get("rejects", [])
        told = " ".join([answer.get("text", ""), *(f"{file} {reason}" for file, reason in rejects)])
        for what, _, name in self.odd:
            read = name in answer.get("files", ()) and what in ("cut short", "changing", "NULs")
            if name is not None and not read and name.removesuffix("/") not in told:
                yield f"nothing is said of {what}: {name}"
        for name, ids in whole.items():
            if name not in self.files and answer["ended"] == "well":
                lost = ids - answer["records"]
                if lost:
                    yield f"{len(lost)} records of {name} are lost"


def records_of_names(source):
    if source.name not in _NAMES:
        _NAMES[source.name] = set(records_of(source))
    return _NAMES[source.name]


_NAMES: dict[str, set[str]] = {}


def descend(path):
    """Folders in folders, until their path is longer than one may be."""
    path.mkdir()
    here = os.open(path, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def open_all(home):
    """Give back what was taken away, so that the folder can be removed."""
    for place, folders, _ in os.walk(home):
        for name in folders:
            path = Path(place) / name
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o755)


def run(case):
    """Ingest a case in a process of its own: what it answered, its processor time, and its most memory."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(case, there))
    child.start()
    there.close()
    answer = {"ended": f"no end after {MOST_WALL_SECONDS} s"}
    if here.poll(MOST_WALL_SECONDS):
        try:
            answer = here.recv()
        except EOFError:
            answer = {"ended": "the process died"}
    else:
        child.kill()
    child.join()
    return answer, answer.get("seconds", 0), answer.get("bytes", 0)


def work(case, answer):
    store = case.home / "store"
    store.mkdir()
    give_up_rights()
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MOST_BYTES, mapped + MOST_BYTES))
    stop = threading.Event()
    writers = [threading.Thread(target=write_on, args=(path, stop), daemon=True) for path in case.changing]
    for writer in writers:
        writer.start()
    started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        made = Store(store / "s")
        ingest_into(made, case.source.name, case.input, where=dict.fromkeys(case.source.default_where, ANYTHING))
        rows = made.rows("records", columns=["record_id", "file"])
        said = {
            "ended": "well",
            "rejects": [(row["file"], row["reason"]) for row in made.rows("rejects")],
            "records": {row["record_id"] for row in rows},
            "files": {row["file"] for row in rows},
        }
    except HazardmillError as error:
        said = {"ended": "error", "text": str(error)}
    except BaseException:
        said = {"ended": "a traceback", "text": traceback.format_exc()}
    said["seconds"] = time.process_time() - started
    said["bytes"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    stop.set()
    answer.send(said)
    answer.close()
    os._exit(0)


def write_on(path, stop):
    with path.open("ab") as stream:
        while not stop.wait(0.0005):
            stream.write(b"\n")
            stream.flush()


if __name__ == "__main__":
    sys.exit(main())
