"""Stores with scenarios that a scripted model wrote, each of a structure of its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Final

from factories.scripted import ScriptedBackend
from hazardmill.generation.models import Models
from hazardmill.ingest.sources import load_source
from hazardmill.llm.requests import Request
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.running import answering
from tests.scenarios.written import BASE, answer, mal, sit

MODEL: Final = "test/model-1"
HOST: Final = "api.example"
APPROVED: Final = '{"verdict": "approved", "issues": []}'
LABEL: Final = '{"target": "property", "hazard": "burned object"}'
WORDS: Final = ("breakfast", "the picnic", "our guests", "a late supper", "the train", "tomorrow", "grandfather", "two")


def scenario_runs(
    store: Store,
    limit: int = 4,
    sources: tuple[str, ...] = ("bddl", "normbank", "neiss"),
    *,
    time: str = "090000",
    first: int = 0,
) -> Store:
    """Add a run of each kind, over the shipped samples of some sources.

    Args:
        store: Where the runs go.
        limit: Records of each source.
        sources: Names of the sources.
        time: Of the day, part of the runs' ids.
        first: Number of the first structure.
    """
    for kind, make in (("mal", mal), ("sit", sit)):
        said: dict[str, int] = {}

        def written(request: Request, make: Any = make, said: dict[str, int] = said) -> str:
            number = said.setdefault(str(request.record_id), first + len(said))
            value = make()
            # More food, out of reach, changes the structure and none of the plans.
            spare = {f"crumb_{place}": "food" for place in range(number)}
            command = f"{value['instruction']} It is for {WORDS[number % len(WORDS)]}."
            return answer({**value, "objects": {**value["objects"], **spare}, "instruction": command})

        backend = ScriptedBackend(
            author=written, judge=APPROVED, classify=LABEL, name="litellm", host=HOST, model_answered=MODEL
        )
        config = RunConfig(
            inputs=tuple(RunInput(source=name, path=load_source(name).sample, limit=limit) for name in sources),
            jail="minimal",
            backend="litellm",
            kind=kind,
            base_domain=BASE,
            models=Models(extract=MODEL, author=MODEL, judge=MODEL),
        )
        run, _ = Run.start(store, config, f"generate-20260110-{time}-{kind}{kind}", resources=answering(backend))

        async def work(run: Run = run) -> None:
            async with run.session() as session:
                await session.work_through(run.waves())

        with run.under_way():
            asyncio.run(work())
    return store


def changed_scenario(row: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """The row of a scenario with other parts of its file."""
    value = json.loads(row["scenario"])
    return {**row, "scenario": json.dumps({**value, **parts}, sort_keys=True, separators=(",", ":"))}


def scenario_store(path: Path, limit: int = 4) -> Store:
    """A new store with both runs and nothing else."""
    return scenario_runs(Store.open(path, create=True), limit)
