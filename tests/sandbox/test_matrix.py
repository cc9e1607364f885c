"""What each layer stops by itself; and what gets through where one is missing, which is what only that one stops.

Names are of attacks. Which of them a layer stops depends on the kernel, upwards only: newer ones stop more.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .attacks import ALL
from .test_attacks import listener, targets

__all__ = ["listener", "targets"]  # fixtures

BY_NO_LAYER = {
    # An empty environment, a folder that is gone, nothing to import from, and secrets that were never there.
    "read the environment",
    "create a file where it stands",
    "import a module from disk",
    "walk through all objects for a secret of whoever launched it",
} | {attack.name for attack in ALL if attack.reason in ("timeout", "crashed", "output_too_large")}

OF_FILES = {
    "read a private file",
    "read by a raw system call",
    "read own environment block",
    "read the parent's environment",
    "create a file",
    "delete a file",
    "rename a file",
    "make a link",
    "escape by way of subclasses",
    "escape by way of sys.modules",
    "read the zygote's environment",
    "look into the zygote's memory",
}
OF_ALL_FILES = OF_FILES | {
    "read a system file",
    "read the project",
    "list a folder",
    "look up a name",
    "import by a hook of its own",
    # What it would start cannot be read.
    "shell",
    "subprocess",
    "replace itself",
    "unpickle a call",
}
OF_SIGNALS = {"signal the parent", "signal the zygote"}
OF_LIMITS = {"read the parent's limits", "read its limits"}
OF_MEMORY = {"take memory", "grow a list"}

STOPS = {
    "netns": {"connect to a loopback listener", "send a datagram"},
    "uid": OF_FILES | OF_SIGNALS | OF_LIMITS | {"change a file's mode"},
    "landlock": OF_ALL_FILES | OF_SIGNALS | {"connect to a loopback listener", "listen"},
    "rlimits": OF_MEMORY,
    "seccomp": {attack.name for attack in ALL} - BY_NO_LAYER - OF_MEMORY,
}
"""Behind this layer and no other."""

ONLY = {
    "netns": set[str](),
    "uid": set[str](),
    "landlock": set[str](),
    "rlimits": OF_MEMORY,
    # Names and sizes of files, and calls that reach nobody: all that is in reach is behind the same walls.
    "seccomp": {
        "look at a file from outside",
        "pair of sockets",
        "signal everybody",
        "signal its group",
        "raise its own limits",
        "wake the parent's scheduler",
    },
}
"""What gets through where only this layer is missing."""

OF_ORDINARY_USERS = {
    # Without the uid layer the code is still who started the mill. Where root plays the ordinary user, the kernel does
    # not count its processes.
    "seccomp": {"change a file's mode", *OF_LIMITS, "fork", "fork bomb", "thread"},
}


@pytest.mark.full
@pytest.mark.parametrize("user", ["whoever runs this", pytest.param("ordinary", marks=pytest.mark.full)])
def test_what_each_layer_stops(user: str, targets: dict[str, Any], listener: socket.socket, project: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("matrix.py")), *(["ordinary"] if user == "ordinary" else [])],
        input=json.dumps(targets),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(project)},
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    succeeded = {behind: set(names) for behind, names in report["succeeded"].items()}
    is_root = report["user"] == 0
    assert {"landlock", "rlimits", "seccomp"} | ({"uid"} if is_root else set()) <= set(report["layers"])
    assert succeeded["all"] == set()
    assert succeeded["none"] == {attack.name for attack in ALL} - BY_NO_LAYER
    # The sixth version of Landlock is the first that knows of signals.
    unknown = OF_SIGNALS if report["landlock"] < 6 else set()
    for layer in report["layers"]:
        claimed = STOPS[layer] - unknown if layer == "landlock" else STOPS[layer]
        assert succeeded[layer] & claimed == set(), layer
        let_through = ONLY[layer] if is_root else ONLY[layer] | OF_ORDINARY_USERS.get(layer, set())
        assert succeeded[f"all but {layer}"] <= let_through, layer
