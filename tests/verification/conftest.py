from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from factories.release_store import RUN_ID, by_model, rewritten, with_unavoidable

from hazardmill.report.folders import write_task_folders
from hazardmill.store.store import Store
from tests.once import offline_run
from tests.shared_jails import _shared_zygotes as _shared_zygotes

Row = dict[str, Any]


@pytest.fixture(scope="session")
def offline_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A run of the offline author over two records of every shipped sample. Nobody writes to it."""
    return offline_run(tmp_path_factory, 2)


@pytest.fixture(scope="session")
def model_store(offline_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same as though a model had answered, and a task with no safe plan."""
    return with_unavoidable(rewritten(offline_store, tmp_path_factory.mktemp("model") / "store", by_model))


@pytest.fixture(scope="session")
def one_task(offline_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with the rows of one record, whose task was cross-checked. Nobody writes to it."""
    task = min(offline_store.rows("tasks"), key=lambda row: len(row["document"]))
    answer = {"plan": task["safe_plan"], "agrees": True, "verdict": {"feasible": True, "safe": True}}
    checked = json.dumps(
        {"agrees": True, "engines": {"enhsp": {"safe": answer}}}, sort_keys=True, separators=(",", ":")
    )

    def keep(table: str, row: Row) -> Row | None:
        if row.get("record_id") not in (None, task["record_id"]):
            return None
        return {**row, "cross_check": checked} if table == "tasks" else row

    return rewritten(offline_store, tmp_path_factory.mktemp("one") / "store", keep)


@pytest.fixture
def folder(one_task: Store, tmp_path: Path) -> Path:
    """The folder of the one task, to be changed."""
    (written,) = write_task_folders(one_task, [RUN_ID], tmp_path / "tasks")
    return written
