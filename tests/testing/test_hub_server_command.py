"""The hub as a command: started, asked, ended and killed as a process."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys

import httpx
import pytest

from hazardmill.testing.hub_server import WRITE_TOKEN, read_journal

pytestmark = pytest.mark.full

COMMAND = [sys.executable, "-m", "hazardmill.testing.hub_server"]
BODY = {"type": "dataset", "organization": "acme", "name": "hazards", "visibility": "private"}


@contextlib.contextmanager
def running(*words, **environment):
    """``(process, address)`` of a server; killed at the end if it still runs."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def create(address, token=WRITE_TOKEN):
    headers = {"authorization": f"Bearer {token}"}
    return httpx.post(f"{address}/api/repos/create", json=BODY, headers=headers, timeout=None, trust_env=False)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_answers_and_ends_when_it_is_told(tmp_path, end):
    log = tmp_path / "log"
    words = [tmp_path / "hub", "--script", "create=429:2", "--log", log, "--token-env", "PLANTED"]
    with running(*words, PLANTED="hf_planted") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        replies = [create(address, token) for token in ("hf_planted", "hf_planted", WRITE_TOKEN)]
        process.send_signal(end)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "", "")
    assert [reply.status_code for reply in replies] == [429, 200, 401]
    assert replies[0].headers["retry-after"] == "2"
    assert [(each.status, each.done, each.fault) for each in read_journal(log)] == [
        (429, False, "429:2"),
        (200, True, None),
        (401, False, None),
    ]
    assert "planted" not in log.read_text()


def test_a_killed_server_has_lost_nothing(tmp_path):
    words = [tmp_path / "hub", "--log", tmp_path / "log"]
    with running(*words, "--script", "create=500-after") as (process, address):
        assert create(address).status_code == 500
        process.kill()
        process.wait()
    with running(*words) as (_, address):
        assert create(address).status_code == 409
    assert [(each.number, each.time, each.done) for each in read_journal(tmp_path / "log")] == [
        (1, 1, True),
        (2, 2, False),
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--script", "commit=elephant"], 2, "no such fault: 'elephant'"),
        (["--script", "commit"], 2, "ENDPOINT=FAULT"),
        (["--token-env", "NOT_SET_ANYWHERE"], 2, "NOT_SET_ANYWHERE is not set"),
        (["--log", "{folder}/foreign"], 3, "does not belong to a hub_server log"),
    ],
)
def test_a_wrong_call_is_told(tmp_path, words, code, said):
    (tmp_path / "foreign").write_text("hello\n")
    words = [word.format(folder=tmp_path) for word in words]
    done = subprocess.run([*COMMAND, tmp_path / "hub", *words], capture_output=True, text=True)
    assert done.returncode == code and said in done.stderr and not done.stdout
