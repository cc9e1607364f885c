"""Loading a release from a hub as its users will: with ``datasets``, in a separate process with an empty cache.

``python -m hazardmill.release.hub.verify_load ORG/NAME REVISION CONFIG...`` prints ``{config: {split: rows}}``. The
process is separate because ``datasets`` reads address, token and cache from the environment when it is imported.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Final, TypeAlias

from hazardmill.release.hub.client import RESUME, HubClient
from hazardmill.release.hub.folder import LocalRelease
from hazardmill.release.hub.timeouts import give_up_on_silence

CountRows: TypeAlias = Callable[[HubClient, str, LocalRelease], dict[str, dict[str, int]]]
"""Counts the rows of a release at a revision of a repository, by config and split."""

PATIENCE_S: float = 900.0
"""Seconds that loading may take, in addition to the time for the release's bytes at ``SLOWEST`` bytes per second."""
SLOWEST: Final = 100_000
_OUT_OF_THE_WAY: Final = frozenset(
    {
        "HF_DATASETS_CACHE",
        "HF_DATASETS_OFFLINE",
        "HF_HUB_CACHE",
        "HF_HUB_DISABLE_IMPLICIT_TOKEN",
        "HF_HUB_OFFLINE",
        "HF_XET_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "TRANSFORMERS_OFFLINE",
    }
)
"""Environment variables that would let a cache answer instead of the hub, or leave out the token."""


def count_rows(client: HubClient, revision: str, local: LocalRelease) -> dict[str, dict[str, int]]:
    """Load each config of a release from the hub, and count its rows.

    Args:
        client: The repository, with address and token.
        revision: Commit to load.
        local: The same release on this machine: its configs are loaded, and its size decides the time limit.

    Returns:
        Number of rows by config and split.

    Raises:
        HubError: A config cannot be loaded, or loading takes too long.
    """
    patience = PATIENCE_S + local.bytes / SLOWEST
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
                [
                    sys.executable,
                    "-m",
                    "hazardmill.release.hub.verify_load",
                    client.repository,
                    revision,
                    *sorted(local.manifest.counts),
                ],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=patience,
            )
        except subprocess.TimeoutExpired:
            raise client.error(f"loading the release took more than {patience:.0f} s", RESUME) from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise client.error(
            f"datasets cannot load the release at {revision}: {lines[-1]}",
            "nothing was tagged: fix the release, or push again if the hub was at fault",
        )
    counted: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return counted


def _main(repository: str, revision: str, configs: list[str]) -> None:
    # Imported by name, as the package has no types.
    datasets = importlib.import_module("datasets")
    datasets.disable_progress_bars()
    give_up_on_silence()
    counted = {}
    for config in configs:
        loaded = datasets.load_dataset(repository, config, revision=revision)
        counted[config] = {str(split): rows.num_rows for split, rows in loaded.items()}
    sys.stdout.write(json.dumps(counted) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], sys.argv[3:])
