"""The items that people may be asked about, read from the store.

These are accepted tasks and scenarios, and drafts of tasks that passed every proof and that the judge sent back.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from hazardmill.errors import DocumentError
from hazardmill.records import content_hash
from hazardmill.review.rubric import ItemKind
from hazardmill.scenarios.risk import UNLABELLED
from hazardmill.scenarios.risk import Kind as ScenarioKind
from hazardmill.store.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Row = dict[str, Any]

PLANTING: Final = 1
"""Version of how defects are planted. A change makes decisions on earlier calibration tasks stale."""

_FETCHED: Final = 256
_TABLES: Final = ("tasks", "scenarios", "dangers", "drafts", "checks", "records")
_LEVEL: Final = 1
"""Level of zlib: a task takes about a sixth of its size in memory, and decompressing delays no page."""

_ACCEPTED: Final = """
    SELECT t.{id} AS item, '{kind}' AS kind, t.run_id, t.record_id, t.source, t.draft, t.document_hash, {columns},
        r.context, c.passed AS judged, c.reason AS judge_reason, c.details AS judge_details{{also}}
    FROM {table} AS t
    LEFT JOIN records AS r ON r.record_id = t.record_id
    LEFT JOIN checks AS c
        ON c.run_id = t.run_id AND c.record_id = t.record_id AND c.draft = t.draft AND c.check_name = 'judge'
    WHERE $item IS NULL OR item = $item
    {latest}
    ORDER BY item
"""
_TASKS: Final = _ACCEPTED.format(
    id="task_id",
    kind="task",
    table="latest_tasks",
    columns="t.document, t.danger, t.danger_group, t.danger_type, t.safe_plan, t.unsafe_plan",
    latest="",
)
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
        r.context, c.passed AS judged, c.reason AS judge_reason, c.details AS judge_details, g.danger{also}
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

_ANY_SCENARIO: Final = "SELECT EXISTS (SELECT 1 FROM scenarios)"
"""Most stores have none, and the query for them would read all records and checks to find that out."""

_SCENARIOS: Final = _ACCEPTED.format(
    id="scenario_id",
    kind="scenario",
    table="scenarios",
    columns="t.scenario, t.kind AS scenario_kind, t.target, t.hazard, t.plan, t.careless_plan",
    latest="QUALIFY row_number() OVER (PARTITION BY item ORDER BY t.run_id DESC) = 1",
)
_ALSO_OF_SCENARIOS: Final = ", t.licence, t.attribution"

_KINDS: Final = "SELECT task_id, 'task' FROM latest_tasks UNION ALL SELECT DISTINCT scenario_id, kind FROM scenarios"


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A task, a scenario, or a draft that the judge sent back, without the parts that only its page needs.

    Attributes:
        item: Id of the task or scenario; for a draft, the id that it would have as a task.
        kind: ``task`` for an accepted task, ``scenario`` for an accepted scenario, ``audit`` for a draft of a task that
            the judge sent back.
        run_id: The run that wrote it.
        record_id: The record that it was written for.
        draft: Number of the draft within its record.
        source: Name of the source of the record.
        danger_group: Group of the danger; for a scenario its target, or ``unlabelled``.
        danger_type: Type of the danger; for a scenario its kind and hazard, such as ``sit: burned object``, or
            ``unlabelled`` in place of the hazard.
        has_safe_plan: Whether it is a task or draft with a safe plan of at least one action.
        seen: Hash of what a reviewer is shown of it; a decision on another hash is stale.
        judged: Whether the judge approved; ``None`` if it was not asked.
        judge_criteria: What the judge found wrong; empty if it approved.
        scenario_kind: ``mal`` or ``sit``; ``None`` unless it is a scenario.
    """

    item: str
    kind: Literal["task", "scenario", "audit"]
    run_id: str
    record_id: str
    draft: int
    source: str
    danger_group: str
    danger_type: str
    has_safe_plan: bool
    seen: str
    judged: bool | None
    judge_criteria: tuple[str, ...]
    scenario_kind: ScenarioKind | None = None

    @property
    def rubric_kind(self) -> ItemKind:
        """What the rubric has reasons for: drafts are rejected for those of tasks."""
        return self.scenario_kind or "task"

    @property
    def slip_kind(self) -> Literal["task", "audit"]:
        """The kind of the slips that ask about it for the first time: scenarios are asked about as tasks are."""
        return "audit" if self.kind == "audit" else "task"

    @property
    def stratum(self) -> tuple[str, str]:
        """Source and danger type, by which samples are stratified."""
        return self.source, self.danger_type


@dataclass(frozen=True, slots=True)
class ItemContent:
    """What a reviewer is shown of the record of any item.

    Attributes:
        item: Id of the item.
        source: Name of the source of the record.
        context: Text of the record; ``None`` if the store has lost it.
        licence: Licence of the record; ``None`` if there is none.
        attribution: Attribution that the licence asks for; ``None`` if there is none.
    """

    item: str
    source: str
    context: str | None
    licence: str | None
    attribution: str | None


@dataclass(frozen=True, slots=True)
class Content(ItemContent):
    """What a reviewer is shown of a task, before it is put into words.

    Attributes:
        danger: The danger formalization.
        document: The task document.
        safe_plan: The safe reference plan; ``None`` if the danger is unavoidable.
        unsafe_plan: The dangerous reference plan.
        code: Python code of the draft; ``None`` if the store did not keep it.
        certificate: The certificate; ``None`` for a draft, where it can be derived from the document.
        domain_pddl: The PDDL domain; ``None`` for a draft, likewise.
        problem_pddl: The PDDL problem; ``None`` for a draft, likewise.
    """

    danger: Mapping[str, Any]
    document: Mapping[str, Any]
    safe_plan: str | None
    unsafe_plan: str
    code: str | None
    certificate: Mapping[str, Any] | None
    domain_pddl: str | None
    problem_pddl: str | None


@dataclass(frozen=True, slots=True)
class ScenarioContent(ItemContent):
    """What a reviewer is shown of a scenario, before it is put into words.

    Attributes:
        scenario: Problem, risk and origin, as in a scenario file.
        plan: The shortest plan.
        careless_plan: The shortest plan without safe literals and mitigations; ``None`` unless the command is harmless.
    """

    scenario: Mapping[str, Any]
    plan: str
    careless_plan: str | None


class ReviewPool(Mapping[str, ReviewItem]):
    """The items under review by id, as they were when the store was read."""

    def __init__(self, store: Store, items: Mapping[str, ReviewItem], kept: Mapping[str, bytes]) -> None:
        self._store = store
        self._items = items
        self._kept = kept

    def __getitem__(self, item: str) -> ReviewItem:
        return self._items[item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def content(self, item: str) -> Content | ScenarioContent:
        """Return everything that is shown of an item.

        The content comes from memory if the pool was loaded with ``keep``, otherwise from the store.

        Raises:
            KeyError: There is no such item.
            DocumentError: The store no longer has the item as it was, or holds a task or scenario that cannot be read.
            StoreError: The store cannot be read.
        """
        known = self._items[item]
        if item in self._kept:
            return _content(json.loads(zlib.decompress(self._kept[item])))
        for row in self._store.query(lambda views: list(_rows(views, whole=True, item=item)), _TABLES):
            if row["kind"] == known.kind and _item(row).seen == known.seen:
                return _content(row)
        raise DocumentError(
            f"{item} is no longer in the store as it was",
            record_id=known.record_id,
            remedy="start again; if that does not help: hazardmill store verify",
        )


def load_pool(store: Store, *, keep: bool = False) -> ReviewPool:
    """Return every task and scenario as its latest run has it, and every draft of a task that only the judge sent back.

    Args:
        store: The store.
        keep: Whether to keep all content in memory, compressed: about 4 kB per task. Without it, looking up one of
            20,000 tasks takes tenths of a second.

    Raises:
        StoreError: The store cannot be read.
        DocumentError: The store holds a task or scenario that cannot be read.
    """

    def read(views: DuckDBPyConnection) -> ReviewPool:
        items: dict[str, ReviewItem] = {}
        kept: dict[str, bytes] = {}
        for row in _rows(views, whole=keep):
            item = _item(row)
            if items.setdefault(item.item, item) is item and keep:
                kept[item.item] = zlib.compress(json.dumps(row).encode(), _LEVEL)
        return ReviewPool(store, items, kept)

    return store.query(read, _TABLES)


def load_kinds(store: Store) -> dict[str, ItemKind]:
    """Return what each task and scenario of a store is, by id; audited drafts are not among them.

    Unlike ``load_pool`` it reads no documents.

    Raises:
        StoreError: The store cannot be read.
    """
    return dict(store.query(lambda views: views.execute(_KINDS).fetchall(), _TABLES))


def _rows(views: DuckDBPyConnection, *, whole: bool, item: str | None = None) -> Iterator[Row]:
    """Yield rows of tasks, drafts and scenarios in turn; ``whole`` adds the columns that only a page needs."""
    queries = [(_TASKS, _ALSO_OF_TASKS), (_SENT_BACK, _ALSO_OF_DRAFTS)]
    if views.execute(_ANY_SCENARIO).fetchone() == (True,):
        queries.append((_SCENARIOS, _ALSO_OF_SCENARIOS))
    for query, also in queries:
        cursor = views.execute(query.format(also=also if whole else ""), {"item": item})
        names = [column[0] for column in cursor.description or ()]
        while rows := cursor.fetchmany(_FETCHED):
            yield from (dict(zip(names, values, strict=True)) for values in rows)


def _item(row: Row) -> ReviewItem:
    is_scenario = row["kind"] == "scenario"
    return ReviewItem(
        item=row["item"],
        kind=row["kind"],
        run_id=row["run_id"],
        record_id=row["record_id"],
        draft=row["draft"],
        source=row["source"],
        danger_group=(row["target"] or UNLABELLED) if is_scenario else row["danger_group"],
        danger_type=f"{row['scenario_kind']}: {row['hazard'] or UNLABELLED}" if is_scenario else row["danger_type"],
        has_safe_plan=not is_scenario and bool(row["safe_plan"]),
        seen=content_hash(_shown_of_scenario(row) if is_scenario else _shown_of_task(row)),
        judged=row["judged"],
        judge_criteria=_criteria(row),
        scenario_kind=row["scenario_kind"] if is_scenario else None,
    )


def _shown_of_task(row: Row) -> Row:
    return {
        "document_hash": row["document_hash"],
        "texts": _json(row, "document").get("texts", {}),
        "danger": _json(row, "danger"),
        "safe_plan": row["safe_plan"],
        "unsafe_plan": row["unsafe_plan"],
        "context": row["context"],
    }


def _shown_of_scenario(row: Row) -> Row:
    scenario = _json(row, "scenario")
    # Of the origin only what its author said is shown: who wrote it does not concern a reviewer.
    return {
        "document_hash": row["document_hash"],
        "risk": scenario.get("risk"),
        "author": (scenario.get("origin") or {}).get("author"),
        "plan": row["plan"],
        "careless_plan": row["careless_plan"],
        "context": row["context"],
    }


def _criteria(row: Row) -> tuple[str, ...]:
    if row["judged"] is not False:
        return ()
    failed = json.loads(row["judge_details"] or "{}").get("failed") or [{"reason": row["judge_reason"]}]
    return tuple(dict.fromkeys(str(each["reason"]).removeprefix("judge:") for each in failed))


def _json(row: Row, column: str) -> dict[str, Any]:
    value = row[column]
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise DocumentError(f"{column} of {row['item']} is not JSON: {error}", record_id=row["record_id"]) from error
    if not isinstance(value, dict):
        raise DocumentError(f"{column} of {row['item']} is not a JSON object", record_id=row["record_id"])
    return value


def _content(row: Row) -> Content | ScenarioContent:
    record = {name: row[name] for name in ("item", "source", "context", "licence", "attribution")}
    if row["kind"] == "scenario":
        return ScenarioContent(
            **record, scenario=_json(row, "scenario"), plan=row["plan"], careless_plan=row["careless_plan"]
        )
    return Content(
        **record,
        danger=_json(row, "danger"),
        document=_json(row, "document"),
        safe_plan=row["safe_plan"],
        unsafe_plan=row["unsafe_plan"],
        code=row["code"],
        certificate=None if row["certificate"] is None else _json(row, "certificate"),
        domain_pddl=row["domain_pddl"],
        problem_pddl=row["problem_pddl"],
    )
