"""Loading a release from a hub as its users will: by ``datasets``, in a process of its own with an empty cache.

``python -m hazardmill.release.hub_loading ORG/NAME REVISION CONFIG...`` prints ``{config: {split: rows}}``. A process
of its own, because ``datasets`` reads address, token and cache from the environment when it is imported.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from hazardmill.release.hub_client import HubClient

CountRows: TypeAlias = Callable[[HubClient, str, Iterable[str]], dict[str, dict[str, int]]]
"""Rows by config and split at a revision, for some configs."""

_PATIENCE_S: Final = 3600
_OUT_OF_THE_WAY: Final = frozenset(
    {
        "HF_DATASETS_CACHE",
        "HF_DATASETS_OFFLINE",
        "HF_HUB_CACHE",
        "HF_HUB_OFFLINE",
        "HF_XET_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "TRANSFORMERS_OFFLINE",
    }
)
"""Variables by which something else than the hub itself would answer."""


def count_rows(client: HubClient, revision: str, configs: Iterable[str]) -> dict[str, dict[str, int]]:
    """Load configs from the hub, and count their rows.

    Raises:
        HubError: A config cannot be loaded.
    """
    with tempfile.TemporaryDirectory(prefix="hazardmill-load-") as cache:
        environment = {name: value for name, value in os.environ.items() if name not in _OUT_OF_THE_WAY}
        environment |= {
            "HF_HOME": cache,
            "HF_ENDPOINT": client.endpoint,
            "HF_TOKEN": client.token,
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        try:
            done = subprocess.run(
                [sys.executable, "-m", "hazardmill.release.hub_loading", client.repository, revision, *configs],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            raise client.error(f"loading the release took more than {_PATIENCE_S} s", "push again, to go on") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise client.error(
            f"datasets does not load the release at {revision}: {lines[-1]}",
            "nothing was tagged: mend the release, or push again if the hub was at fault",
        )
    counted: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return counted


def _main(repository: str, revision: str, configs: list[str]) -> None:
    # By name: the package has no types.
    datasets = importlib.import_module("datasets")
    datasets.disable_progress_bars()
    counted = {}
    for config in configs:
        loaded = datasets.load_dataset(repository, config, revision=revision)
        counted[config] = {str(split): rows.num_rows for split, rows in loaded.items()}
    sys.stdout.write(json.dumps(counted) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], sys.argv[3:])
