"""Read from the store what became of each record of a run, as far as two runs are compared by it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from hazardmill.records import FrozenModel, Outcome
from hazardmill.report.queries import Row, select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Verdict = Literal["approved", "rejected"]

WAY_OUT: Final = "way_out"
"""Name of the line of a certificate that states the kind of the way out; older certificates lack it."""


class RecordOutcome(FrozenModel):
    """What became of one record in one run; ``None`` means unknown or absent.

    Attributes:
        outcome: Where the record ended.
        reason: Reason code of the outcome.
        message: The message that goes with the reason.
        drafts: Number of drafts that were written for it.
        task_id: Id of the task, or of the earlier task that it duplicates.
        danger_type: Type of the danger; ``None`` if none was found.
        judge_reasons: Reason codes for which the judge sent drafts back, sorted; a code given twice occurs twice.
        way_out: Kind of the way out; ``None`` without a task, or if its certificate does not state it.
        verdict: What reviewers made of the task; ``None`` if they have not settled it.
        usd: Cost in dollars of all requests for the record, whichever run paid.
        seconds: Sum of the latencies of all answers for the record, whichever run asked.
    """

    outcome: Outcome
    reason: str | None
    message: str | None
    drafts: int
    task_id: str | None
    danger_type: str | None
    judge_reasons: tuple[str, ...]
    way_out: str | None
    verdict: Verdict | None
    usd: float | None
    seconds: float | None

    @property
    def accepted(self) -> bool:
        """Whether the record became a task."""
        return self.outcome is Outcome.ACCEPTED

    @property
    def declined(self) -> bool:
        """Whether the model saw no danger in the record."""
        return self.outcome is Outcome.NO_DANGER


def ended_records(views: DuckDBPyConnection, run_id: str, verdicts: Mapping[str, Verdict]) -> dict[str, RecordOutcome]:
    """Return the records that a run has finished, by record id, in the order of the run.

    Args:
        views: A connection with one view per table of the store.
        run_id: The run.
        verdicts: What reviewers made of tasks, by task id.
    """
    runs = [run_id]
    dangers = {row["record_id"]: row for row in select(views, _DANGERS, runs)}
    asked: dict[str, list[str]] = defaultdict(list)
    for row in (*dangers.values(), *select(views, _DRAFTS, runs)):
        asked[row["record_id"]] += json.loads(row["identities"] or "[]")
    latencies = _latencies(views, sorted({identity for identities in asked.values() for identity in identities}))
    sent_back: dict[str, list[str]] = defaultdict(list)
    for row in select(views, _SENT_BACK, runs):
        sent_back[row["record_id"]] += _reasons(row)
    ways = {row["record_id"]: _way_out(row["certificate"]) for row in select(views, _TASKS, runs)}
    return {
        row["record_id"]: RecordOutcome(
            **{name: row[name] for name in ("outcome", "reason", "message", "drafts", "task_id", "usd")},
            danger_type=dangers.get(row["record_id"], {}).get("danger_type"),
            judge_reasons=tuple(sorted(sent_back[row["record_id"]])),
            way_out=ways.get(row["record_id"]),
            verdict=verdicts.get(row["task_id"]) if row["outcome"] == Outcome.ACCEPTED else None,
            seconds=_add(latencies.get(identity) for identity in dict.fromkeys(asked[row["record_id"]])),
        )
        for row in select(views, _OUTCOMES, runs)
    }


def answering_models(views: DuckDBPyConnection, run_id: str) -> tuple[str, ...]:
    """Return the names of the models that answered in a run, sorted."""
    return tuple(row["model"] for row in select(views, _MODELS, [run_id]))


_OUTCOMES: Final = """
    SELECT record_id, outcome, reason, message, drafts, task_id, usd FROM outcomes
    WHERE list_contains($runs, run_id) ORDER BY ordinal
"""
_DANGERS: Final = "SELECT record_id, danger_type, identities FROM dangers WHERE list_contains($runs, run_id)"
_DRAFTS: Final = "SELECT record_id, identities FROM drafts WHERE list_contains($runs, run_id)"
_SENT_BACK: Final = """
    SELECT record_id, reason, details FROM checks
    WHERE list_contains($runs, run_id) AND check_name = 'judge' AND passed = false
"""
_TASKS: Final = "SELECT record_id, certificate FROM tasks WHERE list_contains($runs, run_id)"
_LATENCIES: Final = """
    SELECT identity, latency_s FROM llm_calls
    WHERE answered AND identity IN (SELECT unnest($asked))
        AND (usd_upper IS DISTINCT FROM 0 OR usd IS NOT DISTINCT FROM 0)
    ORDER BY "at" DESC
"""
# An answer that has a price but cost nothing was replayed: its latency says nothing about the model.
_MODELS: Final = """
    SELECT DISTINCT model_answered AS model FROM (
        SELECT run_id, model_answered FROM dangers UNION ALL SELECT run_id, model_answered FROM checks
    ) WHERE list_contains($runs, run_id) AND model_answered IS NOT NULL ORDER BY model
"""


def _latencies(views: DuckDBPyConnection, asked: Sequence[str]) -> dict[str, float | None]:
    """Return seconds by identity of a request; of several answers, those of the first, which every run uses."""
    if not asked:
        return {}
    return {row["identity"]: row["latency_s"] for row in select(views, _LATENCIES, (), asked=list(asked))}


def _add(seconds: Iterable[float | None]) -> float | None:
    known = list(seconds)
    return None if not known or None in known else sum(each for each in known if each is not None)


def _reasons(row: Row) -> list[str]:
    """Return all reason codes that the judge gave for one draft."""
    several: list[dict[str, Any]] = json.loads(row["details"]).get("failed") or [row]
    return [str(each["reason"]) for each in several]


def _way_out(certificate: str) -> str | None:
    lines = json.loads(certificate).get("lines", ())
    witness = next((line.get("witness") for line in lines if line["name"] == WAY_OUT), None)
    kind = (witness or {}).get("kind")
    return None if kind is None else str(kind)
