"""Hostile scripts, each in a plain process (where it must succeed) and in the jail (where it must not)."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hazardmill.sandbox.jail import Jail, JailFailure, JailResult, Limits
from hazardmill.sandbox.process import child_main

from .attacks import ALL, ATTACKS, OF_THE_ZYGOTE, Attack
from .conftest import children_of, zygote_of
from .test_zygote import ATTACKS as ON_ZYGOTES


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@pytest.fixture
def targets(tmp_path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("HAZARDMILL_PLANTED", "planted")
    secret, doomed, module = tmp_path / "secret", tmp_path / "doomed", tmp_path / "module.py"
    module.write_text("VALUE = 1\n")
    secret.write_text("secret text")
    secret.chmod(0o600)
    doomed.write_text("still here")
    return {
        "secret_file": str(secret),
        "doomed_file": str(doomed),
        "free_path": str(tmp_path / "free"),
        "module_file": str(module),
        "project_file": child_main.__file__,
        "port": listener.getsockname()[1],
        "parent": os.getpid(),
    }


def assert_untouched(targets: dict[str, Any], listener: socket.socket) -> None:
    secret = Path(targets["secret_file"])
    assert secret.read_text() == "secret text"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert Path(targets["doomed_file"]).read_text() == "still here"
    assert not Path(targets["free_path"]).is_symlink()
    assert not Path(targets["free_path"]).exists()
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_succeeds_outside_the_jail(attack: Attack, targets: dict[str, Any], tmp_path: Path) -> None:
    here = tmp_path / "control"
    here.mkdir()
    control = subprocess.run(
        [sys.executable, "-c", attack.script(targets)], cwd=here, capture_output=True, start_new_session=True
    )
    assert control.returncode == attack.control_status, control.stderr.decode()
    if "loot(" in attack.code:
        assert b"LOOT" in control.stdout


@pytest.mark.parametrize("attack", OF_THE_ZYGOTE, ids=lambda attack: attack.name)
def test_on_the_zygote_succeeds_outside_the_jail(attack: Attack, jail: Jail, targets: dict[str, Any]) -> None:
    script = attack.script({**targets, "zygote": zygote_of(jail)})
    control = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    assert (control.returncode, b"LOOT" in control.stderr) == (1, True), control.stderr.decode()


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_is_contained(
    attack: Attack,
    jail: Jail,
    soup: str,
    targets: dict[str, Any],
    listener: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zygote = zygote_of(jail)
    monkeypatch.setattr(jail, "limits", Limits(wall_seconds=attack.wall_seconds))
    answer = jail.run(attack.script({**targets, "zygote": zygote}))
    assert isinstance(answer, JailFailure)
    assert "LOOT" not in answer.message
    assert answer.reason == attack.reason, answer
    assert_untouched(targets, listener)
    assert isinstance(jail.run(soup), JailResult)
    assert (zygote_of(jail), children_of(zygote)) == (zygote, [])


@pytest.mark.full
def test_all_are_contained_for_an_ordinary_user(
    targets: dict[str, Any], listener: socket.socket, project: Path
) -> None:
    script = Path(__file__).with_name("as_ordinary_user.py")
    run = subprocess.run(
        [sys.executable, str(script)],
        input=json.dumps(targets),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(project)},
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert (report["user"] != 0, report["capabilities"]) == (True, 0)
    reasons = {attack.name: attack.reason for attack in (*ALL, *ON_ZYGOTES)}
    assert {name: reason for name, (reason, _) in report["outcomes"].items()} == reasons
    assert [name for name, (_, message) in report["outcomes"].items() if "LOOT" in message] == []
    assert "uid" not in report["profile"]
    assert report["afterwards"] == "JailResult"
    assert_untouched(targets, listener)
