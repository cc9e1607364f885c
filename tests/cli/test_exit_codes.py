"""Exit codes 2 and 3 by the rule of CONTRIBUTING.md: what was typed is wrong, or what lies where it points."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Ended, Hazardmill, OnceASession

NOT_INSTALLED = "boto3 deltalake ducklake fastapi huggingface_hub litellm pandas scipy unified_planning uvicorn".split()
"""Packages that only extras install."""


@pytest.fixture(autouse=True)
def stored(hazardmill: Hazardmill, neiss: Path, once: OnceASession) -> None:
    """A store `s` with one generation run, of one record."""

    def make() -> Ended:
        return hazardmill(
            *("run", "generate", "--source", "neiss", "--input", neiss, "--limit", 1, "--run-id", "soup-1"),
            *("--store", "s", "--json"),
        )

    assert once("one run of one record", make).code == 0


def given(words: str, neiss: Path) -> list[str]:
    return words.format(neiss=neiss).split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nonsense", "No such command 'nonsense'."),
        ("ingst --source neiss", "No such command 'ingst'. Did you mean ingest?"),
        ("run lits", "No such command 'lits'. Did you mean list?"),
        ("run list --stroe s", "No such option '--stroe'. "),
        # Unknown sources and facts.
        ("ingest --source neis {neiss}", "there is no source 'neis' [did you mean neiss?"),
        ("run generate --source neis --store s", "there is no source 'neis' [did you mean neiss?"),
        ("run estimate --source neis --input {neiss}", "there is no source 'neis' [did you mean neiss?"),
        ("run preview --source neis --input {neiss}", "there is no source 'neis' [did you mean neiss?"),
        ("sources show neis", "there is no source 'neis' [did you mean neiss?"),
        ("sources show zebra", "there is no source 'zebra' [known sources: "),
        ("sources fetch neis", "there is no source 'neis' [did you mean neiss?"),
        ("report --store s --source neis", "there is no record of source neis in soup-1 [did you mean neiss?"),
        ("run generate --source neiss --store s --where diagnosi=1", "has no fact diagnosi to select by [did you mean"),
        (
            "run estimate --source neiss --input {neiss} --where diagnosi=1",
            "has no fact diagnosi to select by [did",
        ),
        # Unknown runs, and the beginnings of ids.
        ("report --store s --run soup", "there is no generation run soup in this store [did you mean soup-1?"),
        ("run resume soup-2 --store s", "there is no generation run soup-2 in this store [did you mean soup-1?"),
        ("run compare soup-1 so --store s", "there is no generation run so in this store [did you mean soup-1?"),
        ("run record soup --store s --out o", "there is no generation run soup in this store [did you mean soup-1?"),
        ("run recheck soup --store s", "there is no run soup in this store [did you mean soup-1?"),
        ("store digest --run soup --store s", "there is no run soup in this store [did you mean soup-1?"),
        ("dedupe --run soup --store s", "there is no run soup in this store [did you mean soup-1?"),
        ("why neiss:249900101 --run soup --store s", "there is no run 'soup' in this store [did you mean soup-1?"),
        ("why soup-1 --store s", "soup-1 is a run, not a record or task ["),
        # Unknown records, tasks and columns.
        (
            "why neiss:24990010 --store s",
            "there is no record or task 'neiss:24990010' in this store [did you mean neiss:",
        ),
        ("task solve neiss- --store s", "there is no task 'neiss-' in this store [did you mean neiss-"),
        ("store export s --to parquet --store s", "s already exists [name a folder that does not exist yet]"),
        ("store digest --without outcom --store s", "the digest covers no column named outcom [did you mean outcome?"),
        # Words that do not go together, and values.
        ("ingest --source neiss", "source neiss needs a path: give a NEISS file"),
        ("run generate --source neiss --limit none", "'none' is not a number of records"),
        ("evaluate report", "there is nothing to report on"),
    ],
)
def test_what_was_typed_is_wrong(hazardmill: Hazardmill, neiss: Path, words: str, message: str) -> None:
    ended = hazardmill(*given(words, neiss))
    assert (ended.code, ended.out) == (2, ""), ended.err
    assert message in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ingest --source neiss nowhere", "nowhere: there is no such file or folder"),
        ("ingest --source bddl {neiss} --store q", "nothing here is input for source bddl"),
        ("query 1 --store nowhere", "nowhere: there is no store here"),
        ("query selec --store s", "the query failed: "),
        ("store verify --store nowhere", "nowhere: there is no store here"),
        ("report --store nowhere", "nowhere: there is no store here"),
        ("report --store s --review nowhere", "Directory 'nowhere' does not exist."),
        ("report --store s --out text.txt", "Directory 'text.txt' is a file."),
        ("report --store s --out text.txt/out", "text.txt/out/report.html: cannot write the report: "),
        ("dedupe --store s --against nowhere", "nowhere: there is no such folder, file or store"),
        ("task check nowhere", "nowhere: there is no such file or folder"),
        ("task lint nowhere", "nowhere: there is no such folder"),
        ("task verify nowhere", "nowhere: there is no such folder or store"),
        ("task certify text.txt", "text.txt:1: the task is not JSON"),
        ("hazards check nowhere", "nowhere: the map cannot be read"),
        ("scenario verify nowhere", "nowhere: there is no such folder"),
        ("household lint nowhere", "nowhere: "),
        ("evaluate stats nowhere", "nowhere: the table cannot be read"),
        ("evaluate difficulty text.txt --release nowhere --out o", "nowhere: there is no such folder"),
        ("evaluate score --release nowhere --plans text.txt", "nowhere: there is no such folder"),
        ("release diff nowhere nowhere", "nowhere"),
    ],
)
def test_what_lies_at_a_path_is_wrong(hazardmill: Hazardmill, neiss: Path, words: str, message: str) -> None:
    Path("text.txt").write_text("no such thing\n")
    ended = hazardmill(*given(words, neiss))
    assert (ended.code, ended.out) == (3, ""), ended.err
    assert message in ended.err


EXTRAS = {
    "query 1 --store s3://bucket/prefix": "s3",
    "store export o --to delta --store s": "delta",
    "store export o --to ducklake --store s": "ducklake",
    "evaluate score --release some/where --plans text.txt": "hub",
    "run generate --source neiss --input {neiss} --store s --model openai/x": "llm",
    "evaluate stats text.txt": "evaluation",
    "evaluate report text.txt": "evaluation",
    "task import --from despite text.txt --out o": "up",
    "review serve --review r --store s": "review",
}
WITHOUT_EXTRAS = f"""
import contextlib, importlib.util, io, json, sys

MISSING = {sorted(NOT_INSTALLED)!r}
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.partition(".")[0] in MISSING else find(name, *more)

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, NotInstalled())
from hazardmill.cli.main import main

for words in json.load(sys.stdin):
    sys.argv, said = ["hazardmill", *words], io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            print(json.dumps([end.code, said.getvalue()]))
"""


def test_a_missing_extra_is_wrong_usage_and_named(neiss: Path, project: Path) -> None:
    Path("text.txt").write_text("{}\n")
    (Path("r") / "decisions").mkdir(parents=True)
    Path("r/rubric.md").write_bytes((project / "review" / "rubric.md").read_bytes())
    asked = json.dumps([given(words, neiss) for words in EXTRAS])
    command = [sys.executable, "-c", WITHOUT_EXTRAS]
    ended = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    for (words, extra), (code, said) in zip(EXTRAS.items(), answers, strict=True):
        assert code == 2 and "not installed" in said, (words, said)
        assert said.endswith(f"[pip install 'hazardmill[{extra}]']\n"), (words, said)
