"""Addresses of pages: the six that answer an operator's questions, the artifacts of runs, and reports elsewhere.

Links are relative to the page of an artifact, a deployment or a flow run. Those pages all lie two levels below the root
of a UI (``/artifacts/key/KEY``, ``/v2/runs/flow-run/ID``), so that a link stays in the UI in which it was clicked, and
holds wherever the server is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from hazardmill.report.dashboard.writing import write_code, write_text

PAGES: Final[Mapping[str, str]] = {
    "page-cost": "What it cost",
    "page-task-cost": "What a task costs",
    "page-yield": "Yield and losses",
    "page-running": "What runs now",
    "page-failed": "What failed",
    "page-next": "What comes next",
}
"""The pages that answer an operator's questions: key of the artifact to title."""

_LONGEST_KEY: Final = 100


def artifact_key(kind: str, name: str) -> str:
    """Return the key of an artifact. Different names give different keys, and most keys show the name.

    Where the name does not fit, the key ends in eight digits of the name's SHA-256.

    Args:
        kind: ``run``, ``cost`` or ``funnel``.
        name: A run id or a source. Names of sources have no dash, so that ``_`` can become one without a clash.
    """
    shown = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    kept = name if kind == "run" else name.replace("_", "-")
    if shown == kept != "all" and len(shown) <= _LONGEST_KEY:
        return f"{kind}-{shown}"
    return "-".join(filter(None, (kind, shown[:_LONGEST_KEY], hashlib.sha256(name.encode()).hexdigest()[:8])))


def link_artifact(key: str, text: str | None = None) -> str:
    """Return a link to the latest artifact of a key.

    Args:
        key: The key.
        text: Text of the link; null is the key.
    """
    return f"[{write_text(text or key)}](../../artifacts/key/{key})"


def link_run(run_id: str) -> str:
    """Return a link to the artifact of a run, named by the run's id."""
    return link_artifact(artifact_key("run", run_id), run_id)


def link_pages(shown: str | None = None) -> str:
    """Return one line of links to the six pages.

    Args:
        shown: Key of the page with the line, which is not linked.
    """
    return " · ".join(f"**{title}**" if key == shown else link_artifact(key, title) for key, title in PAGES.items())


@dataclass(frozen=True)
class ReportPlace:
    """Where the report of a run can be opened.

    Attributes:
        path: The report, on the machine that wrote it.
        address: Base address at which ``hazardmill view``, or a host of files, has it as ``reports/NAME``; null if
            there is none.
    """

    path: Path
    address: str | None = None

    def link(self, run_id: str) -> str:
        """Return the way to the report of a run and to its tasks: links, or else the path of the report."""
        if self.address is None:
            return f"The report, with every figure and task: {write_code(str(self.path), longest=None)}."
        base = self.address.rstrip("/")
        report, tasks = f"{base}/reports/{quote(self.path.name)}", f"{base}/#?run={quote(run_id)}"
        return f"[The report]({report}), with every figure; [the tasks of the run]({tasks})."
