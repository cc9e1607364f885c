"""Describes what cannot be made again from the rest of a store, and what helps."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hazardmill.store.files.layout import Layout
from hazardmill.store.maintenance.completeness import MADE, Standing
from hazardmill.store.maintenance.damage_survey import RepairPlan
from hazardmill.store.maintenance.findings import command, ingest_remedy, restore_remedy
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
            f"commit {number} is lost with all its parts, and what it held is unknown: {restore_remedy(layout.root)}"
        )
    for number in sorted(set(plan.commits_mixed)):
        yield (
            f"commit {number} exists with two contents, or did: what is here was kept, and whether something else is "
            "lost is unknown: compare with a backup of the store"
        )
    if plan.lines_lost:
        yield (
            f"the content of {plan.lines_lost} damaged line(s) of the journal is unknown: a model's answer in them is "
            f"paid for again if it is needed; everything else is made again: {_resume(layout, plan)}"
        )
    yield from _lost_ledger(layout, plan, found)
    for run_id, outcomes in found.unknown_runs.items():
        yield (
            f"the beginning of run {run_id} (table runs) is lost: it cannot be resumed, and its {outcomes} outcome(s) "
            "stay as they are; a new run with the same inputs and models pays nothing for answers in the ledger: "
            f"{command('run generate --source SOURCE --input PATH --model MODEL', layout.root)}"
        )
    if _loss(plan, RUNS.name) and not found.unknown_runs:
        yield (
            f"{_loss(plan, RUNS.name)} of table runs: states that runs went through, or what an ingest counted; "
            "no run depends on them, and nothing has to be done"
        )
    yield from _lost_records(layout, plan, found)
    if _loss(plan, REJECTS.name):
        yield f"{_loss(plan, REJECTS.name)} of table rejects: {ingest_remedy(layout.root, 'SOURCE')}"
    for table in MADE:
        if _loss(plan, table.name) and found.unknown_runs:
            yield (
                f"{_loss(plan, table.name)} of table {table.name}, if they belong to a run that cannot be resumed: "
                f"{restore_remedy(layout.root)}"
            )


def _loss(plan: RepairPlan, table: str) -> str:
    """How much of a table is lost, in words; empty if nothing is."""
    rows, parts = plan.rows_lost[table], plan.parts_lost[table]
    words = [f"{rows} row(s)"] if rows else []
    return " and ".join([*words, *([f"{parts} unreadable part(s)"] if parts else [])])


def _resume(layout: Layout, plan: RepairPlan) -> str:
    """Return the commands that resume the runs of damaged segments."""
    runs = sorted({layout.run_of(saved.path.stem) for saved in plan.salvaged if saved.unknown})
    return "; ".join(command(f"run resume {run_id}", layout.root) for run_id in runs)


def _lost_ledger(layout: Layout, plan: RepairPlan, found: Standing) -> Iterator[str]:
    lost = _loss(plan, LLM_CALLS.name)
    if lost or found.missing_answers:
        yield (
            f"{lost or 'rows'} of the ledger (table llm_calls): {found.missing_answers} answer(s) that dangers and "
            "drafts depend on are gone; these stay as they are, and an answer is paid for again only if a run asks "
            f"for it again; to have them back, {restore_remedy(layout.root)}"
        )


def _lost_records(layout: Layout, plan: RepairPlan, found: Standing) -> Iterator[str]:
    for source, count in found.missing_records.items():
        again = ingest_remedy(layout.root, source)
        yield f"{count} record(s) of {source} that runs were started on; from the same input, {again}"
    lost = _loss(plan, RECORDS.name)
    if not lost:
        return
    runs = {layout.run_of(name) for name in plan.records_from if layout.is_segment(name)}
    rows = read_table(plan.snapshot(layout), RUNS, {"sequence": 0}, ["run_id", "config"]).to_pylist()
    configs = {row["run_id"]: json.loads(row["config"]) for row in rows if row["run_id"] in runs}
    inputs = [item for config in configs.values() for item in config.get("inputs", [config])]
    # A run that read its records from the store does not say where they came from.
    told = {(str(item.get("source")), str(item.get("path") or "PATH")) for item in inputs} or {("SOURCE", "PATH")}
    again = "; ".join(ingest_remedy(layout.root, source, place) for source, place in sorted(told))
    yield f"{lost} of table records: {again}"
