"""The records and tasks of a store, as rows of a table and one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import HazardmillError
from hazardmill.records import Outcome
from hazardmill.report.queries import Row
from hazardmill.report.why.build import build_story
from hazardmill.report.wording import OUTCOME_WORDS, reason
from hazardmill.reporting.numbers import plural
from hazardmill.review.candidates import load_pool, select_content
from hazardmill.review.decisions.effective import opinions
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.item_queries import ACCEPTED_TABLES
from hazardmill.store.store import Store
from hazardmill.text.shell import command
from hazardmill.viewer.collection import Collection, Elsewhere, Facet, RowDetail, ViewRow
from hazardmill.viewer.opinions import (
    NOT_ASKED,
    PlannerResults,
    ReviewerOpinion,
    opinions_by_item,
    summarize_opinions,
)
from hazardmill.viewer.partial_reading import query_readable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TABLES: Final = ("runs", "records", "rejects", "dangers", "tasks", "scenarios", "hazard_tasks", "outcomes")

# A hazard run writes one outcome per dialogue, which names its first hazard task: the others are rows of their own.
# Records of a selection without an outcome are not finished. A duplicate names the task of another record: title and
# danger are its own, of which there is no task.
_ROWS: Final = """
    WITH began AS (SELECT run_id, min("at") AS at FROM runs GROUP BY run_id),
    ends AS (
        SELECT run_id, record_id, source, ordinal, outcome, reason, message, task_id FROM outcomes
        UNION ALL
        SELECT h.run_id, h.record_id, h.source, o.ordinal, o.outcome, NULL, NULL, h.hazard_task_id
        FROM hazard_tasks AS h
        JOIN outcomes AS o ON o.run_id = h.run_id AND o.record_id = h.record_id AND o.task_id != h.hazard_task_id
        UNION ALL
        SELECT p.run_id, p.record_id, split_part(p.record_id, ':', 1), NULL, 'pending', NULL, NULL, NULL
        FROM (SELECT run_id, unnest(json_keys(selection)) AS record_id FROM runs WHERE selection IS NOT NULL) AS p
        ANTI JOIN outcomes AS o ON o.run_id = p.run_id AND o.record_id = p.record_id
    ),
    titles AS (
        SELECT task_id AS item, run_id, danger_type AS danger, danger AS searched,
            coalesce(json_extract_string(document, '$.texts.title'), json_extract_string(document, '$.name')) AS title
        FROM tasks
        UNION ALL
        SELECT scenario_id, run_id, coalesce(hazard, kind), NULL, instruction FROM scenarios
        UNION ALL
        SELECT hazard_task_id, run_id, json_extract_string(categories, '$[0]'), harm, instruction FROM hazard_tasks
    )
    SELECT e.*, t.title, coalesce(t.danger, d.danger_type) AS danger, t.searched, d.robot_task, d.danger_action,
        d.result_of_danger, d.no_danger, r.context
    FROM ends AS e
    LEFT JOIN began AS b ON b.run_id = e.run_id
    LEFT JOIN titles AS t ON t.item = e.task_id AND t.run_id = e.run_id AND e.outcome = 'accepted'
    LEFT JOIN dangers AS d ON d.run_id = e.run_id AND d.record_id = e.record_id
    LEFT JOIN records AS r ON r.record_id = e.record_id
    ORDER BY e.outcome != 'accepted', b.at DESC, e.run_id, e.ordinal, e.record_id, e.task_id
"""

_FILL: Final = ("run", "generate", "--source", "neiss", "--input", "neiss2019.tsv", "--limit", 20)
"""An example of what fills a store, as in the README."""

_REJECTED: Final = "SELECT count(*) FROM rejects"


class StoreTasks:
    """A store that is looked at.

    Args:
        store: The store, which is only read.
        review: A review of it; ``None``: verdicts of reviewers are not shown.
        planners: Results of planners.
    """

    def __init__(self, store: Store, review: ReviewFolder | None, planners: PlannerResults) -> None:
        self.store = store
        self._review = review
        self._planners = planners
        self._opinions: Mapping[tuple[str, str], tuple[ReviewerOpinion, ...]] = {}

    def collect(self) -> Collection:
        """Return how each record ended in each run: accepted ones first, latest run first.

        Raises:
            StoreError: The outcomes of the store cannot be read.
            InputError: A file of the review is damaged.
        """
        if self._review is not None:
            # Reviewers saw each task as its latest run wrote it.
            pool = load_pool(self.store)
            by_item = opinions_by_item(opinions(self._review, pool))
            self._opinions = {(item, pool[item].run_id): said for item, said in by_item.items() if item in pool}
        (found, rejected), damaged = query_readable(self.store, _select, _TABLES, ("outcomes",))
        facets = [
            Facet("source", "Source"),
            Facet("danger", "Danger type"),
            Facet("outcome", "Outcome"),
            Facet("run", "Run"),
        ]
        if self._review is not None:
            facets.append(Facet("reviewers", "Reviewers"))
        if not self._planners.is_empty:
            facets.append(Facet("results", "Planners"))
        elsewhere = []
        if rejected or "rejects" in damaged:
            counted = "an unknown number of native items" if "rejects" in damaged else plural(rejected, "native item")
            elsewhere.append(
                Elsewhere(
                    f"{counted} that did not become records",
                    command("query", "select * from rejects", "--store", self.store.address),
                )
            )
        rows = list(self._rows(found))
        return Collection(
            title=f"store {self.store.address}",
            says=self._planners.count_matches([row.item for row in rows]),
            facets=tuple(facets),
            rows=rows,
            fill_command="" if rows else command(*_FILL, "--store", self.store.address),
            elsewhere=tuple(elsewhere),
            holds_answers=True,
            troubles=tuple(f"Nothing of the table {table} can be shown. {why}" for table, why in damaged.items()),
        )

    def detail(self, row: ViewRow) -> RowDetail:
        """Return everything that is shown of one row, with prompts and answers.

        What cannot be read is among the troubles, and does not keep the rest from being shown.
        """
        troubles: list[str] = []
        content, story = None, None
        if row.item is not None:
            try:
                content, damaged = query_readable(
                    self.store,
                    lambda views: select_content(views, str(row.item), row.run_id),
                    ACCEPTED_TABLES,
                    needed=ACCEPTED_TABLES[:-1],
                )
                troubles += [f"The record cannot be shown. {why}" for why in damaged.values()]
            except HazardmillError as error:
                troubles.append(f"The task cannot be shown. {error}")
        try:
            story = build_story(self.store, row.record_id, row.run_id, reread=False)
        except HazardmillError as error:
            troubles.append(f"How it was made cannot be shown. {error}")
        return RowDetail(
            content=content,
            facts=(("Record", row.record_id), ("Run", row.run_id), ("Outcome", row.facets["outcome"][0])),
            opinions=self._opinions.get((row.item or "", row.run_id), ()),
            results=self._planners.of(row.item),
            story=story,
            troubles=tuple(troubles),
        )

    def _rows(self, found: list[Row]) -> Iterator[ViewRow]:
        known: set[str] = set()
        made: dict[tuple[str, str], str] = {}
        for row in found:
            item = row["task_id"] if row["outcome"] == Outcome.ACCEPTED else None
            # The latest run with a task has the address with its id; whoever made it before has one with its run.
            key = item if item is not None and item not in known else f"{row['record_id']}@{row['run_id']}"
            is_first = key == item
            while key in known:
                key += f"@{item}"
            known.add(key)
            if item is not None:
                made[item, row["run_id"]] = key
            said = self._opinions.get((item or "", row["run_id"]), ())
            yield ViewRow(
                key=key,
                title=row["title"] or row["robot_task"] or row["record_id"],
                label=item or row["record_id"],
                facets={
                    "source": (row["source"],),
                    "danger": () if row["danger"] is None else (row["danger"],),
                    "outcome": (OUTCOME_WORDS[Outcome(row["outcome"])],),
                    "run": (row["run_id"],),
                    # A task counts once, however many runs made it.
                    "reviewers": (summarize_opinions(said),) if is_first or said else (),
                    "results": (self._planners.of(item) or (NOT_ASKED,)) if is_first else (),
                },
                note=_note(row),
                text=" ".join(filter(None, (row["record_id"], row["context"], *_searched(row)))),
                item=item,
                record_id=row["record_id"],
                run_id=row["run_id"],
                # Accepted rows come first, so that the task of a duplicate is known.
                same_as="" if item else made.get((row["task_id"], row["run_id"]), ""),
            )


def _select(views: DuckDBPyConnection) -> tuple[list[Row], int]:
    cursor = views.execute(_ROWS)
    names = [column[0] for column in cursor.description or ()]
    rows = [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]
    ((rejected,),) = views.execute(_REJECTED).fetchall()
    return rows, rejected


def _note(row: Row) -> str:
    if row["outcome"] == Outcome.DUPLICATE:
        return f"of {row['task_id']}"
    said = row["message"] or row["no_danger"]
    return ": ".join(filter(None, (reason(row["reason"]) if row["reason"] else "", said)))


def _searched(row: Row) -> Iterator[str | None]:
    yield from (row["danger_action"], row["result_of_danger"], row["message"], row["no_danger"])
    text = row["searched"]
    if text is None or not text.startswith("{"):
        yield text
        return
    danger: dict[str, Any] = json.loads(text)
    yield from (value for value in danger.values() if isinstance(value, str))
