"""Loading a release from a hub as its users will: by ``datasets``, in a process of its own with an empty cache.

``python -m hazardmill.release.hub.verify_load ORG/NAME REVISION CONFIG...`` prints ``{config: {split: rows}}``. A
process of its own, because ``datasets`` reads address, token and cache from the environment when it is imported.
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

from hazardmill.release.hub.client import HubClient
from hazardmill.release.hub.folder import LocalRelease
from hazardmill.release.hub.timeouts import give_up_on_silence

CountRows: TypeAlias = Callable[[HubClient, str, LocalRelease], dict[str, dict[str, int]]]
"""Rows by config and split at a revision, of the configs of a release."""

PATIENCE_S: float = 900.0
"""Seconds that loading may take, and besides so many as the bytes need at ``SLOWEST`` a second."""
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
"""Variables by which something else than the hub itself would answer, or the hub be asked without the token."""


def count_rows(client: HubClient, revision: str, local: LocalRelease) -> dict[str, dict[str, int]]:
    """Load each config of a release from the hub, and count its rows.

    Raises:
        HubError: A config cannot be loaded.
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
            raise client.error(f"loading the release took more than {patience:.0f} s", "push again, to go on") from None
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
    give_up_on_silence()
    counted = {}
    for config in configs:
        loaded = datasets.load_dataset(repository, config, revision=revision)
        counted[config] = {str(split): rows.num_rows for split, rows in loaded.items()}
    sys.stdout.write(json.dumps(counted) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], sys.argv[3:])
