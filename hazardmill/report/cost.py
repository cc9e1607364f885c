"""Add up what the requests of some runs cost. Unknown parts are counted beside a sum, never taken as zero."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.llm.ledger import IN_FLIGHT
from hazardmill.records import FrozenModel
from hazardmill.report.queries import Row, latest_others, latest_tasks, select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COST_TABLES: Final = ("llm_calls", "dangers", "drafts", "tasks", "scenarios", "hazard_tasks")
"""The tables that ``cost`` reads."""


class Sum(FrozenModel):
    """A sum some of whose parts may be unknown.

    Attributes:
        known: Sum of the known parts; null if all parts are unknown, zero if there are none.
        unknown: Number of unknown parts.
    """

    known: int | float | None
    unknown: int

    @classmethod
    def of(cls, parts: Iterable[float | None]) -> Sum:
        """Return the sum of some parts; a part that is null is unknown.

        Integers stay integers; floats are added exactly (``math.fsum``), so that their order does not matter.
        """
        parts = list(parts)
        known = [part for part in parts if part is not None]
        add = sum if all(isinstance(part, int) for part in known) else math.fsum
        return cls(known=add(known) if known or not parts else None, unknown=len(parts) - len(known))


class Spend(FrozenModel):
    """Attempts at requests, and the tokens and US dollars that they took.

    Attributes:
        attempts: Number of attempts.
        failed: Attempts that ended without an answer.
        in_flight: Attempts whose end is not known: they are under way, or the process was killed.
        prompt_tokens: Tokens in, as the provider counted them; so are the other tokens.
        cached_tokens: Those tokens in that the provider read from its cache.
        completion_tokens: Tokens out.
        usd: Cost.
        usd_upper: Upper bound of the cost: the cost where it is known, else the amount that was reserved.
        usd_overrun: Cost beyond what the budget had reserved.
        overruns: Attempts that cost more than was reserved for them.
        cache_hit_share: Cached share of the tokens in, over the attempts where both are known; null if there are none.
    """

    attempts: int
    failed: int
    in_flight: int
    prompt_tokens: Sum
    cached_tokens: Sum
    completion_tokens: Sum
    usd: Sum
    usd_upper: Sum
    usd_overrun: Sum
    overruns: int
    cache_hit_share: float | None

    @classmethod
    def of(cls, attempts: Sequence[Row]) -> Spend:
        """Add up rows of the ledger, one per attempt."""
        over = [a["usd_overrun"] for a in attempts if a["usd_overrun"] is not None]
        both = [a for a in attempts if a["prompt_tokens"] is not None and a["cached_tokens"] is not None]
        prompt = sum(a["prompt_tokens"] for a in both)
        return cls(
            attempts=len(attempts),
            failed=sum(not a["answered"] and a["error"] != IN_FLIGHT for a in attempts),
            in_flight=sum(a["error"] == IN_FLIGHT for a in attempts),
            prompt_tokens=Sum.of(a["prompt_tokens"] for a in attempts),
            cached_tokens=Sum.of(a["cached_tokens"] for a in attempts),
            completion_tokens=Sum.of(a["completion_tokens"] for a in attempts),
            usd=Sum.of(a["usd"] for a in attempts),
            usd_upper=Sum.of(a["usd_upper"] for a in attempts),
            usd_overrun=Sum.of(over),
            overruns=len(over),
            cache_hit_share=sum(a["cached_tokens"] for a in both) / prompt if prompt else None,
        )


class AmortisedCost(FrozenModel):
    """What some requests cost, spread over the tasks that came of them.

    Attributes:
        usd: US dollars of all attempts, failed ones included, whichever run paid.
        tasks: Number of tasks.
    """

    usd: Sum
    tasks: int

    @property
    def usd_per_task(self) -> float | None:
        """Dollars per task: a lower bound while ``usd.unknown`` is not zero; null without tasks or known prices."""
        return self.usd.known / self.tasks if self.tasks and self.usd.known is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, with the price per task."""
        return {**self.model_dump(mode="json"), "usd_per_task": self.usd_per_task}


class DraftCost(AmortisedCost):
    """What the drafts with one number cost, such as all third drafts.

    Comparing its price per task with that of all drafts shows whether one more draft is worth its price. ``tasks``
    counts the tasks accepted at this number; ``usd`` is what its drafts and judging them took.
    """

    number: int
    made: int
    """Drafts with this number."""


class Cost(FrozenModel):
    """What the requests of some runs cost, in US dollars, tokens and attempts.

    Where a key of a mapping is null, the requests were made for no single record, or outside drafts.
    """

    run_ids: tuple[str, ...]
    paid: Spend
    """Attempts that these runs made and paid for."""
    reused: Spend
    """Attempts that were paid for earlier: by other runs whose answers these runs used, or before a replay.

    Each answer counts once. What another run paid for an answer that these runs did not use is left out.
    """
    by_stage: dict[str, Spend]
    by_source: dict[str | None, Spend]
    """Null: requests that were made for no single record."""
    by_draft: dict[int | None, Spend]
    """Null: requests outside drafts, such as extraction."""
    task_by_stage: dict[str, AmortisedCost]
    """Cost per validated task, by stage."""
    task_by_source: dict[str | None, AmortisedCost]
    """Cost per validated task, by source; null: requests that were made for no single record."""
    task_by_draft: tuple[DraftCost, ...]
    """By number. Requests before the first draft, such as extraction, are not included."""
    whole: Sum
    """Dollars of all attempts behind the results, whichever run paid."""
    accepted: int
    """Distinct tasks of all kinds: one that several of these runs accepted counts once, as its requests do."""

    @property
    def usd_per_task(self) -> float | None:
        """Dollars per validated task, with all attempts included, whichever run paid.

        It is a lower bound while ``whole.unknown`` is not zero; null without tasks, or if no price is known.
        """
        return self.whole.known / self.accepted if self.accepted and self.whole.known is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, with prices per task; keys that are null become ``none``."""
        return {
            **self.model_dump(mode="json", exclude={"by_source", "by_draft", *_AMORTISED}),
            "by_source": {key or "none": spend.model_dump(mode="json") for key, spend in self.by_source.items()},
            "by_draft": {
                "none" if key is None else str(key): spend.model_dump(mode="json")
                for key, spend in self.by_draft.items()
            },
            "usd_per_task": self.usd_per_task,
            "task_by_stage": {stage: spent.to_json() for stage, spent in self.task_by_stage.items()},
            "task_by_source": {key or "none": spent.to_json() for key, spent in self.task_by_source.items()},
            "task_by_draft": [spent.to_json() for spent in self.task_by_draft],
        }


_AMORTISED: Final = frozenset({"task_by_stage", "task_by_source", "task_by_draft"})


def cost(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> Cost:
    """Add up what the requests of some runs cost.

    Args:
        connection: A connection with one view per table.
        run_ids: The runs.

    Returns:
        What these runs paid and reused, and the price of an accepted task by stage, source and draft.
    """
    made = select(connection, _MADE, run_ids)
    paid, replayed = ([row for row in made if _is_replayed(row) is replay] for replay in (False, True))
    used = {identity for row in select(connection, _IDENTITIES, run_ids) for identity in json.loads(row["identities"])}
    others = select(connection, _OTHERS, run_ids, used=sorted(used)) if used else []
    answered = {row["identity"] for row in made if row["answered"]}
    reused = [*replayed, *_drop_unused_answers(others, answered)]
    behind = [*paid, *reused]
    tasks = latest_tasks(connection, run_ids, "source, draft")
    tasks += latest_others(connection, run_ids, "source, draft")
    from_source, at_draft = (Counter(row[column] for row in tasks) for column in ("source", "draft"))
    made_drafts = {row["draft"]: row["made"] for row in select(connection, _DRAFTS, run_ids)}
    by_draft = dict(_group_by(behind, "draft"))
    return Cost(
        run_ids=tuple(run_ids),
        paid=Spend.of(paid),
        reused=Spend.of(reused),
        by_stage={stage: Spend.of(rows) for stage, rows in _group_by(paid, "stage", STAGES)},
        by_source={source: Spend.of(rows) for source, rows in _group_by(paid, "source")},
        by_draft={draft: Spend.of(rows) for draft, rows in _group_by(paid, "draft")},
        task_by_stage={
            stage: AmortisedCost(usd=_usd(rows), tasks=len(tasks)) for stage, rows in _group_by(behind, "stage", STAGES)
        },
        task_by_source={
            source: AmortisedCost(usd=_usd(rows), tasks=from_source[source])
            for source, rows in _group_by(behind, "source")
        },
        task_by_draft=tuple(
            DraftCost(
                number=number,
                made=made_drafts.get(number, 0),
                tasks=at_draft[number],
                usd=_usd(by_draft.get(number, [])),
            )
            for number in sorted(made_drafts.keys() | by_draft.keys() - {None})
        ),
        whole=_usd(behind),
        accepted=len(tasks),
    )


STAGES: Final = ("extract", "author", "judge", "classify", "evaluate")

# An attempt that was turned away is known to have cost nothing, though the ledger has no price for it.
_ATTEMPTS: Final = """
    SELECT run_id, identity, stage, nullif(split_part(record_id, ':', 1), '') AS source, draft, answered, error,
           prompt_tokens, cached_tokens, completion_tokens,
           CASE WHEN NOT answered AND usd_upper = 0 THEN 0.0 ELSE usd END AS usd, usd_upper, usd_overrun
    FROM llm_calls
"""
_MADE: Final = f"{_ATTEMPTS} WHERE list_contains($runs, run_id) ORDER BY identity, run_id, attempt"
_OTHERS: Final = f"""
    {_ATTEMPTS} WHERE NOT list_contains($runs, run_id) AND identity IN (SELECT unnest($used))
    ORDER BY identity, "at", run_id, attempt
"""
_IDENTITIES: Final = """
    SELECT identities FROM dangers WHERE list_contains($runs, run_id) AND identities IS NOT NULL
    UNION SELECT identities FROM drafts WHERE list_contains($runs, run_id)
"""
_DRAFTS: Final = "SELECT draft, count(*) AS made FROM drafts WHERE list_contains($runs, run_id) GROUP BY draft"


def _usd(rows: Sequence[Row]) -> Sum:
    return Sum.of(row["usd"] for row in rows)


def _is_replayed(row: Row) -> bool:
    """Whether an answer was replayed: it has a price, known or not, and yet cost nothing."""
    return bool(row["answered"] and row["usd_upper"] == 0 and row["usd"] != 0)


def _drop_unused_answers(others: Sequence[Row], answered: set[str]) -> list[Row]:
    """Return the attempts of other runs without those of runs whose answer was not used.

    As in the ledger, a run uses its own answer if it has one, else the earliest.

    Args:
        others: The attempts of other runs; those of one identity are ordered by time.
        answered: Identities to which the runs themselves have an answer.
    """
    payers = {(row["identity"], row["run_id"]) for row in others if row["answered"]}
    first: dict[str, str] = {}
    for row in others:
        if row["answered"] and row["identity"] not in answered:
            first.setdefault(row["identity"], row["run_id"])
    return [
        row
        for row in others
        if (row["identity"], row["run_id"]) not in payers or first.get(row["identity"]) == row["run_id"]
    ]


def _group_by(rows: Sequence[Row], column: str, order: Sequence[Any] = ()) -> list[tuple[Any, list[Row]]]:
    """Group rows by a column: values in ``order`` first, then the others sorted, null last."""
    values = {row[column] for row in rows}
    ranked = sorted(values, key=lambda v: (v is None, order.index(v) if v in order else len(order), v or 0))
    return [(value, [row for row in rows if row[column] == value]) for value in ranked]
