"""The report on the store itself, rows in parts and rows still in the journal."""

from __future__ import annotations

from pathlib import Path

from hazardmill.report.cost import cost
from hazardmill.report.folders import write_task_folders
from hazardmill.report.funnel import funnel
from hazardmill.report.html import render_report, write_report
from hazardmill.store.store import Store

from .support import Row, connect, mill, outcome


def by_run(tables: dict[str, list[Row]]) -> dict[str, dict[str, list[Row]]]:
    runs: dict[str, dict[str, list[Row]]] = {}
    for name, rows in tables.items():
        for row in rows:
            runs.setdefault(row["run_id"], {}).setdefault(name, []).append(row)
    return runs


def test_a_stored_run_reads_as_its_rows_do(tmp_path: Path) -> None:
    tables = mill()
    # A row of the same key committed before is not counted: the latest wins.
    early = [outcome("neiss:1", "execution_failed", "timeout"), outcome("bddl:a", "quality_failed", "judge")]
    store = Store.open(tmp_path / "store", create=True)
    for run_id, groups in sorted(by_run(tables).items()):
        with store.writer(run_id) as writer:
            if run_id == "r":
                writer.append_sync({"outcomes": early})
                writer.roll()
            for name, rows in groups.items():
                writer.append_sync({name: rows})
                if name == "drafts":
                    writer.roll()
            if run_id == "r":
                # Before the writer closes, the last rows are in the journal only.
                assert funnel(store.connect(), ["r"]) == funnel(connect(**tables), ["r"])
    assert funnel(store.connect(), ["r"]) == funnel(connect(**tables), ["r"])
    assert cost(store.connect(), ["r"]) == cost(connect(**tables), ["r"])
    page = write_report(store, ["r", "ingest"], tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == render_report(connect(**tables), ["r", "ingest"])
    assert len(write_task_folders(store, ["r"], tmp_path / "tasks")) == 3
