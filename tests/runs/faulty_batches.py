"""Runs by batches of a local server where a share of everything fails, and the same without faults."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from hazardmill.generation.models import Models
from hazardmill.llm.batches import creation
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import BatchFaultKind, LlmServer, SeededBatchFaults
from tests.running import worked

MODEL = "openai/gpt-4o-mini"
RATE = 0.3
RECOVERABLE = [kind for kind in BatchFaultKind if kind is not BatchFaultKind.LINE_REFUSED]
"""A line that is refused has an empty answer, as a single request that is refused."""

ANSWERED = [kind for kind in RECOVERABLE if kind is not BatchFaultKind.LINE_OTHER_MODEL]
"""Which model answered is part of a task."""

MOST = 2
"""Failing attempts at a step: a creation has an upload and the creation itself, and is tried five times."""

LINES = 15
"""Lines of a batch at most: many batches, so that not all of a round have a fault, and not none of them."""


async def at_once(seconds: float) -> None:
    """Wait no longer than others take."""
    await asyncio.sleep(0)


RESOURCES = RunResources(batch_sleep=at_once)


@dataclass
class Soaked:
    """What became of a run with faults."""

    lines: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    batches: int = 0
    ends: Counter[str] = field(default_factory=Counter)


def soak_batches(
    folder: Path, reference: Path, project: Path, records: int, seed: int = 8, lines: int = LINES
) -> Soaked:
    """Run the same records one by one without faults, and by batches with faults; compare the stores.

    Args:
        folder: For both stores.
        reference: Folder of the reference data.
        project: The checkout.
        records: About so many, from five sources.
        seed: Draws the faults.
        lines: Most lines of a batch.
    """
    data = reference / "data"
    samples = {name: project / "sources" / name / "sample" for name in ("alfred", "bddl", "virtualhome")}
    inputs = [RunInput(source=name, path=path, limit=max(1, records // 18)) for name, path in samples.items()]
    left = records - len(samples) * max(1, records // 18)
    inputs += [
        RunInput(source="neiss", path=data / "neiss" / "neiss2019.tsv", limit=left * 3 // 4),
        RunInput(source="normbank", path=data / "normbank" / "NormBank_layout.csv", limit=left // 4),
    ]
    said, stores = Soaked(), {}
    for name, faults in (
        ("single", None),
        ("batch", SeededBatchFaults(seed=seed, rate=RATE, kinds=ANSWERED, most=MOST)),
    ):
        stores[name] = store = Store.open(folder / name, create=True)
        with LlmServer(batch_faults=faults) as server, patch.object(creation, "_LARGEST", lines):
            config = RunConfig(
                inputs=tuple(inputs),
                models=Models(extract=MODEL, author=MODEL, judge=MODEL),
                backend="litellm",
                api_base=server.address,
                batch=faults is not None,
                concurrency=64,
            )
            run, _ = Run.start(store, config, "run", resources=RESOURCES)
            worked(run, wait=True)
            said.lines.append(
                f"{name}: {store.count('outcomes')} records, {len(server.attempts)} requests paid, "
                f"{len(server.batch_calls)} calls about batches"
            )
    ours, theirs = stores["batch"], stores["single"]
    said.ends = Counter(row["end"] for row in ours.rows("batches"))
    said.batches = said.ends.total()
    said.lines.append(f"{said.batches} batches: {', '.join(f'{n} {end}' for end, n in said.ends.items())}")
    digests = ours.digest(), theirs.digest()
    said.wrong += [f"another digest of {name}" for name in digests[0] if digests[0][name] != digests[1][name]]
    said.wrong += [f"verify: {finding}" for finding in ours.verify()]
    if any(row["error"] == "in_flight" for row in ours.rows("llm_calls", None, ["error"])):
        said.wrong.append("a request is said to be in flight")
    return said
