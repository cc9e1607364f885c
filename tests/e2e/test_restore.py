"""Backup and restore, by the commands of docs/operations.md."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.prefect_server import BIN, serving, until
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

    def words(run_id: str, *more: str) -> list[str | Path]:
        of = ["--source", "neiss", "--input", "sources/neiss/sample", "--model", "recorded", "--run-id", run_id]
        return [BIN / "hazardmill", "run", "generate", *of, "--store", before / "store", "--json", *more]

    def commits(store: Path, run_id: str) -> int:
        return len(list((store / "manifests").glob(f"*-{run_id}-*.json")))

    subprocess.run(words("whole", "--limit", "4"), cwd=project, check=True)
    digest = Store.open(before / "store").digest("whole")
    with serving(before, project, {}, empty_database(tmp_path_factory)) as prefect:
        prefect.post("/variables/", name="hazardmill_neiss", value={"model": "a/b"})
        with subprocess.Popen(words("long", "--wave-size", "2", "--concurrency", "1"), cwd=project) as run:
            until(lambda: commits(before / "store", "long") > 2, "some waves")
            # Stopped, so that the backup finds it in the middle however busy the machine is.
            os.kill(run.pid, signal.SIGSTOP)
            bash(project, backup, STORE=before / "store", PREFECT_HOME=before / "prefect", BACKUP=kept)
            os.kill(run.pid, signal.SIGCONT)
        assert run.returncode == 0
        prefect.post("/variables/", name="later", value=1)
    assert 2 < commits(kept / "store", "long") < commits(before / "store", "long")
    bash(project, restore, STORE=after / "store", PREFECT_HOME=tmp_path / "restored", BACKUP=kept)

    restored = Store.open(after / "store")
    assert restored.verify() == [] and restored.digest("whole") == digest
    subprocess.run(
        [BIN / "hazardmill", "run", "resume", "long", "--store", after / "store", "--json"], cwd=project, check=True
    )
    assert restored.digest("long") == Store.open(before / "store").digest("long")
    with serving(after, project, {}, tmp_path / "restored" / "prefect.db") as prefect:
        (found,) = prefect.post("/variables/filter")
        assert found["name"] == "hazardmill_neiss" and found["value"] == {"model": "a/b"}
