"""``hazardmill release push``: what it says and how it ends; in processes of its own, all of it on a real hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from release.pushable import COUNTS, card, pushable

from hazardmill.testing.hub_server import Account, HubServer, ScriptedHubFaults

# Of httpx, on how huggingface_hub hands it an upload without Xet.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

REPO = "acme/soups"
TOKEN = "hf_planted-" + "c41e7"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    with HubServer(tmp_path / "hub", tokens={TOKEN: Account("mill", writes=True)}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server
    huggingface_hub.close_session()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows as they should be, without loading them."""
    from hazardmill.cli.release import push as command

    push = command.push_release
    monkeypatch.setattr(command, "push_release", lambda *words, **more: push(*words, **more, rows_of=lambda *_: COUNTS))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return pushable(tmp_path / "1.0.0")


def test_it_says_what_it_did(hazardmill, server, counted, folder):
    done = hazardmill("release", "push", folder, "--repo", REPO)
    revision = server.hub.repository(REPO).head.id
    assert (done.code, done.out.splitlines()) == (
        0,
        [
            f"{REPO} v1.0.0: 6 files, {sum(p.stat().st_size for p in folder.rglob('*') if p.is_file()):,} bytes",
            "repository: created, private",
            f"commit: made ({revision}), 6 files new or changed, 0 deleted",
            "checked: all hashes; datasets loads 16 rows of 2 configs",
            "tag v1.0.0: set",
            "visible to its owners",
            f"load it with: datasets.load_dataset('{REPO}', 'tasks', revision='v1.0.0')",
        ],
    )
    again = hazardmill("release", "push", folder, "--repo", REPO, "--public")
    assert again.code == 0
    assert [line.split(":")[1] if ":" in line else line for line in again.out.splitlines()[1:5]] == [
        " already there",
        f" already there ({revision})",
        " already there",
        "visible to everybody (opened now)",
    ]


def test_it_says_how_to_load_a_release_of_scenarios_alone(hazardmill, server, monkeypatch, tmp_path):
    from hazardmill.cli.release import push as command

    counts = {"reviews": {"train": 4}, "scenarios": {"train": 2}}
    push = command.push_release
    monkeypatch.setattr(command, "push_release", lambda *words, **more: push(*words, **more, rows_of=lambda *_: counts))
    done = hazardmill("release", "push", pushable(tmp_path / "scenarios", counts=counts), "--repo", REPO)
    assert done.code == 0
    assert done.out.splitlines()[-1] == f"load it with: datasets.load_dataset('{REPO}', 'scenarios', revision='v1.0.0')"


def test_it_says_the_same_as_json(hazardmill, server, counted, folder):
    would = hazardmill("release", "push", folder, "--repo", REPO, "--dry-run", "--public", "--json").json
    assert would["dry_run"] and would["revision"] is None and would["rows"] is None
    assert server.requests and not any(request.changes for request in server.requests)
    done = hazardmill("release", "push", folder, "--repo", REPO, "--public", "--json").json
    assert done["revision"] == server.hub.repository(REPO).head.id and done["rows"] == COUNTS
    changed = {"dry_run": False, "revision": done["revision"], "rows": COUNTS}
    assert {**would, **changed} == done, "a dry run says what is then done"


def test_a_dry_run_says_what_would_be_done(hazardmill, server, counted, folder):
    would = hazardmill("release", "push", folder, "--repo", REPO, "--dry-run", "--public")
    assert would.out.splitlines()[1:] == [
        "repository: would be created, private",
        "commit: would be made, 6 files new or changed, 0 deleted",
        "tag v1.0.0: would be set",
        "visible to everybody (would be opened now)",
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--repo", "soups"], 2, "ORG/NAME"),
        ([], 2, "--repo"),
    ],
)
def test_a_wrong_call_is_told(hazardmill, server, folder, words, code, said):
    done = hazardmill("release", "push", folder, *words)
    assert done.code == code and said in done.err and server.requests == ()


def test_exit_codes_tell_folder_rules_and_hub_apart(hazardmill, server, counted, tmp_path):
    damaged, offline = pushable(tmp_path / "damaged"), pushable(tmp_path / "offline", offline=1)
    (damaged / "tasks.tar.zst").write_bytes(b"?")
    assert hazardmill("release", "push", damaged, "--repo", REPO, "--allow-offline").code == 3
    nothing = hazardmill("release", "push", tmp_path / "nowhere", "--repo", REPO)
    assert nothing.code == 3 and "there is no manifest of a release" in nothing.err
    refused = hazardmill("release", "push", offline, "--repo", REPO)
    assert refused.code == 1 and "--allow-offline" in refused.err
    assert server.requests == ()
    server.faults = ScriptedHubFaults({"commit": "500"})
    failed = hazardmill("release", "push", offline, "--repo", REPO, "--allow-offline")
    assert failed.code == 5 and "push again: it continues where it stopped" in failed.err and TOKEN not in failed.err
    assert hazardmill("release", "push", offline, "--repo", REPO, "--allow-offline").code == 0
    other = pushable(tmp_path / "other", more={"LICENSES.md": b"MIT\n"})
    taken = hazardmill("release", "push", other, "--repo", REPO)
    assert taken.code == 5 and "a tag is never moved" in taken.err


@pytest.mark.full
@pytest.mark.timeout(240)
def test_a_process_of_its_own_loads_what_it_pushed(server, folder, tmp_path):
    """Nothing is replaced here: the command, huggingface_hub's waits, and datasets in an empty cache."""
    server.faults = ScriptedHubFaults({"lfs-put": "cut", "commit": "500-after", "tag": "500"})
    environment = {**os.environ, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "hazardmill.cli.main", "release", "push", folder, "--repo", REPO, "--json"]
    codes, said = [], ""
    for _ in range(3):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        codes.append(done.returncode)
        said += done.stdout + done.stderr
    assert codes == [5, 0, 0], said
    pushed = json.loads(done.stdout)
    repository = server.hub.repository(REPO)
    assert len(repository.commits) == 2 and repository.tags == {"v1.0.0": repository.head.id}
    assert (pushed["committed"], pushed["tagged"], pushed["revision"]) == (False, False, repository.head.id)
    resolved = {request.path for request in server.requests if request.endpoint == "resolve" and request.user == "mill"}
    data = {path.relative_to(folder).as_posix() for path in (folder / "data").rglob("*.parquet")}
    assert {path.partition(f"/resolve/{repository.head.id}/")[2] for path in resolved} >= data
    assert TOKEN not in said
    assert not [
        path for path in (tmp_path / "home").rglob("*") if path.is_file() and TOKEN in path.read_text("latin-1")
    ]


@pytest.mark.full
@pytest.mark.timeout(240)
def test_rows_that_datasets_does_not_find_leave_it_untagged(server, tmp_path):
    """The card names one file too few, and the manifest counts its rows."""
    short = card("1.0.0", {"tasks": {"train": 5}})
    folder = pushable(tmp_path / "short", counts={"tasks": COUNTS["tasks"]}, more={"README.md": short})
    environment = {**os.environ, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "hazardmill.cli.main", "release", "push", folder, "--repo", REPO]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 5, done.stderr
    assert "the rows that datasets loads" in done.stderr and "{'train': 5} not {'test': 2, 'train': 5}" in done.stderr
    assert server.hub.repository(REPO).tags == {}
