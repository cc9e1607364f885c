"""Backup and restore, by the commands of docs/operations.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from e2e.prefect_server import BIN, serving
from hazardmill.store.store import Store
from tests.prefect_database import empty_database

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]


def blocks(project: Path) -> tuple[str, str]:
    text = (project / "docs" / "operations.md").read_text()
    backup, restore = re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return backup, restore


def bash(project: Path, words: str, **given: object) -> None:
    path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(project)}
    folders = {name: str(value) for name, value in given.items()}
    subprocess.run(["bash", "-euo", "pipefail", "-c", words], env=path | folders, check=True, timeout=200)


def test_store_and_server_come_back(project: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    backup, restore = blocks(project)
    before, after, kept = tmp_path / "before", tmp_path / "after", tmp_path / "backup"
    run = ["hazardmill", "run", "generate", "--source", "neiss", "--input", "sources/neiss/sample", "--limit", "4"]
    subprocess.run(
        [BIN / run[0], *run[1:], "--model", "recorded", "--store", before / "store", "--json"], cwd=project, check=True
    )
    with serving(before, project, {}, empty_database(tmp_path_factory)) as prefect:
        prefect.post("/variables/", name="hazardmill_neiss", value={"model": "a/b"})
        # The server runs on, and writes meanwhile.
        bash(project, backup, STORE=before / "store", PREFECT_HOME=before / "prefect", BACKUP=kept)
        prefect.post("/variables/", name="later", value=1)
    bash(project, restore, STORE=after / "store", PREFECT_HOME=tmp_path / "restored", BACKUP=kept)

    assert Store.open(after / "store").digest() == Store.open(before / "store").digest()
    assert Store.open(after / "store").count("outcomes") == 4
    with serving(after, project, {}, tmp_path / "restored" / "prefect.db") as prefect:
        (variable,) = prefect.post("/variables/filter")
        assert variable["name"] == "hazardmill_neiss" and variable["value"] == {"model": "a/b"}, json.dumps(variable)
