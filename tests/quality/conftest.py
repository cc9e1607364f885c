from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.quality.text import fields_of
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.running import worked


@pytest.fixture(scope="package")
def run_rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The tasks of an offline run on shipped samples."""
    project = Path(__file__).resolve().parents[2]
    store = Store.open(tmp_path_factory.mktemp("quality") / "store", create=True)
    inputs = [RunInput(source=name, path=project / "sources" / name / "sample") for name in ("neiss", "alfred", "bddl")]
    run, _ = Run.start(store, RunConfig(inputs=tuple(inputs), jail="minimal"), "r")

    worked(run)
    return store.rows("tasks")


@pytest.fixture(scope="package")
def run_tasks(run_rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Their documents."""
    return [json.loads(row["document"]) for row in run_rows]


@pytest.fixture(scope="package")
def run_texts(run_rows: list[dict[str, Any]]) -> list[str]:
    """Their texts."""
    return [" ".join(fields_of(json.loads(row["danger"]))) for row in run_rows]
