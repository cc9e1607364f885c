"""A release as a folder of files: what is in it, byte by byte, and what is left alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from release.small_release import bowl, write_release

from hazardmill.errors import InputError, StoreError, UsageError
from hazardmill.release.read.release import Release
from hazardmill.viewer import export
from hazardmill.viewer.export import LIST, export_view
from hazardmill.viewer.opinions import PlannerResults
from hazardmill.viewer.release import ReleaseView

from .conftest import addresses, fragments, index_of, shown_row, unpack


def of_tasks(folder: Path, *places: str) -> ReleaseView:
    rows = [shown_row(bowl(place)) for place in places]
    return ReleaseView(Release(write_release(folder, {"tasks": {"train": rows}})), PlannerResults([]))


def test_a_folder_has_every_task_where_the_index_says(view, tmp_path, monkeypatch):
    # Two files of fragments, so that a place names one of them.
    monkeypatch.setattr(export, "PER_FILE", 3)
    out = tmp_path / "site"
    said = export_view(view, out)
    rows = index_of(out / "index.html")["rows"]
    assert rows["per_file"] == 3
    assert said.rows == len(rows["keys"]) == 5 and len(rows["files"]) == 2
    for key, place in zip(rows["keys"], rows["places"], strict=True):
        file = rows["files"][place // 3]
        assert unpack(out / file)[0] == file
        assert key in fragments(out / file)[place % 3]


def test_the_same_release_gives_the_same_bytes_again(view, tmp_path, files_of):
    for name in ("one", "two"):
        export_view(view, tmp_path / name)
    written = files_of(tmp_path / "one")
    assert written == files_of(tmp_path / "two")
    export_view(view, tmp_path / "one")
    assert written == files_of(tmp_path / "one")
    listed = [line.partition("\t") for line in written[LIST].decode().splitlines()]
    assert listed == [("current", "\t", name) for name in sorted(written.keys() - {LIST})]


def test_nothing_of_what_models_wrote_is_in_it_and_no_path_of_this_machine(view, tmp_path, files_of, soups):
    assert "SECRET ANSWER" in str(list(view.release.rows("drafts")))
    export_view(view, tmp_path / "site")
    for name, content in files_of(tmp_path / "site").items():
        told = content.decode()
        if name.startswith(("tasks/", "data/")):
            told = str(unpack(content)[1])
        assert "SECRET" not in told and str(soups) not in told and str(tmp_path) not in told, name


def test_hostile_texts_are_text_in_every_file(view, tmp_path, files_of):
    export_view(view, tmp_path / "site")
    files = files_of(tmp_path / "site")
    page = unescape(files["index.html"].decode())
    assert (
        "script-src 'self'" in page
        and page.count("<script") == 2
        and re.search('src="assets/view-[0-9a-f]{12}.js"', page)
    )
    drawn = "".join("".join(fragments(content)) for name, content in files.items() if name.startswith("tasks/"))
    assert "&lt;script&gt;" in drawn and "<script" not in drawn and "<img" not in drawn and "\u202e" not in drawn
    # A file of data is one call, whose text nothing in the data can end.
    assert all(unpack(content) for name, content in files.items() if name.startswith(("tasks/", "data/")))


def test_another_release_keeps_the_files_of_the_page_before_and_removes_older_ones(view, tmp_path, files_of):
    out = tmp_path / "site"
    export_view(view, out)
    (out / "CNAME").write_text("tasks.example.org")
    (out / "tasks" / "mine.js").write_text("mine")
    first = files_of(out)
    for _ in range(2):
        export_view(of_tasks(tmp_path / "other", "table"), out)
        second = files_of(out)
        # Whoever still has the page before, from a cache, finds all that it names.
        assert {name for name in first if second.get(name) != first[name]} == {"index.html", LIST}
    assert len(index_of(out / "index.html")["rows"]["keys"]) == 1
    export_view(of_tasks(tmp_path / "third", "shelf"), out)
    third = files_of(out)
    former = {name for name in first if name.startswith(("tasks/0-", "data/"))}
    assert len(former) == 3 and not former & third.keys() and "tasks/mine.js" in third
    assert set(addresses(second["index.html"]).values()) <= third.keys() and third["CNAME"] == b"tasks.example.org"


def test_only_the_page_has_a_name_that_does_not_tell_its_content(view, tmp_path, files_of):
    for name, other in (("one", view), ("two", of_tasks(tmp_path / "other", "table"))):
        export_view(other, tmp_path / name)
    one, two = files_of(tmp_path / "one"), files_of(tmp_path / "two")
    assert {name for name in one.keys() & two.keys() if one[name] != two[name]} == {"index.html", LIST}


def test_what_a_failed_export_wrote_is_removed_by_the_next(view, tmp_path, files_of):
    out = tmp_path / "site"
    export_view(view, out)
    before = files_of(out)

    (out / "assets").rename(tmp_path / "assets")
    (out / "assets").write_text("a file in the way")
    with pytest.raises(StoreError):
        export_view(of_tasks(tmp_path / "other", "table"), out)
    (out / "assets").unlink()
    (tmp_path / "assets").rename(out / "assets")
    left = files_of(out)
    assert left["index.html"] == before["index.html"]
    listed = {line.partition("\t")[2] for line in left[LIST].decode().splitlines()}
    assert listed == left.keys() - {LIST}
    orphans = {name for name, content in left.items() if name not in before}
    assert orphans
    export_view(of_tasks(tmp_path / "third", "shelf"), out)
    assert not orphans & files_of(out).keys()


def test_a_list_that_somebody_edited_removes_nothing_else(view, tmp_path):
    out, outside = tmp_path / "site", tmp_path / "outside.js"
    outside.write_text("mine")
    export_view(view, out)
    (out / "notes.txt").write_text("mine")
    names = ("index.html", "../outside.js", "notes.txt", "tasks/../../outside.js")
    (out / LIST).write_text("".join(f"former\t{name}\n" for name in names))
    export_view(view, out)
    assert outside.exists() and (out / "notes.txt").exists()


def test_a_page_that_no_export_wrote_is_not_replaced(view, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="which no export wrote") as raised:
        export_view(view, tmp_path)
    assert (tmp_path / "index.html").read_text() == "mine" and "new folder" in str(raised.value.remedy)
    with pytest.raises(UsageError, match="is a file"):
        export_view(view, tmp_path / "index.html")


@pytest.mark.parametrize("name", ["manifest.json", "manifests/1.json", "journal/1", ".written", "tasks/t", "data/d"])
def test_a_folder_of_another_command_is_left_alone(view, tmp_path, files_of, name):
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text("theirs")
    with pytest.raises(UsageError, match=r"is (a|the) |which no export wrote"):
        export_view(view, out)
    assert files_of(out) == {name: b"theirs"}


def test_a_folder_that_cannot_be_written_is_named(view, tmp_path):
    export_view(of_tasks(tmp_path / "other", "table"), tmp_path / "site")
    shutil.rmtree(tmp_path / "site" / "tasks")
    (tmp_path / "site" / "tasks").write_text("a file in the way")
    with pytest.raises(StoreError, match="cannot write the page") as raised:
        export_view(view, tmp_path / "site")
    assert "tasks" in str(raised.value.file)


def test_a_damaged_release_leaves_the_page_before_as_it_was(view, tmp_path, files_of):
    out = tmp_path / "site"
    export_view(view, out)
    before = files_of(out)
    damaged = of_tasks(tmp_path / "damaged", "table", "shelf")
    path = tmp_path / "damaged" / "data" / "tasks" / "train.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError):
        export_view(damaged, out)
    assert files_of(out) == before


def test_an_export_needs_no_package_of_a_server(soups, tmp_path):
    blocked = "import sys\nfor name in ('fastapi', 'uvicorn', 'starlette', 'markdown_it', 'statsmodels'):\n"
    blocked += "    sys.modules[name] = None\nfrom hazardmill.cli.main import main\nmain()"
    words = [sys.executable, "-c", blocked, "view", str(soups), "--static", str(tmp_path / "site")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "5 tasks in" in ended.stdout and (tmp_path / "site" / "index.html").exists()
    served = subprocess.run(words[:-2], capture_output=True, text=True, check=False)
    assert served.returncode == 2 and "hazardmill[review]" in served.stderr


@pytest.mark.parametrize(("column", "value"), [("document", "{broken"), ("document", "[]"), ("answered_by", "3")])
def test_a_row_that_is_not_what_it_should_be_is_named(tmp_path, column, value):
    row = shown_row(bowl("hall")) | {column: value}
    view = ReleaseView(Release(write_release(tmp_path / "release", {"tasks": {"train": [row]}})), PlannerResults([]))
    with pytest.raises(InputError, match=f"row {row['task_id']} of tasks is not what it should be"):
        export_view(view, tmp_path / "site")
