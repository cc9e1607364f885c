"""Read the rows of one record from one snapshot of the store.

A store can have thousands of parts. The statistics in their footers show which parts may hold a record, so that the
others are not read. Everything that a run makes of a record is committed together, so that the commits with its
outcomes hold the rest as well. Answers and documents of other records are never read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.records import Outcome
from hazardmill.report.queries import Row
from hazardmill.store.files.footers import open_part
from hazardmill.store.files.parts import latest
from hazardmill.store.rows import to_rows
from hazardmill.store.schemas import RUNS, TABLES
from hazardmill.store.snapshot import Snapshot, read_table
from hazardmill.store.store import Store

_STATE: Final = ("run_id", "parent_run_id", "sequence", "kind", "state", "at", "hazardmill_version")


class StoreView:
    """A snapshot of a store, for several reads that must agree with one another.

    Outcomes, states of runs, and which commits hold a record are read once.

    Args:
        store: The store.
        snapshot: A snapshot of it.
    """

    def __init__(self, store: Store, snapshot: Snapshot) -> None:
        self.store = store
        self._snapshot = snapshot
        self._outcomes: dict[str, dict[str, Row]] = {}
        self._holding: dict[tuple[str, str], Snapshot] = {}
        self._runs: dict[str, list[Row]] | None = None

    def outcomes(self, record_id: str) -> dict[str, Row]:
        """Return the outcome rows of a record, by run."""
        if record_id not in self._outcomes:
            holding = self._commits_with("outcomes", record_id)
            rows = self._read(holding, "outcomes", {"record_id": record_id}, None)
            self._outcomes[record_id] = {row["run_id"]: row for row in rows}
        return self._outcomes[record_id]

    def run_rows(self, record_id: str, run_id: str, table: str) -> list[Row]:
        """Return the latest rows that a run wrote about a record to a table, in the order of commits."""
        # Without an outcome, only remnants of lost parts can exist: look for them in the table itself.
        index = "outcomes" if run_id in self.outcomes(record_id) else table
        return self._read(self._commits_with(index, record_id), table, {"run_id": run_id, "record_id": record_id}, None)

    def rows(self, table: str, where: Mapping[str, object], columns: Sequence[str] | None = None) -> list[Row]:
        """Return the latest row per key that meets a condition, from the whole store, in the order of commits."""
        return self._read(self._snapshot, table, where, columns)

    def column_values(self, table: str, column: str) -> list[Any]:
        """Return all values of a column that belongs to a table's key."""
        values: list[Any] = read_table(self._snapshot, TABLES[table], None, [column])[column].to_pylist()
        return values

    def versions_of(self, record_id: str) -> list[Row]:
        """Return all rows of a record, including those that a later ingestion replaced, oldest first."""
        holding = self._commits_with("records", record_id)
        return to_rows(read_table(holding, TABLES["records"], {"record_id": record_id}, superseded=True))

    def task(self, run_id: str, record_id: str, task_id: str) -> Row | None:
        """Return the row of a task, which may belong to another record; null if there is none."""
        owners = [record_id]
        if self.outcomes(record_id)[run_id]["outcome"] != Outcome.ACCEPTED:
            where = {"run_id": run_id, "task_id": task_id}
            owners = [row["record_id"] for row in self.rows("tasks", where, ["record_id"])]
        rows = [row for owner in owners for row in self.run_rows(owner, run_id, "tasks")]
        return next((row for row in rows if row["task_id"] == task_id), None)

    def calls(self, record_id: str, identities: Iterable[str]) -> list[Row]:
        """Return the ledger rows of a record, and those of identities that were first asked for another record."""
        calls = self._calls({"record_id": record_id})
        known = {row["identity"] for row in calls}
        for identity in dict.fromkeys(identities):
            if identity not in known:
                owners = {row["record_id"] for row in self.rows("llm_calls", {"identity": identity}, ["record_id"])}
                for owner in sorted(owners, key=str):
                    calls += self._calls({"record_id": owner, "identity": identity})
        return calls

    def _calls(self, where: Mapping[str, str]) -> list[Row]:
        # Rows of the ledger never change, so a condition on other columns may come before the choice of the latest.
        table = TABLES["llm_calls"]
        holding = self._commits_with("llm_calls", where["record_id"])
        return to_rows(latest(read_table(holding, table, where, superseded=True), table.key))

    @property
    def runs(self) -> dict[str, list[Row]]:
        """The states of each run in order, without its configuration; runs in the order in which they began."""
        if self._runs is None:
            found: dict[str, list[Row]] = {}
            for row in sorted(self._read(self._snapshot, "runs", {}, _STATE), key=lambda row: row["sequence"]):
                found.setdefault(row["run_id"], []).append(row)
            self._runs = dict(sorted(found.items(), key=lambda item: (item[1][0]["at"], item[0])))
        return self._runs

    def by_age(self, run_ids: Iterable[str]) -> tuple[str, ...]:
        """Sort runs by when they began; those without a state of their own come first."""
        place = {run_id: number for number, run_id in enumerate(self.runs)}
        return tuple(sorted(run_ids, key=lambda run_id: (place.get(run_id, -1), run_id)))

    def began(self, run_id: str) -> str:
        """Return when a run began, in ISO 8601; empty if that is not known."""
        states = self.runs.get(run_id)
        return states[0]["at"].isoformat() if states else ""

    def config(self, run_id: str) -> Row:
        """Return the configuration of a run; empty if it left none."""
        rows = self.rows("runs", {"run_id": run_id}, ["sequence", "config"])
        return dict(json.loads(max(rows, key=lambda row: row["sequence"])["config"])) if rows else {}

    def selection(self, run_id: str) -> dict[str, str | None]:
        """Return the records of a run in order, each with its content hash (null if not known)."""
        rows = self.rows("runs", {"run_id": run_id, "sequence": 0}, ["selection"])
        return _selection(rows[0]["selection"]) if rows else {}

    def selected_by(self, record_id: str) -> list[str]:
        """Return the runs that selected a record."""
        data = read_table(self._snapshot, RUNS, {"sequence": 0}, ["run_id", "selection"])
        # A selection can name 100,000 records: a search for the text rules most of them out without parsing.
        likely = data.filter(pc.match_substring(data["selection"], json.dumps(record_id, ensure_ascii=False)))
        return [row["run_id"] for row in likely.to_pylist() if record_id in _selection(row["selection"])]

    def _read(
        self, snapshot: Snapshot, table: str, where: Mapping[str, object], columns: Sequence[str] | None
    ) -> list[Row]:
        return to_rows(read_table(snapshot, TABLES[table], where, columns))

    def _commits_with(self, table: str, record_id: str) -> Snapshot:
        """Return the snapshot without the commits that hold nothing of a record in a table."""
        key = (table, record_id)
        if key not in self._holding:
            paths: dict[int, list[Path]] = {}
            for sequence, path in self._snapshot.parts(table):
                paths.setdefault(sequence, []).append(path)
            kept = {sequence for sequence, parts in paths.items() if any(_may_hold(path, record_id) for path in parts)}
            manifests = tuple(manifest for manifest in self._snapshot.manifests if manifest.sequence in kept)
            self._holding[key] = replace(self._snapshot, manifests=manifests)
        return self._holding[key]


def _may_hold(path: Path, record_id: str) -> bool:
    """Whether a part may have rows of a record, according to its footer."""
    try:
        return open_part(path)[0].may_hold({"record_id": [record_id]})
    except (pa.ArrowException, OSError):
        # An unreadable footer rules nothing out: reading the part will report what is wrong with it.
        return True


def _selection(text: str | None) -> dict[str, str | None]:
    content: dict[str, str | None] = json.loads(text or "{}")
    return content
