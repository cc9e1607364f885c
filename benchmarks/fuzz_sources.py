"""Mutated inputs for each source's parser, until something comes out that is neither item nor typed error.

    python benchmarks/fuzz_sources.py [--minutes 10] [--seed 0] [--jobs 2] [--source NAME ...] [--findings FOLDER]
    python benchmarks/fuzz_sources.py --replay FOLDER

The minutes are those of each source. What goes in are the source's sample and the inputs of its cases, mutated in
bytes, lines, cells, JSON values, and names of files. A finding is an exception that is not of hazardmill's own, an
item of another kind, an item that a store or a prompt could not hold, more than 5 seconds or 1 GB for one input, or
the end of the process. Each finding is cut down and written with its input; the exit code is then 1. The same seed
tries the same inputs in the same order for as long as sample and cases stay as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import pickle
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hazardmill.errors import HazardmillError
from hazardmill.ingest.sources import Note, list_sources, load_source
from hazardmill.records import Record, Reject
from hazardmill.testing.cases import cases_of, lay_out

MOST_SECONDS = 5
MOST_BYTES = 1 << 30
_LABELLED = re.compile(r"[A-Z][A-Za-z ]*: \S.*")
_TOKEN = re.compile(rb"[A-Za-z_][\w.'-]*|[0-9]+|[^\w\s]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=10, help="time for each source (10)")
    parser.add_argument("--seed", type=int, default=0, help="another seed tries other inputs")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--source", action="append", help="only this source; may be repeated")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder for what is found")
    parser.add_argument("--replay", type=Path, help="try what is in this folder again, and nothing else")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    if options.replay:
        return replay(options.replay)
    names = options.source or [source.name for source in list_sources()]
    found = sum(fuzz(name, options) for name in names)
    print(f"{found} findings" + (f", in {options.findings}: try them again with --replay" if found else ""))
    return 1 if found else 0


# Trying one input


@dataclass(frozen=True)
class Finding:
    """What went wrong: ``sign`` is the same for the same fault."""

    sign: str
    told: str


class Slow(BaseException):
    """Raised by the alarm."""


def attempt(source, files, folder, reasons):
    """Lay the files out and read them; a finding, or None."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with contextlib.suppress(OSError, ValueError):  # names no file can have
        lay_out(folder, files)
    started = time.process_time()
    signal.alarm(MOST_SECONDS * 4)
    try:
        finding = read_all(source, folder, reasons)
    except HazardmillError as error:
        reasons[type(error).__name__] += 1
        finding = None
    except Slow:
        finding = Finding("hang", f"no end after {MOST_SECONDS * 4} s")
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = next(
            (f for f in reversed(frames) if "/sources/" in f.filename or "hazardmill" in f.filename), frames[-1]
        )
        place = f"{Path(last.filename).name}:{last.lineno}"
        finding = Finding(f"{type(error).__name__} at {place}", "".join(traceback.format_exception(error))[-4000:])
    finally:
        signal.alarm(0)
    spent = time.process_time() - started
    if finding is None and spent > MOST_SECONDS:
        finding = Finding("slow", f"{spent:.1f} s of processor time")
    return finding


def read_all(source, folder, reasons):
    for file in source.discover(folder):
        for item in source.read(file):
            if not isinstance(item, Record | Reject | Note):
                return Finding("kind", f"an item is of type {type(item).__name__}")
            if isinstance(item, Reject):
                reasons[item.reason] += 1
            if isinstance(item, Record):
                source.key(item), source.essence(item), item.content_hash
                reasons["(record)"] += 1
                for line in item.context.splitlines():
                    if not _LABELLED.fullmatch(line):
                        return Finding("context", f"a line of the context has no label or no text: {line!r}")
                if set(item.facts) != set(source.facts):
                    return Finding("facts", f"facts are {sorted(item.facts)}")
            # A surrogate or an infinite number is for no store.
            json.dumps(item.model_dump(mode="json"), ensure_ascii=False, allow_nan=False).encode()
    return None


# What goes in


@dataclass
class Corpus:
    """Inputs (file name to bytes), and the words in them."""

    inputs: list[dict[str, bytes]]
    tokens: list[bytes] = field(default_factory=list)

    def __post_init__(self):
        texts = {data for files in self.inputs for data in files.values() if not data.startswith(b"PK")}
        self.tokens = sorted({token for data in texts for token in _TOKEN.findall(data[:20_000])})


def corpus_of(source):
    sample = {
        p.relative_to(source.sample).as_posix(): p.read_bytes() for p in sorted(source.sample.rglob("*")) if p.is_file()
    }
    # What belongs together shares a stem, or where all are called the same, a folder.
    by_stem = len({Path(name).stem for name in sample}) > 1
    groups: dict[str, dict[str, bytes]] = {}
    for name, data in sample.items():
        groups.setdefault(Path(name).stem if by_stem else str(Path(name).parent), {})[name] = data
    cases = cases_of(source)
    tables = [dict(case.files) for case in (*cases.refused, *cases.accepted)]
    small = [{name: data[:200_000] for name, data in files.items()} for files in (*groups.values(), *tables) if files]
    return Corpus(small)


# Mutations: of bytes


ODD = [
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\x0b",
    b"\x0c",
    b"\x1c",
    b"\xc2\xa0",
    b"\xe2\x80\xae",
    "\u0130\u00df\u0661\u00b2\u2460\U0001d7d8".encode(),
    b"\r",
    b"\n",
    b"\r\n",
    b"\t",
    b'"',
    b'""',
    b"'",
    b"\\",
    b"\\ud800",
    b"\\u0000",
    b"{{0}}",
    b"%s",
    b"None",
    b"NaN",
    b"Infinity",
    b"-1",
    b"1e999",
    b"1" * 5000,
    b"-" + b"9" * 400,
    b"0x10",
    b"1_000",
    b"(" * 100_000,
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b"(not " * 5_000,
    b"\t" * 2_000,
    b"A" * 70_000,
]


def flip(chance, data, corpus):
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]


def cut(chance, data, corpus):
    begin, end = span(chance, data)
    return data[:begin] + data[end:]


def cut_off(chance, data, corpus):
    return data[: chance.randrange(len(data))]


def insert(chance, data, corpus):
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(chance.choice((corpus.tokens, ODD))) + data[place:]


def replace_token(chance, data, corpus):
    found = list(_TOKEN.finditer(data[:100_000]))
    if not found:
        return data
    token = chance.choice(found)
    return data[: token.start()] + chance.choice(chance.choice((corpus.tokens, ODD))) + data[token.end() :]


def splice(chance, data, corpus):
    other = chance.choice(list(chance.choice(corpus.inputs).values()))
    return data[: chance.randrange(len(data))] + other[chance.randrange(len(other) + 1) :]


def lines(chance, data, corpus):
    rows = data.split(b"\n")
    one, other = chance.randrange(len(rows)), chance.randrange(len(rows))
    what = chance.randrange(4)
    if what == 0:
        rows.insert(other, rows[one])
    elif what == 1:
        rows[one], rows[other] = rows[other], rows[one]
    elif what == 2:
        del rows[one]
    else:
        rows[one : one + 1] = [rows[one]] * chance.choice((3, 300))
    return b"\n".join(rows)


def cell(chance, data, corpus):
    rows = data.split(b"\n")
    place = chance.randrange(len(rows))
    separator = b"\t" if b"\t" in data else b","
    cells = rows[place].split(separator)
    cells[chance.randrange(len(cells))] = chance.choice((*ODD[:30], b"", b" ", chance.choice(corpus.tokens)))
    rows[place] = separator.join(cells)
    return b"\n".join(rows)


def encoding(chance, data, corpus):
    text = data.decode("utf-8", "replace")
    name = chance.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1252", "latin-1", "cp037"))
    return chance.choice((text, f"\u00e9{text}", text.replace("\n", "\r\n"))).encode(name, "replace")


def json_value(chance, data, corpus):
    """Another value in the place of some value, or another key."""
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        return replace_token(chance, data, corpus)
    spots = []
    waiting = [root]
    while waiting and len(spots) < 3_000:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            spots.append((node, key))
            waiting.append(node[key])
    odd = [
        None,
        True,
        0,
        -1,
        1e308,
        10**30,
        "",
        " ",
        "\ud800",
        "\n",
        "a\u2028b",
        [],
        {},
        [[]],
        [None],
        {"": 1},
        ["a"] * 9,
    ]
    other = chance.choice([*odd, chance.choice(corpus.tokens).decode("utf-8", "replace")])
    if not spots:
        return json.dumps(other).encode()
    node, key = chance.choice(spots)
    what = chance.randrange(4)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node, dict):
        node[str(other)] = node.pop(key)
    elif what == 2:
        from_node, from_key = chance.choice(spots)
        # A copy, lest a value hold itself.
        with contextlib.suppress(KeyError, IndexError):
            node[key] = json.loads(json.dumps(from_node[from_key]))
    else:
        node[key] = other
    return json.dumps(root, indent=chance.choice((None, 4)), ensure_ascii=chance.random() < 0.9).encode(
        "utf-8", "replace"
    )


def in_archive(chance, data, corpus):
    """A mutation inside a workbook, which flipped bits would only make unreadable."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # mutated before; zipfile and zlib have many ways to say so
        return flip(chance, data, corpus)
    name = chance.choice([*members])
    if members[name]:
        members[name] = chance.choice((flip, cut, insert, replace_token, replace_token))(chance, members[name], corpus)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return packed.getvalue()


def span(chance, data):
    begin = chance.randrange(len(data))
    return begin, min(len(data), begin + chance.choice((1, 2, 5, 20, 200)))


BYTES = (flip, cut, cut_off, insert, insert, replace_token, replace_token, splice, lines, cell, encoding)


# Mutations: of names


NAMES = (
    *("a.tsv A.TSV neiss1999.tsv x.csv .hidden problem0.bddl traj_data.json domain.bddl UPPER.JSON b.xlsx".split()),
    *("a\nb.txt", "\u00e4\u0301.json", "{0}.json", "with blank.tsv"),
)


def names(chance, files, corpus):
    """Files renamed, moved, lost, doubled or made folders."""
    files = dict(files)
    name = chance.choice([*files])
    data = files.pop(name)
    what = chance.randrange(7)
    if what == 0:
        return files or {"empty": b""}
    path = Path(name)
    new = {
        1: path.with_name(chance.choice(NAMES)),
        2: Path(chance.choice(NAMES)) / path,
        3: Path(path.name),
        4: path / chance.choice(NAMES),
        5: path.parent / "twin" / path.name,
        6: path.with_suffix(chance.choice((".JSON", ".txt", ".csv", ".tsv", ".bddl", "", ".gz"))),
    }[what].as_posix()
    if what == 5:
        files[name] = data
    return {**files, new: data}


def mutant(source_name, corpus, seed, number):
    """The input of this number: the same for the same seed, corpus and Python."""
    chance = random.Random(f"{source_name} {seed} {number}")
    files = dict(chance.choice(corpus.inputs))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        if chance.random() < 0.12:
            files = names(chance, files, corpus)
            continue
        if chance.random() < 0.05:
            files = {**files, **chance.choice(corpus.inputs)}
        name = chance.choice([*files])
        data = files[name]
        if not data:
            files[name] = chance.choice(corpus.tokens)
            continue
        start = data[:64].lstrip()[:1]
        if data.startswith(b"PK") and chance.random() < 0.8:
            mutation = in_archive
        elif start in (b"{", b"[") and chance.random() < 0.6:
            mutation = json_value
        else:
            mutation = chance.choice(BYTES)
        files[name] = mutation(chance, data, corpus)[:2_000_000]
    return files


# Processes


def fuzz(name, options):
    """Fuzz one source; the number of findings."""
    context = multiprocessing.get_context("fork")
    end = time.monotonic() + options.minutes * 60
    source = load_source(name)
    corpus = corpus_of(source)
    tried, reasons, findings = 0, Counter(), {}
    with tempfile.TemporaryDirectory() as home:
        places = [context.Value("q", job) for job in range(options.jobs)]

        def start(job):
            worker = context.Process(target=work, args=(name, corpus, options, places[job], end, Path(home)))
            worker.start()
            return worker

        workers = [start(job) for job in range(options.jobs)]
        for job in range(options.jobs):
            while True:
                workers[job].join()
                code, number = workers[job].exitcode, places[job].value
                if code == 0:
                    break
                if code == 1:
                    raise SystemExit(f"the fuzzer itself failed at input {number} of {name}")
                # It died on the input of this number, and could not say so.
                finding = Finding(f"death {code}", f"the process ended with {code}")
                findings[finding.sign] = (finding, mutant(name, corpus, options.seed, number))
                places[job].value = number + options.jobs
                workers[job] = start(job)
        for path in Path(home).glob("*.pickle"):
            more, counted, found = pickle.loads(path.read_bytes())
            tried += more
            reasons += counted
            findings = found | findings
    print(f"{name}: {tried:,} inputs from {len(corpus.inputs)}, {reasons.pop('(record)', 0):,} records,", end=" ")
    print(f"{len(reasons)} reasons reached, {len(findings)} findings")
    print(f"  {', '.join(f'{reason} {count}' for reason, count in reasons.most_common())}")
    for finding, files in findings.values():
        print(f"  FOUND {finding.sign}: {write_down(options.findings, name, finding, files)}")
    return len(findings)


def work(name, corpus, options, place, end, home):
    """Try every ``jobs``-th input from ``place`` on; what is found is cut down at once."""
    prepare()
    source = load_source(name)
    tried, reasons, findings = 0, Counter(), {}
    folder = home / f"input of {os.getpid()}"
    while time.monotonic() < end:
        files = mutant(name, corpus, options.seed, place.value)
        finding = attempt(source, files, folder, reasons)
        if finding is not None and finding.sign not in findings:
            findings[finding.sign] = (finding, smaller(source, files, folder, finding))
        tried += 1
        place.value += options.jobs
    (home / f"{os.getpid()}.pickle").write_bytes(pickle.dumps((tried, reasons, findings)))


def prepare():
    def ring(*_):
        raise Slow

    signal.signal(signal.SIGALRM, ring)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MOST_BYTES, mapped + MOST_BYTES))


def smaller(source, files, folder, finding, seconds=10):
    """The files without what the finding does not need, as far as the seconds go."""
    end = time.monotonic() + seconds

    def same(candidate):
        again = attempt(source, candidate, folder, Counter())
        return again is not None and again.sign == finding.sign

    for name in [*files]:
        rest = {other: data for other, data in files.items() if other != name}
        if rest and same(rest):
            files = rest
    for name in files:
        step = len(files[name]) // 2
        while step and time.monotonic() < end:
            begin = 0
            while begin < len(files[name]) and time.monotonic() < end:
                candidate = {**files, name: files[name][:begin] + files[name][begin + step :]}
                if same(candidate):
                    files = candidate
                else:
                    begin += step
            step //= 2
    return files


def write_down(home, name, finding, files):
    place = home / f"{name}-{hashlib.sha256(finding.sign.encode()).hexdigest()[:8]}"
    shutil.rmtree(place, ignore_errors=True)
    (place / "input").mkdir(parents=True)
    lay_out(place / "input", files)
    (place / "finding.json").write_text(
        json.dumps({"source": name, "sign": finding.sign, "told": finding.told}, indent=1)
    )
    return place


def replay(home):
    prepare()
    left = 0
    for place in sorted(home.glob("*/finding.json")):
        before = json.loads(place.read_text())
        base = place.parent / "input"
        files = {p.relative_to(base).as_posix(): p.read_bytes() for p in sorted(base.rglob("*")) if p.is_file()}
        with tempfile.TemporaryDirectory() as folder:
            finding = attempt(load_source(before["source"]), files, Path(folder) / "input", Counter())
        left += finding is not None
        print(f"{place.parent.name}: {before['sign']} -> {finding.sign if finding else 'mended'}")
        if finding:
            print(finding.told)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
