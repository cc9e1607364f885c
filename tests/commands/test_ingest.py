from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from hazardmill.store.store import Store

from .conftest import Hazardmill


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
        (("ingest", "--source", "nope", neiss), "no source 'nope'"),
        (("ingest", "--source", "neiss", "gone.tsv"), "gone.tsv: there is no such file or folder [give a NEISS file"),
        (("ingest", "--source", "bddl", neiss), "nothing here is input of source bddl"),
    ):
        ended = hazardmill(*words, "--store", "new")
        assert ended.code == 3
        assert said in ended.err
        assert not Path("new").exists()


def test_a_selection_by_an_unknown_fact_is_a_wrong_call(hazardmill: Hazardmill, neiss: Path) -> None:
    ended = hazardmill("ingest", "--source", "neiss", neiss, "--where", "colour=red")
    assert ended.code == 2
    assert "nothing called colour" in ended.err and "diagnosis" in ended.err


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
        assert f"source {name} needs a PATH here: give " in ended.err and said in ended.err
        assert not Path("s").exists()
