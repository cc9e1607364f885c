"""What the requests of some runs cost. A part that is unknown is counted beside the sum, never taken for zero."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.llm.ledger import IN_FLIGHT
from hazardmill.records import FrozenModel
from hazardmill.report.queries import Row, latest_tasks, select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Sum(FrozenModel):
    """A sum of which some parts may be unknown."""

    known: int | float | None
    """Sum of the known parts; null if there are parts and all are unknown."""
    unknown: int
    """How many parts are unknown."""

    @classmethod
    def of(cls, parts: Iterable[float | None]) -> Sum:
        """Add up ``parts``; null is unknown. Integers stay integers, and the order of floats does not matter."""
        parts = list(parts)
        known = [part for part in parts if part is not None]
        add = sum if all(isinstance(part, int) for part in known) else math.fsum
        return cls(known=add(known) if known or not parts else None, unknown=len(parts) - len(known))


class Spend(FrozenModel):
    """Attempts at requests, and what they took. Tokens as the provider counted them."""

    attempts: int
    failed: int
    """Attempts that ended without an answer."""
    in_flight: int
    """Attempts of which nobody knows how they ended: under way, or cut off by a kill."""
    prompt_tokens: Sum
    cached_tokens: Sum
    """Of the prompt tokens, those read from the provider's cache."""
    completion_tokens: Sum
    usd: Sum
    usd_upper: Sum
    """Most that it can have been: the cost where that is known, else what was reserved."""
    usd_overrun: Sum
    """By how much attempts cost more than a budget had reserved for them."""
    overruns: int
    """How many did."""
    cache_hit_share: float | None
    """Cached of prompt tokens, over the attempts where both are known; null if there are none."""

    @classmethod
    def of(cls, attempts: Sequence[Row]) -> Spend:
        """Add up ledger rows."""
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
    """What some requests cost, over the tasks that they are for; failed attempts and whichever run paid included."""

    usd: Sum
    tasks: int

    @property
    def usd_per_task(self) -> float | None:
        """A lower bound while ``usd.unknown`` is not zero; null without tasks, or if no price is known."""
        return self.usd.known / self.tasks if self.tasks and self.usd.known is not None else None

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {**self.model_dump(mode="json"), "usd_per_task": self.usd_per_task}


class DraftCost(AmortisedCost):
    """What the drafts of one number cost: whether it is worth it is its price a task beside that of all drafts.

    ``tasks`` are those accepted at this number, ``usd`` is what its drafts and their judging took.
    """

    number: int
    made: int
    """Drafts of this number."""


class Cost(FrozenModel):
    """What the requests of some runs cost."""

    run_ids: tuple[str, ...]
    paid: Spend
    """Attempts that these runs made."""
    reused: Spend
    """Paid for before, not again: attempts of other runs at requests whose answers these runs used, and replayed ones.

    Of each answer once: what another run paid for an answer that these runs did not go by is that run's own affair.
    """
    by_stage: dict[str, Spend]
    by_source: dict[str | None, Spend]
    """Null: requests made for no one record."""
    by_draft: dict[int | None, Spend]
    """Null: requests outside drafts, such as extraction."""
    task_by_stage: dict[str, AmortisedCost]
    """USD a validated task that went to each stage."""
    task_by_source: dict[str | None, AmortisedCost]
    """Over the tasks of each source; null: requests made for no one record."""
    task_by_draft: tuple[DraftCost, ...]
    """By number. What comes before the first draft is in none of them."""
    whole: Sum
    """USD of all attempts behind the results, whichever run paid."""
    accepted: int
    """Distinct tasks: one that several of these runs accepted counts once, as its requests do."""

    @property
    def usd_per_task(self) -> float | None:
        """USD a validated task, all attempts amortised, whichever run paid.

        A lower bound while ``whole.unknown`` is not zero; null without tasks, or if no price is known.
        """
        return self.whole.known / self.accepted if self.accepted and self.whole.known is not None else None

    def to_json(self) -> dict[str, Any]:
        """JSON values; keys that are null become ``none``."""
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
    """Add up the ledger for ``run_ids``; ``connection`` has one view a table."""
    made = select(connection, _MADE, run_ids)
    paid, replayed = ([row for row in made if _is_replayed(row) is told] for told in (False, True))
    used = {identity for row in select(connection, _IDENTITIES, run_ids) for identity in json.loads(row["identities"])}
    others = select(connection, _OTHERS, run_ids, used=sorted(used)) if used else []
    answered = {row["identity"] for row in made if row["answered"]}
    reused = [*replayed, *_drop_unused_answers(others, answered)]
    behind = [*paid, *reused]
    tasks = latest_tasks(connection, run_ids, "task_id, source, draft")
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


STAGES: Final = ("extract", "author", "judge", "evaluate")

# Turned away at the door: that is known to have cost nothing.
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
    """Whether an answer has a price, known or not, and yet cost nothing."""
    return bool(row["answered"] and row["usd_upper"] == 0 and row["usd"] != 0)


def _drop_unused_answers(others: Sequence[Row], answered: set[str]) -> list[Row]:
    """The attempts of other runs, but for answers that were not gone by.

    A run goes by its own answer, else by the one that came first, as the ledger does.

    Args:
        others: The attempts, of each identity the earliest first.
        answered: Identities that the runs themselves have an answer to.
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
    """Rows by the value of a column: in ``order``, then sorted, null last."""
    values = {row[column] for row in rows}
    ranked = sorted(values, key=lambda v: (v is None, order.index(v) if v in order else len(order), v or 0))
    return [(value, [row for row in rows if row[column] == value]) for value in ranked]
