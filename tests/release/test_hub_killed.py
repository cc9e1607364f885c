"""Pushers killed with SIGKILL where it hurts, then started again: one commit, one tag, and the whole release."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from hazardmill.testing.hub_server import Account, HubServer

from .pushable import COUNTS, pushable

pytestmark = [pytest.mark.full, pytest.mark.timeout(240)]

REPO = "acme/soups"
TOKEN = "hf_planted-" + "77ab0"
# All of a push but loading its rows, which changes nothing on the hub and takes seconds.
PUSH = """
import json, sys
from pathlib import Path
from huggingface_hub.utils import disable_progress_bars
from hazardmill.release.hub.push import push
disable_progress_bars()
counts = json.loads(sys.argv[2])
pushed = push(Path(sys.argv[1]), "acme/soups", public=True, rows_of=lambda client, revision, configs: counts)
print(pushed.model_dump_json())
"""


class Killer:
    """Kills a process at the moment when the hub has got, done or answered a request."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self.point = ("", 0, "")
        self.killed = 0

    def __call__(self, request) -> None:
        moment = "asked"
        if request.ended_at is not None:
            moment = "answered"
        elif request.status is not None:
            moment = "done"
        if self.pid is not None and (request.endpoint, request.time, moment) == self.point:
            os.kill(self.pid, signal.SIGKILL)
            self.pid, self.killed = None, self.killed + 1


def begin(server, folder):
    environment = {**os.environ, "HF_HUB_DISABLE_XET": "1", "HF_ENDPOINT": server.address, "HF_TOKEN": TOKEN}
    words = [sys.executable, "-c", PUSH, str(folder), json.dumps(COUNTS)]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


POINTS = [
    ("info", 1, "answered"),
    ("create", 1, "asked"),
    ("create", 1, "done"),
    ("lfs-batch", 1, "answered"),
    ("lfs-put", 1, "asked"),
    ("lfs-put", 2, "done"),
    ("lfs-put", 4, "answered"),
    ("commit", 1, "asked"),
    ("commit", 1, "done"),
    ("commit", 1, "answered"),
    ("tag", 1, "asked"),
    ("tag", 1, "done"),
    ("tag", 1, "answered"),
    ("settings", 1, "done"),
]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: "-".join(map(str, point)))
def test_a_killed_push_is_made_again(tmp_path, point):
    folder, killer = pushable(tmp_path / "1.0.0"), Killer()
    tokens = {TOKEN: Account("mill", writes=True)}
    with HubServer(tmp_path / "hub", tokens=tokens, on_change=killer, log=tmp_path / "log") as server:
        killer.point = point
        first = begin(server, folder)
        killer.pid = first.pid
        first.communicate()
        assert (first.returncode, killer.killed) == (-signal.SIGKILL, 1)
    # Another server on the same folder, as if the hub had been started again meanwhile.
    with HubServer(tmp_path / "hub", tokens=tokens) as server:
        second = begin(server, folder)
        out, err = second.communicate()
        assert second.returncode == 0, err
        repository = server.hub.repository(REPO)
        assert len(repository.commits) == 2
        assert repository.tags == {"v1.0.0": repository.head.id} and not repository.private
        here = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        assert repository.head.tree.keys() == {*here, ".gitattributes"}
        assert all(server.hub.read(repository.head.tree[name]) == path.read_bytes() for name, path in here.items())
        assert TOKEN not in out + err + (tmp_path / "log").read_text()
