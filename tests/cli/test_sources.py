from __future__ import annotations

import hashlib
import http.server
import io
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hazardmill.cli.sources import sources as module
from hazardmill.cli.sources.sources import ByteProgress
from hazardmill.ingest.sources import list_sources
from hazardmill.resources import SOURCES_VARIABLE

from .conftest import Hazardmill

ROWS = b"id\tdish\n1\tsoup\n"
SHA256 = hashlib.sha256(ROWS).hexdigest()
SOURCE = """
from pathlib import Path
from hazardmill.ingest.sources import Source

class Dishes(Source):
    name = "dishes"
    title, licence, attribution = "Dishes", "CC0-1.0", "The dish collection"
    address = "https://example.org/dishes"
    description, expects = "Dishes.", "a file of dishes"
    facts = ("dish", "steps")
    withheld = ("cook",)
    default_where = {"dish": "soup"}
    folder = Path(__file__).parent
    def find(self, path): return []
    def read(self, file): return iter(())

SOURCE = Dishes()
"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server of one folder."""
    served = tmp_path / "served"
    served.mkdir()
    (served / "a2018.tsv").write_bytes(ROWS)
    (served / "a2019.tsv").write_bytes(ROWS)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words: object) -> None:
            super().__init__(*words, directory=str(served))  # type: ignore[arg-type]  # what a server passes

        def log_message(self, format: str, *args: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def dishes(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source of the user's whose SOURCE.md offers two files of that server, one with its digest."""
    folder = tmp_path / "own" / "dishes"
    folder.mkdir(parents=True)
    (folder / "source.py").write_text(SOURCE)
    (folder / "SOURCE.md").write_text(
        f"""# Dishes

## Files

```toml
[[files]]
name = "a{{year}}.tsv"
address = "{address}/a{{year}}.tsv"
years = [2018]
terms = "Free for all."

[[files]]
name = "a2019.tsv"
address = "{address}/a2019.tsv"
size = {len(ROWS)}
sha256 = "{SHA256}"
terms = "Free for all."
```
"""
    )
    monkeypatch.setenv(SOURCES_VARIABLE, str(folder.parent))
    return folder


def test_list_names_every_source(hazardmill: Hazardmill, dishes: Path) -> None:
    listed = hazardmill("sources", "list", "--json").json
    assert [source["name"] for source in listed] == [source.name for source in list_sources()]
    assert {"neiss", "bddl", "dishes"} <= {source["name"] for source in listed}
    of_a_folder = {"name": "dishes", "title": "Dishes", "licence": "CC0-1.0", "package": None}
    assert {**of_a_folder, "sample": False, "installed": False} in listed
    assert all(source["sample"] for source in listed if source["name"] != "dishes")
    lines = hazardmill("sources", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == [source["name"] for source in listed]
    assert next(line for line in lines if line.startswith("dishes ")).endswith(" CC0-1.0 (nothing here)")
    assert next(line for line in lines if line.startswith("neiss ")).endswith("(sample)")


def test_list_and_show_tell_of_an_installed_package(
    hazardmill: Hazardmill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "bddl"
    (package / "activity_definitions").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(package.parent))
    assert {source["name"]: source["installed"] for source in hazardmill("sources", "list", "--json").json}["bddl"]
    assert hazardmill("sources", "show", "bddl", "--json").json["installed"] == str(package)
    assert f"installed: {package}\n" in hazardmill("sources", "show", "bddl").out


def test_show_tells_all_that_one_needs_to_know(hazardmill: Hazardmill, dishes: Path, address: str) -> None:
    shown = hazardmill("sources", "show", "dishes", "--json").json
    assert shown["facts"] == ["dish", "steps"]
    assert (shown["default_where"], shown["withheld"], shown["installed"]) == ({"dish": "soup"}, ["cook"], None)
    assert shown["files"] == [
        {
            "name": "a2018.tsv",
            "address": f"{address}/a2018.tsv",
            "terms": "Free for all.",
            "size": None,
            "sha256": None,
            "unpack": None,
        },
        {
            "name": "a2019.tsv",
            "address": f"{address}/a2019.tsv",
            "terms": "Free for all.",
            "size": len(ROWS),
            "sha256": SHA256,
            "unpack": None,
        },
    ]
    out = hazardmill("sources", "show", "dishes").out
    for text in (
        "licence: CC0-1.0",
        "attribution: The dish collection",
        "facts (for --where): dish, steps",
        "default selection: dish=soup",
        "withheld fields: cook",
        "  a2018.tsv: size not published, sha256 not published",
        f"  a2019.tsv: {len(ROWS)} bytes, sha256 {SHA256}",
        f"    {address}/a2019.tsv",
        "    Free for all.",
    ):
        assert f"{text}\n" in out


def test_show_says_how_to_get_what_cannot_be_fetched(hazardmill: Hazardmill) -> None:
    shown = hazardmill("sources", "show", "bddl", "--json").json
    assert shown["licence"] == "MIT" and shown["address"].startswith("https:") and shown["files"] == []
    out = hazardmill("sources", "show", "bddl").out
    assert "files: none to fetch\n" in out and f"otherwise: {shown['otherwise']}\n" in out


def test_an_unknown_source_is_answered_with_those_that_are_known(hazardmill: Hazardmill) -> None:
    ended = hazardmill("sources", "show", "nope")
    assert ended.code == 2
    assert "no source 'nope'" in ended.err and "bddl" in ended.err and "neiss" in ended.err


def test_fetch_says_the_terms_fetches_and_says_what_was_checked(hazardmill: Hazardmill, dishes: Path) -> None:
    ended = hazardmill("sources", "fetch", "dishes", "--file", "2018")
    assert ended.code == 0
    assert Path("data/dishes/a2018.tsv").read_bytes() == ROWS
    assert ended.err == "dishes: licence CC0-1.0; The dish collection\nterms: Free for all.\n"
    assert ended.out.splitlines() == [
        f"data/dishes/a2018.tsv: {len(ROWS)} bytes ({len(ROWS)} bytes received)",
        f"  sha256 {SHA256} (size and sha256 not published: not checked)",
        "next: hazardmill ingest --source dishes data/dishes",
    ]
    assert "(already there)" in hazardmill("sources", "fetch", "dishes", "--file", "2018").out
    out = hazardmill("sources", "fetch", "dishes", "--file", "*9.tsv", "--to", "else where").out
    assert f"  sha256 {SHA256} (as published)\n" in out and out.endswith("ingest --source dishes 'else where'\n")


def test_fetch_in_json(hazardmill: Hazardmill, dishes: Path, address: str) -> None:
    ended = hazardmill("sources", "fetch", "dishes", "--file", "*", "--to", "got", "--json")
    assert ended.json[0] == {
        "name": "a2018.tsv",
        "path": "got/a2018.tsv",
        "address": f"{address}/a2018.tsv",
        "terms": "Free for all.",
        "size": len(ROWS),
        "sha256": SHA256,
        "size_checked": False,
        "sha256_checked": False,
        "received": len(ROWS),
        "already_there": False,
        "unpack": None,
    }
    assert [(file["name"], file["sha256_checked"]) for file in ended.json] == [
        ("a2018.tsv", False),
        ("a2019.tsv", True),
    ]
    assert "terms: Free for all." in ended.err


def test_fetch_refuses_what_is_not_the_file_with_exit_3(hazardmill: Hazardmill, dishes: Path) -> None:
    page = dishes / "SOURCE.md"
    page.write_text(page.read_text().replace(SHA256, "0" * 64))
    ended = hazardmill("sources", "fetch", "dishes", "--file", "2019")
    assert ended.code == 3
    assert f"the download has sha256 {SHA256}, but SOURCE.md gives {'0' * 64}" in ended.err


def test_fetch_is_a_wrong_call_where_nothing_or_too_much_is_meant(hazardmill: Hazardmill, dishes: Path) -> None:
    for words, said in (
        (("bddl",), "source bddl has no file to fetch [install the package"),
        (("dishes",), "has 2 files: a2018.tsv to a2019.tsv [choose with --file"),
        (("dishes", "--file", "2031"), "source dishes matches '2031' [choose from its files: a2018.tsv, a2019.tsv]"),
    ):
        ended = hazardmill("sources", "fetch", *words)
        assert ended.code == 2
        assert said in ended.err
    assert not Path("data").exists()


def test_fetch_interrupted_says_how_to_go_on(
    hazardmill: Hazardmill, dishes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(show: ByteProgress, have: int, total: int | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ByteProgress, "__call__", interrupted)
    ended = hazardmill("sources", "fetch", "dishes", "--file", "2019")
    assert ended.code == 4
    assert "resume with: hazardmill sources fetch dishes --file 2019" in ended.err


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_line_every_few_seconds_off_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    for quiet in (True, False):
        clock.now = 0.0
        with ByteProgress("a.tsv", quiet=quiet) as show:
            for second, have, total in ((1, 10, 90), (4, 50, 90), (5, 60, 90), (8, 80, None)):
                clock.now = second
                show(have, total)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["a.tsv: 50 of 90 bytes", "a.tsv: 80 bytes"]


def test_progress_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ByteProgress("a.tsv") as show:
        show(500, 1000)
        show(1000, 1000)
    assert "a.tsv" in terminal.getvalue() and "1.0/1.0 kB" in terminal.getvalue()
    silent = Terminal()
    monkeypatch.setattr(sys, "stderr", silent)
    with ByteProgress("a.tsv", quiet=True) as show:
        show(500, 1000)
    assert silent.getvalue() == ""


def test_the_sources_of_the_project_can_be_shown(hazardmill: Hazardmill) -> None:
    for source in list_sources():
        shown = hazardmill("sources", "show", source.name, "--json").json
        assert shown["files"] or shown["otherwise"], source.name
        assert json.dumps(shown)
