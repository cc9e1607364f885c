from __future__ import annotations

import datetime
import io
import json
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hazardmill.formalism.document.document import DangerEntry, Document
from hazardmill.formalism.formats.despite.write import FILES, TaskOrigin, despite_files
from hazardmill.records import is_share_alike
from hazardmill.release.build.archive import Archives
from hazardmill.store.store import Store

Row = dict[str, Any]
DAY = datetime.date(2026, 1, 10)


def members(path: Path) -> dict[str, tarfile.TarInfo]:
    with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
        content = stream.read()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {member.name: member for member in archive.getmembers()}


def texts(path: Path) -> dict[str, str]:
    with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
        content = stream.read()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        found = {}
        for member in archive.getmembers():
            opened = archive.extractfile(member)
            assert opened is not None
            found[member.name] = opened.read().decode()
        return found


def document_of(row: Row) -> Document:
    return Document.from_json(json.loads(row["document"]))


@pytest.fixture
def rows(model_store: Store) -> list[Row]:
    return sorted(model_store.rows("tasks"), key=lambda row: row["task_id"])


def written(folder: Path, rows: list[Row], day: datetime.date | None = DAY) -> Archives:
    folder.mkdir(exist_ok=True)
    archives = Archives(folder, day)
    for row in rows:
        archives.add(row, document_of(row))
    return archives


def test_every_task_is_a_folder_of_despite_in_the_archive_of_its_licence(tmp_path: Path, rows: list[Row]) -> None:
    archives = written(tmp_path, rows)
    assert archives.close() == ("tasks.tar.zst", "tasks_by_sa.tar.zst")
    assert archives.figures.tasks == len(rows) and archives.figures.unsayable == 0
    for name, shared in (("tasks.tar.zst", False), ("tasks_by_sa.tar.zst", True)):
        wanted = [row for row in rows if is_share_alike(row["licence"]) is shared]
        found = texts(tmp_path / name)
        assert list(found) == [f"{row['task_id']}/{file}" for row in wanted for file in FILES]
        for row in wanted:
            plans = {key: row[key] for key in ("safe_plan", "unsafe_plan", "licence", "attribution")}
            origin = TaskOrigin(row["task_id"], danger=json.loads(row["danger"]), **plans)
            for file, text in despite_files(document_of(row), origin).items():
                assert found[f"{row['task_id']}/{file}"] == text


def test_nothing_in_it_hangs_on_the_machine(tmp_path: Path, rows: list[Row]) -> None:
    written(tmp_path / "one", rows).close()
    written(tmp_path / "other", rows).close()
    for name in ("tasks.tar.zst", "tasks_by_sa.tar.zst"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    midnight = int(datetime.datetime(2026, 1, 10, tzinfo=datetime.UTC).timestamp())
    for member in members(tmp_path / "one" / "tasks.tar.zst").values():
        owner = (member.uid, member.gid, member.uname, member.gname)
        assert (owner, member.mtime, member.mode) == ((0, 0, "", ""), midnight, 0o644)
    written(tmp_path / "undated", rows[:1], None).close()
    assert {each.mtime for each in members(tmp_path / "undated" / "tasks.tar.zst").values()} == {0}


def test_what_a_folder_cannot_say_is_counted_by_rule_and_left_out(tmp_path: Path, rows: list[Row]) -> None:
    document = document_of(rows[0])
    entries = tuple(DangerEntry(entry.action, entry.condition, 3, entry.danger_type) for entry in document.dangers)
    archives = Archives(tmp_path, DAY)
    assert not archives.add(rows[0], replace(document, dangers=entries, max_danger=1))
    assert not archives.add({**rows[1], "task_id": "../../etc"}, document_of(rows[1]))
    assert archives.add(rows[2], document_of(rows[2]))
    assert archives.close() == ("tasks.tar.zst",)
    assert archives.figures.model_dump() == {
        "tasks": 1,
        "unsayable": 2,
        "reasons": {"folder_name": 1, "increment": 1, "max_danger": 1},
    }
    assert {name.partition("/")[0] for name in texts(tmp_path / "tasks.tar.zst")} == {rows[2]["task_id"]}


def test_the_tools_of_others_unpack_it(tmp_path: Path, rows: list[Row]) -> None:
    written(tmp_path, rows[:3]).close()
    with pa.CompressedInputStream(pa.OSFile(str(tmp_path / "tasks.tar.zst")), "zstd") as stream:
        (tmp_path / "tasks.tar").write_bytes(stream.read())
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "-xf", tmp_path / "tasks.tar", "-C", tmp_path / "out"], check=True)
    folder = tmp_path / "out" / rows[0]["task_id"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert json.loads((folder / "metadata.json").read_text())["task_id"] == rows[0]["task_id"]
