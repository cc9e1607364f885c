"""Checks that the rows exist that other rows of a store depend on.

Even if all files are intact, rows can be missing if commits were lost together with everything that refers to them.
Rows that nothing else depends on are not missed: the loss of the last commits is noticed by their chain alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from hazardmill.store.maintenance.completeness import standing
from hazardmill.store.maintenance.findings import Finding, command, ingest_remedy, rebuild_remedy
from hazardmill.store.snapshot import Snapshot

_NAMED: Final = 3
"""Maximum number of records that a finding names."""

HARMLESS: Final = frozenset({"segment_left", "copy_missing", "replaced_left", "last_unknown"})
"""Findings about files that do not mean any loss of rows."""


def verify_rows(snapshot: Snapshot, place: Path) -> list[Finding]:
    """Return findings on the rows missing from a store whose files are intact.

    Args:
        snapshot: The store.
        place: Its folder, for the remedies.

    Raises:
        CorruptStore: A file cannot be read.
        SchemaMismatch: A newer hazardmill wrote a file.
    """
    return list(_missing(snapshot, place))


def _missing(snapshot: Snapshot, place: Path) -> Iterator[Finding]:
    found, remedy = standing(snapshot), rebuild_remedy(place)
    for run_id, outcomes in found.unknown_runs.items():
        message = f"the beginning of run {run_id} is missing; {outcomes} outcome(s) and other rows depend on it"
        yield Finding("run_missing", "runs", message, remedy)
    by_source: Counter[str] = Counter(found.missing_records)
    for source, count in Counter(record_id.partition(":")[0] for record_id in found.unknown_records).items():
        by_source[source] = max(by_source[source], count)
    for source, count in sorted(by_source.items()):
        names = [record_id for record_id in found.unknown_records if record_id.partition(":")[0] == source]
        message = f"{count} record(s) of {source} that runs depend on are missing or have changed{_list_names(names)}"
        yield Finding("record_missing", "records", message, ingest_remedy(place, source))
    by_run: dict[str, list[str]] = {}
    for run_id, record_id in found.incomplete:
        by_run.setdefault(run_id, []).append(record_id)
    for run_id, names in sorted(by_run.items()):
        message = f"{len(names)} record(s) of run {run_id} lack some of their rows{_list_names(names)}"
        again = f"{command('store rebuild', place)}; then {command(f'run resume {run_id}', place)}"
        yield Finding("record_incomplete", "outcomes", message, again)
    if found.missing_answers:
        message = f"{found.missing_answers} answer(s) that dangers and drafts depend on are not in the ledger"
        yield Finding("answer_missing", "llm_calls", message, remedy)


def _list_names(names: Collection[str]) -> str:
    """Some of the names, in brackets."""
    if not names:
        return ""
    first = ", ".join(sorted(names)[:_NAMED])
    return f" ({first}{', ...' if len(names) > _NAMED else ''})"
