"""Describes what cannot be made again from the rest of a store, and what helps."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hazardmill.store.files.layout import Layout
from hazardmill.store.maintenance.completeness import MADE, Standing
from hazardmill.store.maintenance.damage_survey import RepairPlan
from hazardmill.store.schemas import LLM_CALLS, RECORDS, REJECTS, RUNS
from hazardmill.store.snapshot import read_table


def losses(layout: Layout, plan: RepairPlan, found: Standing) -> Iterator[str]:
    """Yield one sentence for each thing that stays lost.

    Args:
        layout: The store's paths.
        plan: What was damaged.
        found: What the rest of the store still holds of its runs.
    """
    for number in plan.commits_lost:
        yield (
            f"commit {number} is lost with all its parts, and what it held is unknown: "
            "restore its files from a backup of the store"
        )
    if plan.lines_lost:
        yield (
            f"the content of {plan.lines_lost} damaged line(s) of the journal is unknown: a model's answer in them is "
            "paid for again if it is needed; everything else is made again when the run is resumed"
        )
    yield from _lost_ledger(plan, found)
    for run_id, outcomes in found.unknown_runs.items():
        yield (
            f"the beginning of run {run_id} (table runs) is lost: it cannot be resumed, and its {outcomes} outcome(s) "
            "stay as they are; a new run with the same inputs and models pays nothing for answers in the ledger"
        )
    if _loss(plan, RUNS.name) and not found.unknown_runs:
        yield (
            f"{_loss(plan, RUNS.name)} of table runs: states that runs went through, or what an ingest counted; "
            "no run depends on them"
        )
    yield from _lost_records(layout, plan, found)
    if _loss(plan, REJECTS.name):
        yield f"{_loss(plan, REJECTS.name)} of table rejects: ingest the sources again to have them listed again"
    for table in MADE:
        if _loss(plan, table.name) and found.unknown_runs:
            yield f"{_loss(plan, table.name)} of table {table.name}, if they belong to a run that cannot be resumed"


def _loss(plan: RepairPlan, table: str) -> str:
    """How much of a table is lost, in words; empty if nothing is."""
    rows, parts = plan.rows_lost[table], plan.parts_lost[table]
    words = [f"{rows} row(s)"] if rows else []
    return " and ".join([*words, *([f"{parts} unreadable part(s)"] if parts else [])])


def _lost_ledger(plan: RepairPlan, found: Standing) -> Iterator[str]:
    lost = _loss(plan, LLM_CALLS.name)
    if lost or found.missing_answers:
        yield (
            f"{lost or 'rows'} of the ledger (table llm_calls): {found.missing_answers} answer(s) that dangers and "
            "drafts depend on are gone; these stay as they are, and an answer is paid for again only if a run asks "
            "for it again"
        )


def _lost_records(layout: Layout, plan: RepairPlan, found: Standing) -> Iterator[str]:
    for source, count in found.missing_records.items():
        yield f"{count} record(s) of {source} that runs were started on: ingest {source} again, from the same input"
    lost = _loss(plan, RECORDS.name)
    if not lost:
        return
    runs = {layout.run_of(name) for name in plan.records_from if layout.is_segment(name)}
    rows = read_table(plan.snapshot(layout), RUNS, {"sequence": 0}, ["run_id", "config"]).to_pylist()
    configs = {row["run_id"]: json.loads(row["config"]) for row in rows if row["run_id"] in runs}
    inputs = [item for config in configs.values() for item in config.get("inputs", [config])]
    told = sorted({f"{item.get('source')} from {item.get('path') or 'the store'}" for item in inputs})
    yield f"{lost} of table records: ingest again {', '.join(told) or 'the sources of this store'}"
