"""Works through shards of the shipped samples, one run a shard; run as a process of its own.

    python sharded_run.py STORE SAMPLES BUDGET_USD RECORDS K/N...

The offline author gets a price here, so that there is money to be kept. A run that is there already is resumed. Prints
the exit code that the command would have, as ``run id: code``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hazardmill.cli.run.work import work_through
from hazardmill.errors import HazardmillError
from hazardmill.llm.prices import Price, Prices
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.store.store import Store

SOURCES = ("neiss", "bddl")
PRICES = Prices(
    {
        "offline-author": Price(
            model="offline-author", input=1.0, cached_input=1.0, output=10.0, checked="2026-11-01", origin="made up"
        )
    }
)
PRICED = RunResources(prices=lambda: PRICES)


def run_id_of(shard: str | None) -> str:
    return "whole" if shard is None else f"shard-{shard.replace('/', '-of-')}"


def open_run(store: Store, samples: Path, budget_usd: float, records: int, shard: str | None) -> Run:
    """The run of a shard: started, or resumed with this budget."""
    run_id = run_id_of(shard)
    if store.count("runs", {"run_id": run_id}):
        run = Run.load(store, run_id, PRICED)
        return run.resume(run.config.model_copy(update={"budget_usd": budget_usd}))
    inputs = tuple(
        RunInput(source=source, path=samples / source / "sample", limit=records, shard=shard) for source in SOURCES
    )
    config = RunConfig(inputs=inputs, budget_usd=budget_usd, budget_id="all", wave_size=4)
    return Run.start(store, config, run_id, resources=PRICED)[0]


def work(place: str, samples: str, budget_usd: str, records: str, *shards: str) -> None:
    store = Store.open(Path(place), create=True)
    for shard in shards or (None,):
        code = 0
        try:
            work_through(open_run(store, Path(samples), float(budget_usd), int(records), shard), quiet=True)
        except HazardmillError as error:
            code = error.exit_code
        print(f"{run_id_of(shard)}: {code}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    work(*sys.argv[1:])
