"""Reads the rows of one record, at one moment of the store.

A store can have thousands of parts. Which of them may hold a record is told by the statistics in their footers, so
that the others are not read; and since all that is made of a record is committed together, the commits that hold its
outcomes hold the rest of it. Answers and documents are only read of this record.
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
    """A store at one moment, for several reads that must agree."""

    def __init__(self, store: Store, snapshot: Snapshot) -> None:
        self.store = store
        self._snapshot = snapshot
        self._outcomes: dict[str, dict[str, Row]] = {}
        self._holding: dict[tuple[str, str], Snapshot] = {}
        self._runs: dict[str, list[Row]] | None = None

    def outcomes(self, record_id: str) -> dict[str, Row]:
        """Where a record ended, by run."""
        if record_id not in self._outcomes:
            holding = self._commits_with("outcomes", record_id)
            rows = self._read(holding, "outcomes", {"record_id": record_id}, None)
            self._outcomes[record_id] = {row["run_id"]: row for row in rows}
        return self._outcomes[record_id]

    def run_rows(self, record_id: str, run_id: str, table: str) -> list[Row]:
        """What a run made of a record: its latest rows in a table, in the order of commits."""
        # Without an outcome, all that there may be is the rest of a loss.
        index = "outcomes" if run_id in self.outcomes(record_id) else table
        return self._read(self._commits_with(index, record_id), table, {"run_id": run_id, "record_id": record_id}, None)

    def rows(self, table: str, where: Mapping[str, object], columns: Sequence[str] | None = None) -> list[Row]:
        """The latest row of each key that meets a condition, wherever it is, in the order of commits."""
        return self._read(self._snapshot, table, where, columns)

    def column_values(self, table: str, column: str) -> list[Any]:
        """Every value of one column of a key."""
        values: list[Any] = read_table(self._snapshot, TABLES[table], None, [column])[column].to_pylist()
        return values

    def versions_of(self, record_id: str) -> list[Row]:
        """Every row of a record, those that a later ingest replaced too, oldest first."""
        holding = self._commits_with("records", record_id)
        return to_rows(read_table(holding, TABLES["records"], {"record_id": record_id}, superseded=True))

    def task(self, run_id: str, record_id: str, task_id: str) -> Row | None:
        """The row of a task, which may be another record's."""
        owners = [record_id]
        if self.outcomes(record_id)[run_id]["outcome"] != Outcome.ACCEPTED:
            where = {"run_id": run_id, "task_id": task_id}
            owners = [row["record_id"] for row in self.rows("tasks", where, ["record_id"])]
        rows = [row for owner in owners for row in self.run_rows(owner, run_id, "tasks")]
        return next((row for row in rows if row["task_id"] == task_id), None)

    def calls(self, record_id: str, identities: Iterable[str]) -> list[Row]:
        """Ledger rows of a record, and of identities that were first asked for another one."""
        calls = self._calls({"record_id": record_id})
        known = {row["identity"] for row in calls}
        for identity in dict.fromkeys(identities):
            if identity not in known:
                owners = {row["record_id"] for row in self.rows("llm_calls", {"identity": identity}, ["record_id"])}
                for owner in sorted(owners, key=str):
                    calls += self._calls({"record_id": owner, "identity": identity})
        return calls

    def _calls(self, where: Mapping[str, str]) -> list[Row]:
        # Rows of the ledger never change, so that a condition outside the key may come before the choice of the latest.
        table = TABLES["llm_calls"]
        holding = self._commits_with("llm_calls", where["record_id"])
        return to_rows(latest(read_table(holding, table, where, superseded=True), table.key))

    @property
    def runs(self) -> dict[str, list[Row]]:
        """The states of each run in order, without configuration; the run that began first comes first."""
        if self._runs is None:
            found: dict[str, list[Row]] = {}
            for row in sorted(self._read(self._snapshot, "runs", {}, _STATE), key=lambda row: row["sequence"]):
                found.setdefault(row["run_id"], []).append(row)
            self._runs = dict(sorted(found.items(), key=lambda item: (item[1][0]["at"], item[0])))
        return self._runs

    def by_age(self, run_ids: Iterable[str]) -> tuple[str, ...]:
        """Runs, the one that began first first; one that has left no state of its own comes before."""
        place = {run_id: number for number, run_id in enumerate(self.runs)}
        return tuple(sorted(run_ids, key=lambda run_id: (place.get(run_id, -1), run_id)))

    def began(self, run_id: str) -> str:
        """When a run began, ISO 8601; empty where that is not known."""
        states = self.runs.get(run_id)
        return states[0]["at"].isoformat() if states else ""

    def config(self, run_id: str) -> Row:
        """The configuration of a run; empty where it has left none."""
        rows = self.rows("runs", {"run_id": run_id}, ["sequence", "config"])
        return dict(json.loads(max(rows, key=lambda row: row["sequence"])["config"])) if rows else {}

    def selection(self, run_id: str) -> dict[str, str | None]:
        """The records of a run in order, each with its content hash, null where that is not known."""
        rows = self.rows("runs", {"run_id": run_id, "sequence": 0}, ["selection"])
        return _selection(rows[0]["selection"]) if rows else {}

    def selected_by(self, record_id: str) -> list[str]:
        """The runs that were to work on a record."""
        data = read_table(self._snapshot, RUNS, {"sequence": 0}, ["run_id", "selection"])
        # A selection can name 100,000 records: most are told off without being parsed.
        likely = data.filter(pc.match_substring(data["selection"], json.dumps(record_id, ensure_ascii=False)))
        return [row["run_id"] for row in likely.to_pylist() if record_id in _selection(row["selection"])]

    def _read(
        self, snapshot: Snapshot, table: str, where: Mapping[str, object], columns: Sequence[str] | None
    ) -> list[Row]:
        return to_rows(read_table(snapshot, TABLES[table], where, columns))

    def _commits_with(self, table: str, record_id: str) -> Snapshot:
        """The store without the commits that hold nothing of a record in a table."""
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
    """Whether a part may have rows of a record, as far as its footer tells."""
    try:
        return open_part(path)[0].may_hold({"record_id": [record_id]})
    except (pa.ArrowException, OSError):
        # What cannot be told is read; reading says what is wrong with it, or that it is gone.
        return True


def _selection(text: str | None) -> dict[str, str | None]:
    content: dict[str, str | None] = json.loads(text or "{}")
    return content
