"""What a run made of each of its records, as far as two runs are compared by it."""

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
"""Name of the certificate's line that tells of which kind the way out is. Older certificates have none."""


class RecordOutcome(FrozenModel):
    """What became of one record in one run. Null is not known, or not there."""

    outcome: Outcome
    reason: str | None
    message: str | None
    drafts: int
    task_id: str | None
    danger_type: str | None
    """Null where no danger was found."""
    judge_reasons: tuple[str, ...]
    """What the judge sent drafts back for, sorted; one that it named twice is there twice."""
    way_out: str | None
    """Kind of the way out; null without a task, or where its certificate does not say."""
    verdict: Verdict | None
    """What reviewers made of the task; null where they did not, or are not agreed."""
    usd: float | None
    """Of all requests for the record, whichever run paid."""
    seconds: float | None
    """Of all answers for the record, added up, whichever run asked."""

    @property
    def accepted(self) -> bool:
        """Whether it gave a task."""
        return self.outcome is Outcome.ACCEPTED

    @property
    def declined(self) -> bool:
        """Whether no danger was seen in it."""
        return self.outcome is Outcome.NO_DANGER


def ended_records(views: DuckDBPyConnection, run_id: str, verdicts: Mapping[str, Verdict]) -> dict[str, RecordOutcome]:
    """The records that a run has finished, by id.

    Args:
        views: A connection with one view a table.
        run_id: The run.
        verdicts: What reviewers made of tasks, by task.
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
    """Who answered in a run, sorted."""
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
# An answer with a price that cost nothing was replayed: how long that took says nothing of the model.
_MODELS: Final = """
    SELECT DISTINCT model_answered AS model FROM (
        SELECT run_id, model_answered FROM dangers UNION ALL SELECT run_id, model_answered FROM checks
    ) WHERE list_contains($runs, run_id) AND model_answered IS NOT NULL ORDER BY model
"""


def _latencies(views: DuckDBPyConnection, asked: Sequence[str]) -> dict[str, float | None]:
    """Seconds by identity; of several answers the first, which all runs go by."""
    if not asked:
        return {}
    return {row["identity"]: row["latency_s"] for row in select(views, _LATENCIES, (), asked=list(asked))}


def _add(seconds: Iterable[float | None]) -> float | None:
    known = list(seconds)
    return None if not known or None in known else sum(each for each in known if each is not None)


def _reasons(row: Row) -> list[str]:
    """All that the judge named of one draft."""
    several: list[dict[str, Any]] = json.loads(row["details"]).get("failed") or [row]
    return [str(each["reason"]) for each in several]


def _way_out(certificate: str) -> str | None:
    lines = json.loads(certificate).get("lines", ())
    witness = next((line.get("witness") for line in lines if line["name"] == WAY_OUT), None)
    kind = (witness or {}).get("kind")
    return None if kind is None else str(kind)
