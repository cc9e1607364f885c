"""The queries by which items under review are read from a store: accepted ones, and drafts that the judge sent back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from hazardmill.review.rubric import ItemKind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Row = dict[str, Any]

ACCEPTED_TABLES: Final = ("tasks", "scenarios", "hazard_tasks", "records")
"""The tables that the queries for accepted items read, if what the judge said is not asked."""

TABLES: Final = (*ACCEPTED_TABLES, "dangers", "drafts", "checks")
"""The tables that all queries read."""

_FETCHED: Final = 256
_LATEST: Final = "QUALIFY row_number() OVER (PARTITION BY item ORDER BY t.run_id DESC) = 1"

_ACCEPTED: Final = """
    SELECT t.{id} AS item, '{kind}' AS kind, t.run_id, t.record_id, t.source, t.draft, t.document_hash, {columns},
        r.context{{also}}
    FROM {table} AS t
    LEFT JOIN records AS r ON r.record_id = t.record_id
    {{judge}}
    WHERE ($item IS NULL OR item = $item) AND ($run IS NULL OR t.run_id = $run)
    {latest}
    ORDER BY item
"""
_TASKS: Final = _ACCEPTED.format(
    id="task_id",
    kind="task",
    table="{tasks}",
    columns="t.document, t.danger, t.danger_group, t.danger_type, t.safe_plan, t.unsafe_plan",
    latest="",
)
_JUDGED: Final = ", c.passed AS judged, c.reason AS judge_reason, c.details AS judge_details"
_JUDGE: Final = """LEFT JOIN checks AS c
        ON c.run_id = t.run_id AND c.record_id = t.record_id AND c.draft = t.draft AND c.check_name = 'judge'"""
_ALSO_OF_TASKS: Final = ", t.code, t.certificate, t.domain_pddl, t.problem_pddl, r.licence, r.attribution"

# Drafts that passed every proof and that the judge sent back: without them, nobody could say how often it is right.
# If the judge sent back the danger itself, its `dangers` row has the second formalization; `sent_back` has the first.
_SENT_BACK: Final = """
    WITH formalizations AS (
        SELECT run_id, record_id, round, danger_group, danger_type,
            to_json(struct_pack(setting, robot_role, robot_task, danger_group, danger_type,
                changing_cause := from_json(changing_cause, '["VARCHAR"]'),
                fixed_circumstances := from_json(fixed_circumstances, '["VARCHAR"]'),
                cause_of_danger, entity_in_danger, result_of_danger, danger_action, instantaneous_avoidability,
                instantaneous_solution, assumptions)) AS danger
        FROM dangers
        UNION ALL
        SELECT run_id, record_id, 1, sent_back ->> '$.danger.danger_group', sent_back ->> '$.danger.danger_type',
            sent_back -> '$.danger'
        FROM dangers
        WHERE sent_back IS NOT NULL AND round = 2
    )
    SELECT d.source || '-' || d.document_hash[:12] AS item, 'audit' AS kind, d.run_id, d.record_id, d.source, d.draft,
        d.document, d.document_hash, g.danger_group, g.danger_type,
        json_extract_string(s.details, '$.safe_plan') AS safe_plan,
        json_extract_string(s.details, '$.unsafe_plan') AS unsafe_plan,
        r.context, g.danger{also}
    FROM drafts AS d
    JOIN formalizations AS g ON g.run_id = d.run_id AND g.record_id = d.record_id
        AND g.round IS NOT DISTINCT FROM d.round
    JOIN checks AS c
        ON c.run_id = d.run_id AND c.record_id = d.record_id AND c.draft = d.draft AND c.check_name = 'judge'
    JOIN checks AS s
        ON s.run_id = d.run_id AND s.record_id = d.record_id AND s.draft = d.draft AND s.check_name = 'search'
    LEFT JOIN records AS r ON r.record_id = d.record_id
    WHERE d.failed_check = 'judge' AND d.document IS NOT NULL AND c.passed = false
        AND unsafe_plan IS NOT NULL AND g.danger_type IS NOT NULL
        AND d.document_hash NOT IN (SELECT document_hash FROM tasks)
        AND ($item IS NULL OR item = $item)
    QUALIFY row_number() OVER (PARTITION BY item ORDER BY d.run_id DESC, d.draft DESC) = 1
    ORDER BY item
"""
_ALSO_OF_DRAFTS: Final = (
    ", d.code, NULL AS certificate, NULL AS domain_pddl, NULL AS problem_pddl, r.licence, r.attribution"
)

_SCENARIOS: Final = _ACCEPTED.format(
    id="scenario_id",
    kind="scenario",
    table="scenarios",
    columns="t.scenario, t.kind AS scenario_kind, t.target, t.hazard, t.plan, t.careless_plan",
    latest=_LATEST,
)

# What the roles were shown of the categories: the map itself is in no table.
_HAZARD_TASKS: Final = _ACCEPTED.format(
    id="hazard_task_id",
    kind="hazard_task",
    table="hazard_tasks",
    columns="t.instruction, t.harm, t.categories, t.document, t.compiled, t.reference, t.witnesses, t.harmless_plan,"
    " t.is_searched, json_extract(r.facts, '$.categories') AS definitions",
    latest=_LATEST,
)
_ALSO_OF_OTHERS: Final = ", t.licence, t.attribution"

_KINDS: Final = """
    SELECT task_id, 'task' FROM tasks_latest
    UNION ALL SELECT DISTINCT scenario_id, kind FROM scenarios
    UNION ALL SELECT DISTINCT hazard_task_id, 'hazard_task' FROM hazard_tasks
"""


def select_kinds(views: DuckDBPyConnection) -> list[tuple[str, ItemKind]]:
    """Return id and kind of each task, scenario and hazard task."""
    return views.execute(_KINDS).fetchall()


def select_items(views: DuckDBPyConnection, *, whole: bool, item: str | None = None) -> Iterator[Row]:
    """Yield rows of tasks, drafts, scenarios and hazard tasks in turn, each as its latest run wrote it.

    Args:
        views: A connection with a view for each of ``TABLES``.
        whole: Whether to add the columns that only a page needs.
        item: Id of the only item to yield; None for all.
    """
    queries = [(_TASKS, _ALSO_OF_TASKS), (_SENT_BACK, _ALSO_OF_DRAFTS), *_of_others(views)]
    for query, also in queries:
        filled = query.format(also=_JUDGED + (also if whole else ""), judge=_JUDGE, tasks="tasks_latest")
        # DuckDB refuses a value that the query does not use.
        yield from _rows(views, filled, {"item": item} if query is _SENT_BACK else {"item": item, "run": None})


def select_accepted(views: DuckDBPyConnection, item: str, run: str) -> Iterator[Row]:
    """Yield the row of a task, scenario or hazard task as one run wrote it, without what the judge said.

    Args:
        views: A connection with a view for each of ``ACCEPTED_TABLES``.
        item: Id of the item.
        run: The run.
    """
    for query, also in [(_TASKS, _ALSO_OF_TASKS), *_of_others(views)]:
        yield from _rows(views, query.format(also=also, judge="", tasks="tasks"), {"item": item, "run": run})


def _of_others(views: DuckDBPyConnection) -> Iterator[tuple[str, str]]:
    for table, query in (("scenarios", _SCENARIOS), ("hazard_tasks", _HAZARD_TASKS)):
        # Most stores have none, and the query for them would read all records and checks to find that out.
        if views.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone() == (True,):
            yield query, _ALSO_OF_OTHERS


def _rows(views: DuckDBPyConnection, query: str, values: dict[str, str | None]) -> Iterator[Row]:
    cursor = views.execute(query, values)
    names = [column[0] for column in cursor.description or ()]
    while rows := cursor.fetchmany(_FETCHED):
        yield from (dict(zip(names, values, strict=True)) for values in rows)
