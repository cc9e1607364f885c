"""The items that people may be asked about, read from the store.

These are accepted tasks, scenarios and hazard tasks, and drafts of tasks that passed every proof and that the judge
sent back.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from hazardmill.errors import DocumentError
from hazardmill.records import content_hash
from hazardmill.review.item_queries import TABLES, Row, select_accepted, select_items, select_kinds
from hazardmill.review.rubric import ItemKind
from hazardmill.scenarios.risk import UNLABELLED
from hazardmill.scenarios.risk import Kind as ScenarioKind
from hazardmill.store.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TOLD: Final = ("instruction", "harm", "reference", "harmless_plan", "is_searched")
"""Columns of a hazard task that a reviewer is shown as they are."""

_LEVEL: Final = 1
"""Level of zlib: a task takes about a sixth of its size in memory, and decompressing delays no page."""

PLANTING: Final = 1
"""Version of how defects are planted. A change makes decisions on earlier calibration tasks stale."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A task, scenario or hazard task, or a draft that the judge sent back, without what only its page needs.

    Attributes:
        item: Id of the task, scenario or hazard task; for a draft, the id that it would have as a task.
        kind: ``task``, ``scenario`` or ``hazard_task`` for what was accepted as such, ``audit`` for a draft of a task
            that the judge sent back.
        run_id: The run that wrote it.
        record_id: The record that it was written for.
        draft: Number of the draft within its record.
        source: Name of the source of the record.
        danger_group: Group of the danger; for a scenario its target, or ``unlabelled``; for a hazard task empty.
        danger_type: Type of the danger; for a scenario its kind and hazard, such as ``sit: burned object``, or
            ``unlabelled`` in place of the hazard; for a hazard task its first category.
        has_safe_plan: Whether it is a task or draft with a safe plan of at least one action.
        seen: Hash of what a reviewer is shown of it; a decision on another hash is stale.
        judged: Whether the judge approved; ``None`` if it was not asked.
        judge_criteria: What the judge found wrong; empty if it approved.
        scenario_kind: ``mal`` or ``sit``; ``None`` unless it is a scenario.
    """

    item: str
    kind: Literal["task", "scenario", "hazard_task", "audit"]
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
        return "hazard_task" if self.kind == "hazard_task" else self.scenario_kind or "task"

    @property
    def slip_kind(self) -> Literal["task", "audit"]:
        """The kind of the slips that ask about it for the first time: only drafts are not asked about as tasks are."""
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


@dataclass(frozen=True, slots=True)
class HazardTaskContent(ItemContent):
    """What a reviewer is shown of a hazard task, before it is put into words.

    Attributes:
        instruction: What the robot is asked to do.
        harm: The harm, as its proposer says; ``None`` if it does not say.
        categories: The categories of harm that some plan does.
        definitions: Categories of the map as the roles were shown them; empty if the store has lost the dialogue.
        document: The planning problem.
        compiled: The same with what the map calls harm as danger entries.
        reference: The reference script.
        witnesses: By category, a plan to the goal that does its harm.
        harmless_plan: The shortest plan that does no harm; ``None`` if there is none, or none is known.
        is_searched: Whether the search for it ended, so that ``None`` is a proof.
    """

    instruction: str
    harm: str | None
    categories: tuple[str, ...]
    definitions: tuple[Mapping[str, Any], ...]
    document: Mapping[str, Any]
    compiled: Mapping[str, Any]
    reference: str
    witnesses: Mapping[str, str]
    harmless_plan: str | None
    is_searched: bool


AnyContent: TypeAlias = Content | ScenarioContent | HazardTaskContent


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

    def content(self, item: str) -> AnyContent:
        """Return everything that is shown of an item.

        The content comes from memory if the pool was loaded with ``keep``, otherwise from the store.

        Raises:
            KeyError: There is no such item.
            DocumentError: The store no longer has the item as it was, or holds an item that cannot be read.
            StoreError: The store cannot be read.
        """
        known = self._items[item]
        if item in self._kept:
            return _content(json.loads(zlib.decompress(self._kept[item])))
        for row in self._store.query(lambda views: list(select_items(views, whole=True, item=item)), TABLES):
            if row["kind"] == known.kind and _item(row).seen == known.seen:
                return _content(row)
        raise DocumentError(
            f"{item} is no longer in the store as it was",
            record_id=known.record_id,
            remedy="start again; if that does not help: hazardmill store verify",
        )


def load_pool(store: Store, *, keep: bool = False) -> ReviewPool:
    """Return every task, scenario and hazard task of its latest run, and drafts of tasks that only the judge sent back.

    Args:
        store: The store.
        keep: Whether to keep all content in memory, compressed: about 4 kB per task. Without it, looking up one of
            20,000 tasks takes tenths of a second.

    Raises:
        StoreError: The store cannot be read.
        DocumentError: The store holds an item that cannot be read.
    """

    def read(views: DuckDBPyConnection) -> ReviewPool:
        items: dict[str, ReviewItem] = {}
        kept: dict[str, bytes] = {}
        for row in select_items(views, whole=keep):
            item = _item(row)
            if items.setdefault(item.item, item) is item and keep:
                kept[item.item] = zlib.compress(json.dumps(row).encode(), _LEVEL)
        return ReviewPool(store, items, kept)

    return store.query(read, TABLES)


def load_kinds(store: Store) -> dict[str, ItemKind]:
    """Return what each task, scenario and hazard task of a store is, by id; audited drafts are not among them.

    Unlike ``load_pool`` it reads no documents.

    Raises:
        StoreError: The store cannot be read.
    """
    return dict(store.query(select_kinds, TABLES))


def select_content(views: DuckDBPyConnection, item: str, run: str) -> AnyContent | None:
    """Return everything that is shown of one accepted task, scenario or hazard task, as one run wrote it.

    Args:
        views: A connection to a store, with a view for each of ``item_queries.ACCEPTED_TABLES``.
        item: Its id.
        run: The run.

    Returns:
        The content; None if nothing that the run accepted has the id.

    Raises:
        DocumentError: The store holds an item that cannot be read.
    """
    row = next(select_accepted(views, item, run), None)
    return None if row is None else _content(row)


def _item(row: Row) -> ReviewItem:
    kind = row["kind"]
    group, danger_type = _GROUPED.get(kind, _group_of_task)(row)
    return ReviewItem(
        item=row["item"],
        kind=kind,
        run_id=row["run_id"],
        record_id=row["record_id"],
        draft=row["draft"],
        source=row["source"],
        danger_group=group,
        danger_type=danger_type,
        has_safe_plan=kind in ("task", "audit") and bool(row["safe_plan"]),
        seen=content_hash(_SHOWN.get(kind, _shown_of_task)(row)),
        judged=row["judged"],
        judge_criteria=_criteria(row),
        scenario_kind=row["scenario_kind"] if kind == "scenario" else None,
    )


def _group_of_task(row: Row) -> tuple[str, str]:
    return row["danger_group"], row["danger_type"]


def _group_of_scenario(row: Row) -> tuple[str, str]:
    return row["target"] or UNLABELLED, f"{row['scenario_kind']}: {row['hazard'] or UNLABELLED}"


def _group_of_hazard_task(row: Row) -> tuple[str, str]:
    return "", next(iter(_list(row, "categories")), UNLABELLED)


_GROUPED: Final = {"scenario": _group_of_scenario, "hazard_task": _group_of_hazard_task}
"""How danger group and type of what is no task are told."""


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


def _shown_of_hazard_task(row: Row) -> Row:
    return {
        "document_hash": row["document_hash"],
        "harmful": _json(row, "compiled").get("dangers"),
        "categories": _list(row, "categories"),
        "definitions": _definitions(row),
        "witnesses": _json(row, "witnesses"),
        "context": row["context"],
        **{name: row[name] for name in _TOLD},
    }


_SHOWN: Final = {"scenario": _shown_of_scenario, "hazard_task": _shown_of_hazard_task}
"""How what a reviewer is shown of what is no task is collected, for its hash."""


def _definitions(row: Row) -> list[Any]:
    """Return the categories of the map, in the order of the map; empty if the store has lost the dialogue."""
    return [] if row["definitions"] is None else _list(row, "definitions")


def _criteria(row: Row) -> tuple[str, ...]:
    if row["judged"] is not False:
        return ()
    failed = json.loads(row["judge_details"] or "{}").get("failed") or [{"reason": row["judge_reason"]}]
    return tuple(dict.fromkeys(str(each["reason"]).removeprefix("judge:") for each in failed))


def _json(row: Row, column: str) -> dict[str, Any]:
    value = _parsed(row, column)
    if not isinstance(value, dict):
        raise DocumentError(f"{column} of {row['item']} is not a JSON object", record_id=row["record_id"])
    return value


def _list(row: Row, column: str) -> list[Any]:
    value = _parsed(row, column)
    if not isinstance(value, list):
        raise DocumentError(f"{column} of {row['item']} is not a JSON list", record_id=row["record_id"])
    return value


def _parsed(row: Row, column: str) -> object:
    value = row[column]
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise DocumentError(f"{column} of {row['item']} is not JSON: {error}", record_id=row["record_id"]) from error


def _content(row: Row) -> AnyContent:
    record = {name: row[name] for name in ("item", "source", "context", "licence", "attribution")}
    if row["kind"] == "scenario":
        return ScenarioContent(
            **record, scenario=_json(row, "scenario"), plan=row["plan"], careless_plan=row["careless_plan"]
        )
    if row["kind"] == "hazard_task":
        return HazardTaskContent(
            **record,
            **{name: row[name] for name in _TOLD},
            categories=tuple(_list(row, "categories")),
            definitions=tuple(_definitions(row)),
            document=_json(row, "document"),
            compiled=_json(row, "compiled"),
            witnesses=_json(row, "witnesses"),
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
