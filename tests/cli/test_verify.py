"""``hazardmill task verify`` and ``hazardmill store verify --deep``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from factories.release_store import RUN_ID, rewritten

from hazardmill.report.folders import write_task_folders
from hazardmill.store.store import Store
from tests.once import offline_run

from .conftest import Hazardmill


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with a few tasks of the offline author. Nobody writes to it."""
    return offline_run(tmp_path_factory, 2)


@pytest.fixture
def altered(clean: Store, tmp_path: Path) -> Store:
    """The same with other code in every task, and a fresh checksum of each file."""

    def change(table: str, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "code": f"import os\n{row['code']}"} if table == "tasks" else row

    return rewritten(clean, tmp_path / "altered", change)


def test_a_clean_store_and_its_folders_have_no_finding(hazardmill: Hazardmill, clean: Store, tmp_path: Path) -> None:
    folders = write_task_folders(clean, [RUN_ID], tmp_path / "tasks")
    for place in (clean.path, tmp_path / "tasks"):
        ended = hazardmill("task", "verify", place)
        assert (ended.code, ended.out, ended.err) == (0, f"tasks: {len(folders)}; all well\n", "")
    ended = hazardmill("task", "verify", folders[0], "--json")
    assert (ended.code, ended.json) == (0, {"tasks": 1, "findings": []})
    ended = hazardmill("store", "verify", "--deep", "--store", clean.path)
    assert ended.code == 0 and ended.out.startswith("all well up to commit ")


def test_altered_code_with_a_fresh_checksum_is_found(hazardmill: Hazardmill, altered: Store) -> None:
    assert hazardmill("store", "verify", "--store", altered.path).code == 0
    count = altered.count("tasks")
    ended = hazardmill("store", "verify", "--deep", "--store", altered.path)
    assert ended.code == 1
    assert ended.out.count("code is not the rendering of the document (altered) [") == count
    ended = hazardmill("task", "verify", altered.path, "--json")
    assert ended.code == 1 and ended.json["tasks"] == count
    assert {(each["code"], each["where"]) for each in ended.json["findings"]} == {("altered", "code")}
    assert all(set(each) == {"code", "task", "where", "message", "remedy"} for each in ended.json["findings"])


def test_a_folder_that_was_edited_is_exit_1_and_the_rest_goes_on(
    hazardmill: Hazardmill, clean: Store, tmp_path: Path
) -> None:
    first, *rest = write_task_folders(clean, [RUN_ID], tmp_path / "tasks")
    (first / "task.json").write_text("{")
    (rest[-1] / "domain.pddl").unlink()
    ended = hazardmill("task", "verify", tmp_path / "tasks")
    assert ended.code == 1
    assert f"{first}: task.json: it cannot be read: " in ended.out
    assert f"{rest[-1]}: domain.pddl: it is missing (missing) [" in ended.out
    assert ended.out.endswith(f"tasks: {len(rest) + 1}; 2 finding(s)\n")


def test_what_is_no_task_is_exit_3(hazardmill: Hazardmill, tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path, "s3://"):
        ended = hazardmill("task", "verify", place)
        assert ended.code == 3, place
        assert ended.err


def test_a_damaged_store_is_told_of_and_is_no_traceback(hazardmill: Hazardmill, clean: Store, tmp_path: Path) -> None:
    copied = tmp_path / "damaged"
    shutil.copytree(clean.path, copied)
    for part in (copied / "tasks").glob("*.parquet"):
        part.write_bytes(b"PAR1")
    ended = hazardmill("store", "verify", "--deep", "--store", copied, "--json")
    assert ended.code == 1
    assert {"part_changed", "unreadable"} <= {each["code"] for each in ended.json}
    ended = hazardmill("task", "verify", copied)
    assert ended.code == 3 and ended.err.startswith("error: ")
