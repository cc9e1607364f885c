"""Save everything a checkout prints and writes from fixed inputs, or compare two such folders.

    python scripts/saved_outputs.py save FOLDER       # of the checkout whose interpreter runs this
    python scripts/saved_outputs.py compare ONE OTHER # exit code 1 with one line per difference

What a refactoring must leave as it was: every ``--help``, the schemas, the tables of docs/data-flow.md (checks with
their reason codes), the digests of the demo's store (answers and rendered prompts are in them, by hash), its release
row by row, its report, its figures of planners, and what the commands that read these say. Only what differs between
any two runs is put aside: ids of runs, times, folders, and hashes of files that hold those. Knows no module
of the library, so that it runs in checkouts from before modules were moved (copy it there).
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

DIFFERS_EACH_TIME = (
    (re.compile(r"\b[a-z]+-\d{8}-\d{6}-[0-9a-f]{6}\b|\bscore-[0-9a-f]{12}\b"), "RUN"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d| UTC)?"), "TIME"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "DAY"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA256"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|seconds|minutes)\b|\b\d+:\d\d:\d\d\b"), "TOOK"),
    (re.compile(r"(?<=: )\d+\.\d+(?=,?\n)"), "NUMBER"),
)
"""Patterns of what no two runs have in common, each with what stands in its place; the last for ``demo.json`` only."""

READERS = (
    ("report", "--format", "md", "--out", "{out}/report-md", "--store", "{out}/store"),
    ("report", "--json", "--out", "{out}/report-json", "--store", "{out}/store", "--review", "{out}/review"),
    ("run", "list", "--store", "{out}/store"),
    ("store", "verify", "--store", "{out}/store"),
    ("review", "stats", "--json", "--review", "{out}/review", "--store", "{out}/store"),
    ("task", "lint", "{out}/tasks"),
    ("task", "certify", "{out}/tasks/{task}"),
    ("task", "solve", "{out}/tasks/{task}"),
    ("task", "export", "{out}/tasks/{task}", "--to", "despite", "--out", "{out}/despite"),
    ("task", "verify", "{out}/tasks/{task}"),
    ("why", "{record}", "--store", "{out}/store"),
    ("evaluate", "stats", "{out}/evaluation"),
    ("dedupe", "--store", "{out}/store"),
    ("query", "SELECT DISTINCT reason FROM checks ORDER BY reason", "--store", "{out}/store"),
    ("sources", "list"),
    ("sources", "show", "neiss"),
)
"""Commands that read what the demo wrote, with what they print."""


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    saving = commands.add_parser("save")
    saving.add_argument("folder", type=Path)
    comparing = commands.add_parser("compare")
    comparing.add_argument("one", type=Path)
    comparing.add_argument("other", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "save":
        save(arguments.folder)
        return 0
    differences = list(compare(arguments.one, arguments.other))
    print("\n".join(differences) or f"equal: {len(texts(arguments.one))} files")
    return 1 if differences else 0


def save(folder: Path) -> None:
    """Write all outputs of this checkout below ``folder``, which must not exist."""
    folder.mkdir(parents=True)
    (folder / "help").mkdir()
    for words, text in helps(()):
        (folder / "help" / f"{'-'.join(words) or 'hazardmill'}.txt").write_text(text)
    (folder / "schemas").mkdir()
    for path in Path("hazardmill").rglob("*.schema.json"):
        shutil.copy(path, folder / "schemas")
    rows = [line for line in Path("docs/data-flow.md").read_text().splitlines() if line.startswith("| `")]
    (folder / "data-flow-tables.txt").write_text("\n".join(rows))
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "demo-out"
        demo = run("demo", "--out", str(out), "--json")
        (folder / "demo.json").write_text(scrub(demo, out, numbers=True))
        (folder / "digests.json").write_text(run("store", "digest", "--store", str(out / "store"), "--json"))
        save_demo(out, folder / "demo")
        task = sorted(path.name for path in (out / "tasks").iterdir() if path.is_dir())[0]
        record = json.loads((out / "tasks" / task / "metadata.json").read_text())["hazardmill"]["record_id"]
        (folder / "readers").mkdir()
        for number, words in enumerate(READERS):
            text = run(*(word.format(out=out, task=task, record=record) for word in words))
            name = "-".join(word for word in words[:2] if not word.startswith(("-", "{")))
            (folder / "readers" / f"{number:02}-{name}.txt").write_text(scrub(text, out))
        for name in ("report-md", "despite"):
            save_demo(out / name, folder / name)


def save_demo(out: Path, folder: Path) -> None:
    """The files of a folder as text: Parquet row by row, and without what differs each time; stores are in digests."""
    for path in sorted(out.rglob("*")):
        inside = path.relative_to(out)
        if not path.is_file() or inside.parts[0] == "store":
            continue
        if path.suffix == ".parquet":
            rows = pq.ParquetFile(path).read().to_pylist()
            text = "".join(json.dumps(row, sort_keys=True, default=str) + "\n" for row in rows)
        else:
            text = path.read_bytes().decode("utf-8", errors="replace")
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(scrub(text, out))


def helps(words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The help of a command, and of all commands below it."""
    text = run(*words, "--help")
    yield words, text
    _, _, listed = text.partition("\nCommands:\n")
    for line in listed.splitlines():
        if not line:
            break
        if found := re.match(r"  ([a-z][\w-]*)(\s|$)", line):
            yield from helps((*words, found[1]))


def run(*words: str) -> str:
    """What a command prints, with its exit code where that is not 0."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HAZARDMILL_")}
    done = subprocess.run(
        [Path(sys.executable).with_name("hazardmill"), *words],
        capture_output=True,
        text=True,
        env=environment | {"COLUMNS": "120", "NO_COLOR": "1"},
    )
    if words[0] == "demo" and done.returncode:
        raise SystemExit(f"the demo failed: {done.stderr}")
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"


def scrub(text: str, out: Path, *, numbers: bool = False) -> str:
    """A text without what differs between any two runs."""
    text = text.replace(str(out), "OUT").replace(str(out.parent), "OUT").replace(str(Path.cwd()), "CHECKOUT")
    for pattern, place in DIFFERS_EACH_TIME if numbers else DIFFERS_EACH_TIME[:-1]:
        text = pattern.sub(place, text)
    return text


def texts(folder: Path) -> dict[str, str]:
    """Path below the folder to text."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def compare(one: Path, other: Path) -> Iterator[str]:
    """One line per file that only one has, and for others the first lines that differ."""
    before, after = texts(one), texts(other)
    for name in sorted(before.keys() | after.keys()):
        if name not in after or name not in before:
            yield f"{name}: only in {one if name in before else other}"
        elif before[name] != after[name]:
            changed = difflib.unified_diff(before[name].splitlines(), after[name].splitlines(), lineterm="", n=0)
            lines = [line[:200] for line in changed][2:]
            yield f"{name}: differs"
            yield from (f"    {line}" for line in lines[:12])


if __name__ == "__main__":
    sys.exit(main())
