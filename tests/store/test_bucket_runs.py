"""Whole runs by the command line on a store in a bucket, as two machines do them, against the same on a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hazardmill.store import Store
from store.conftest import SECRET, Machine
from store.test_bucket_store import objects

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]


def start(state: Path, *words: object) -> subprocess.Popen[str]:
    # Where working folders lie by default: no variable of ours.
    environment = {name: value for name, value in os.environ.items() if name != "HAZARDMILL_CACHE"}
    command = [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=state.parent,
        env={**environment, "XDG_STATE_HOME": str(state)},
    )


def ended(child: subprocess.Popen[str]) -> str:
    out, err = child.communicate()
    assert child.returncode == 0, err
    assert SECRET not in out + err
    return out


def generate(state: Path, store: object, shard: int) -> subprocess.Popen[str]:
    words = ["--source", "neiss", "--shard", f"{shard}/2", "--wave-size", 2, "--store", store, "--json"]
    return start(state, "run", "generate", *words)


def test_two_machines_share_a_store_and_come_to_what_one_does_in_a_folder(
    machine: Machine, address: str, project: Path, tmp_path: Path
) -> None:
    sample = project / "sources" / "neiss" / "sample"
    one, two = tmp_path / "one", tmp_path / "two"
    ended(start(one, "ingest", "--source", "neiss", sample, "--store", address))
    for child in [generate(one, address, 1), generate(two, address, 2)]:
        ended(child)
    folder = tmp_path / "folder"
    ended(start(one, "ingest", "--source", "neiss", sample, "--store", folder))
    for shard in (1, 2):
        ended(generate(one, folder, shard))
    reader = machine("reader")
    assert reader.count("outcomes") == reader.count("records") > 3
    assert reader.digest() == Store(folder).digest()
    assert reader.verify_files() == []
    assert [run["state"] for run in json.loads(ended(start(two, "run", "list", "--store", address, "--json")))] == [
        "completed"
    ] * 3
    assert not [name for name in objects(address) if "journal" in name]
