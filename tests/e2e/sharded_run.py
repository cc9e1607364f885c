"""Works through shards of the shipped samples, one run a shard; run as a process of its own.

    python sharded_run.py STORE SAMPLES BUDGET_USD RECORDS K/N...

The offline author gets a price here, so that there is money to be kept. A run that is there already is resumed. Prints
each run's exit code as ``run id: code``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hazardmill.cli.main import main
from hazardmill.llm.prices import Price, Prices
from hazardmill.runs.resources import REAL
from hazardmill.store.store import Store

SOURCES = ("neiss", "bddl")
PRICES = Prices(
    {
        "offline-author": Price(
            model="offline-author", input=1.0, cached_input=1.0, output=10.0, checked="2026-11-01", origin="made up"
        )
    }
)


def run_id_of(shard: str | None) -> str:
    return "whole" if shard is None else f"shard-{shard.replace('/', '-of-')}"


def words_of(store: Path, samples: Path, budget_usd: str, records: str, shard: str | None) -> list[str]:
    """The command that starts the run of a shard, or goes on with it."""
    run_id, common = run_id_of(shard), ["--store", str(store), "--budget-usd", budget_usd, "--json"]
    if Store(store).count("runs", {"run_id": run_id}):
        return ["run", "resume", run_id, *common]
    words = ["run", "generate", "--run-id", run_id, *common, "--budget-id", "all", "--batch-size", "4"]
    for source in SOURCES:
        words += ["--source", source, "--input", f"{source}={samples / source / 'sample'}", "--limit", records]
    return words if shard is None else [*words, "--shard", shard]


def work(store: str, samples: str, budget_usd: str, records: str, *shards: str) -> None:
    object.__setattr__(REAL, "prices", lambda: PRICES)
    Prices.load = classmethod(lambda cls, path=None: PRICES)  # type: ignore[method-assign, assignment]
    for shard in shards or (None,):
        sys.argv = ["hazardmill", *words_of(Path(store), Path(samples), budget_usd, records, shard)]
        try:
            main()
        except SystemExit as end:
            print(f"{run_id_of(shard)}: {end.code or 0}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    work(*sys.argv[1:])
