"""The page: one self-contained file with funnel, cost, figures and some tasks in full. No script, nothing loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hazardmill import __version__
from hazardmill.errors import StoreError
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.report import showcase, tables
from hazardmill.report.cost import cost
from hazardmill.report.figures import all_figures
from hazardmill.report.funnel import funnel
from hazardmill.report.queries import Readable, Row, latest_tasks, select
from hazardmill.report.wording import NONE, count, share, usd_per_task

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TEMPLATES: Final = Path(__file__).resolve().parent / "templates"


def write_report(store: Readable, run_ids: Sequence[str], path: Path) -> Path:
    """Write the page of some runs.

    Args:
        store: Where the runs are.
        run_ids: The runs, oldest first; runs of ingestion may be among them.
        path: The file to write; its folder is made.

    Returns:
        The path.

    Raises:
        StoreError: The file cannot be written.
        DocumentError: The store holds a task that this version cannot read.
    """
    with store.connect() as connection:
        page = render_report(connection, run_ids)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(page, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise StoreError(
            f"cannot write the report: {error.strerror or error}",
            file=str(path),
            remedy="name a file in a folder that can be written",
        ) from error
    return path


def render_report(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> str:
    """The page as HTML; ``connection`` has one view a table."""
    found, spent = funnel(connection, run_ids), cost(connection, run_ids)
    tasks = latest_tasks(connection, run_ids, _TASK_COLUMNS)
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        runs=_runs(connection, run_ids),
        offline=_answered_offline(connection, run_ids),
        headline=[
            (count(found.total.records), "records"),
            (count(spent.accepted), "accepted tasks"),
            (share(found.total.share_accepted), "of finished records accepted"),
            (usd_per_task(spent), "USD a validated task"),
        ],
        way=tables.way(found),
        lost=[place for place, (_, words) in enumerate(tables.WAY) if words.startswith("-")],
        losses=tables.losses(found),
        failures=tables.draft_failures(found),
        yields=tables.yields(found),
        notes=tables.notes(found),
        balanced=not found.balance(),
        price=tables.cost_of_task(spent),
        spend=tables.spend(spent),
        figures=all_figures(found, spent, tasks),
        shown=showcase.show(connection, run_ids, tasks),
        version=__version__,
        # Not `none`: to a template that is null.
        blank=NONE,
    )


_TASK_COLUMNS: Final = "run_id, task_id, source, danger_group, danger_type, plan_length, safety_effort"
# A time is read as microseconds: DuckDB's own objects for times with a zone need a package that we do not have.
_RUNS: Final = """
    SELECT run_id, arg_max(kind, sequence) AS kind, arg_max(state, sequence) AS state,
           arg_max(config, sequence) AS config,
           strftime(make_timestamp(epoch_us(min("at"))), '%Y-%m-%d %H:%M UTC') AS began,
           string_agg(DISTINCT hazardmill_version, ', ' ORDER BY hazardmill_version) AS versions
    FROM runs WHERE list_contains($runs, run_id) GROUP BY run_id ORDER BY min("at"), run_id
"""
_MODELS: Final = """
    SELECT run_id, list(DISTINCT model_answered ORDER BY model_answered) AS models,
           list(DISTINCT backend ORDER BY backend) AS backends,
           list(DISTINCT jail_profile ORDER BY jail_profile) AS jails
    FROM (
        SELECT run_id, model_answered, backend, jail_profile FROM dangers WHERE list_contains($runs, run_id)
        UNION SELECT run_id, model_answered, backend, jail_profile FROM drafts WHERE list_contains($runs, run_id)
        UNION SELECT run_id, model_answered, backend, jail_profile FROM tasks WHERE list_contains($runs, run_id)
        UNION SELECT run_id, model_answered, backend, jail_profile FROM llm_calls WHERE list_contains($runs, run_id)
    ) GROUP BY run_id
"""


def _runs(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> list[Row]:
    """What is known of each run; a run without a row of its own is named all the same."""
    answered = {row["run_id"]: row for row in select(connection, _MODELS, run_ids)}
    known = {row["run_id"]: row for row in select(connection, _RUNS, run_ids)}
    blank: dict[str, Any] = {"kind": None, "state": None, "config": "{}", "began": None, "versions": None}
    runs = []
    for run_id in [*known, *(run_id for run_id in run_ids if run_id not in known)]:
        row = known.get(run_id, blank)
        made = answered.get(run_id, {})
        runs.append(
            {
                **row,
                "run_id": run_id,
                "config": json.dumps(json.loads(row["config"]), indent=2, ensure_ascii=False),
                **{part: ", ".join(filter(None, made.get(part) or ())) for part in ("models", "backends", "jails")},
            }
        )
    return runs


def _answered_offline(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> bool:
    return any(OFFLINE_MODEL in (row["models"] or ()) for row in select(connection, _MODELS, run_ids))
