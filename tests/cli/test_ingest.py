from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from factories.odd_files import ODD_THINGS, OddThing

from hazardmill.store.store import Store

from .conftest import Ended, Hazardmill


def test_records_are_counted_and_stored(hazardmill: Hazardmill, neiss: Path) -> None:
    ended = hazardmill("ingest", "--source", "neiss", neiss, "--store", "s", "--json")
    assert ended.code == 0
    counts = ended.json
    assert counts["records"] == counts["new_records"] == Store.open("s").count("records") >= 20
    assert sum(counts["reasons"].values()) == counts["rejects"] == Store.open("s").count("rejects") > 0
    assert (counts["files"], counts["changed_records"]) == (1, 0)
    again = hazardmill("ingest", "--source", "neiss", neiss, "--store", "s", "--json").json
    assert again == {**counts, "new_records": 0}


def test_people_are_told_why_records_were_refused(hazardmill: Hazardmill, neiss: Path) -> None:
    counts = hazardmill("ingest", "--source", "neiss", neiss, "--store", "a", "--json").json
    out = hazardmill("ingest", "--source", "neiss", neiss, "--store", "b").out
    assert f"{counts['records']} records ({counts['records']} new, 0 changed), {counts['rejects']} rejects" in out
    assert out.startswith("neiss: ")
    for reason, count in counts["reasons"].items():
        assert f"  {count} x {reason}\n" in out
    shown = counts["examples"]
    assert 1 < len(shown) <= len(counts["reasons"])
    for reject in shown:
        assert f"  {reject['file']}:{reject['line']} " in out or f"  {reject['file']}:{reject['line']}: " in out
        assert f": {reject['message']} [{reject['remedy']}]\n" in out
    assert out.endswith('all of them: hazardmill query "from rejects"\n')


def test_an_input_without_a_record_is_exit_1_and_says_why(hazardmill: Hazardmill, empty_folder: Path) -> None:
    page = empty_folder / "x.tsv"
    page.write_text("<!DOCTYPE html><html><body>404</body></html>\n")
    ended = hazardmill("ingest", "--source", "neiss", page, "--store", "s")
    assert ended.code == 1
    assert "  x.tsv: the file is a web page" in ended.out and "download the file again" in ended.out
    ended = hazardmill("ingest", "--source", "neiss", page, "--store", "s", "--json")
    assert (ended.code, ended.json["records"]) == (1, 0)
    assert [reject["reason"] for reject in ended.json["examples"]] == ["html_page"]


def test_the_input_may_be_named_as_for_a_run(hazardmill: Hazardmill, neiss: Path) -> None:
    words = ("ingest", "--source", "neiss", "--limit", 1, "--store", "s", "--json")
    for given in (("--input", neiss), ("--input", f"neiss={neiss}"), (neiss,)):
        assert hazardmill(*words, *given).json["records"] == 1
    twice = hazardmill(*words, "--input", neiss, neiss)
    assert twice.code == 2 and "PATH and --input name the same thing: give one of them" in twice.err
    other = hazardmill(*words, "--input", f"alfred={neiss}")
    assert other.code == 2 and "alfred is not among the requested sources (neiss)" in other.err


def test_limit_and_selection(hazardmill: Hazardmill, neiss: Path) -> None:
    words = ("ingest", "--source", "neiss", neiss, "--store", "s", "--json")
    assert hazardmill(*words, "--limit", 3).json["records"] == 3
    burns = hazardmill(*words, "--where", "diagnosis=Burns, Thermal").json
    assert burns["records"] + burns["unselected"] >= 20


def test_the_store_of_the_settings_is_used(hazardmill: Hazardmill, neiss: Path, empty_folder: Path) -> None:
    (empty_folder / "hazardmill.yaml").write_text("store: from-settings\n")
    assert hazardmill("ingest", "--source", "neiss", neiss, "--limit", 1).code == 0
    assert Store.open("from-settings").count("records") == 1


def test_bad_input_is_exit_3_and_says_what_to_give(hazardmill: Hazardmill, neiss: Path) -> None:
    for words, said in (
        (("ingest", "--source", "neiss", "gone.tsv"), "gone.tsv: there is no such file or folder [give a NEISS file"),
        (("ingest", "--source", "bddl", neiss), "nothing here is input for source bddl"),
    ):
        ended = hazardmill(*words, "--store", "new")
        assert ended.code == 3
        assert said in ended.err
        assert not Path("new").exists()


def test_a_selection_by_an_unknown_fact_is_a_wrong_call(hazardmill: Hazardmill, neiss: Path) -> None:
    ended = hazardmill("ingest", "--source", "neiss", neiss, "--where", "colour=red")
    assert ended.code == 2
    assert "no fact colour" in ended.err and "diagnosis" in ended.err


def test_without_a_path_an_installed_package_is_read(
    hazardmill: Hazardmill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    package = tmp_path / "site" / "bddl"
    shutil.copytree(project / "sources" / "bddl" / "sample", package / "activity_definitions")
    for activity in sorted((package / "activity_definitions").iterdir())[2:]:
        shutil.rmtree(activity)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(package.parent))
    counts = hazardmill("ingest", "--source", "bddl", "--store", "s", "--json").json
    assert (counts["records"], counts["rejects"]) == (2, 0)


def test_without_a_path_and_a_package_it_says_how_to_get_the_input(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if not (Path(folder) / "bddl").exists()])
    for name, said in (("bddl", "pip install 'bddl>=3.6'"), ("neiss", "hazardmill sources fetch neiss")):
        ended = hazardmill("ingest", "--source", name, "--store", "s")
        assert ended.code == 2
        assert f"source {name} needs a path: give " in ended.err and said in ended.err
        assert not Path("s").exists()


def in_a_process(*words: object, stream: int | BinaryIO | None = None, text: bytes = b"") -> Ended:
    """The command as a process of its own, which has a standard input of its own."""
    command = [sys.executable, "-m", "hazardmill.cli.main", "ingest", *map(str, words), "--store", "s"]
    given: dict[str, Any] = {"input": text} if stream is None else {"stdin": stream}
    done = subprocess.run(command, capture_output=True, check=False, timeout=100, **given)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.full
@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_a_stream_is_read_where_it_is_asked_for(name: str, neiss: Path) -> None:
    ended = in_a_process("--source", "neiss", name, "--json", text=neiss.read_bytes())
    assert ended.code == 0, ended.err
    rows = Store.open("s").rows("records")
    assert ended.json["new_records"] == len(rows) >= 20
    assert {row["file"] for row in rows} == {"stdin"}
    with neiss.open("rb") as file:
        assert in_a_process("--source", "neiss", name, "--json", stream=file).json["new_records"] == 0


@pytest.mark.full
def test_a_stream_that_has_no_end_or_is_for_another_source_is_refused(neiss: Path) -> None:
    with Path("/dev/zero").open("rb") as zeros:
        ended = in_a_process("--source", "neiss", "-", stream=zeros)
    assert ended.code == 3 and "neither a pipe nor a file" in ended.err and "save it to a file first" in ended.err
    ended = in_a_process("--source", "alfred", "-", text=b"{}")
    assert ended.code == 3 and ended.err.startswith("error: -: nothing here is input for source alfred")
    for text, reason in ((b"", "the file is empty"), (neiss.read_bytes().replace(b"\t", b";"), "separated by")):
        ended = in_a_process("--source", "neiss", "-", text=text)
        assert ended.code == 1 and f"stdin: {reason}" in ended.out.replace("the columns are ", "")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("odd", [odd for odd in ODD_THINGS if odd.name != "folder"], ids=lambda odd: odd.name)
def test_a_path_that_is_no_file_or_folder_is_told(hazardmill: Hazardmill, empty_folder: Path, odd: OddThing) -> None:
    odd.lay(empty_folder / "x.tsv")
    for path in (empty_folder / "x.tsv", *([Path("/dev/null")] if odd.name == "device" else [])):
        ended = hazardmill("ingest", "--source", "neiss", path, "--store", "s")
        assert ended.code in (1, 3) and path.name in ended.out + ended.err
        assert "Traceback" not in ended.err


def test_a_run_says_how_to_get_a_stream_into_it(hazardmill: Hazardmill) -> None:
    ended = hazardmill("run", "generate", "--source", "neiss", "--input", "-", "--store", "s")
    assert ended.code == 3 and "hazardmill ingest --source NAME -" in ended.err
