"""The current state of a store's runs: who is at work, what came out so far, what was paid.

A run's last recorded state is not trusted where the tables know better: outcomes are counted and costs summed, so that
a run under way, or one that was killed, is listed as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from hazardmill.records import FrozenModel, Outcome
from hazardmill.runs.overview.answering_models import AnsweringModel, asked_models, read_answering_models
from hazardmill.store.schemas import RUNS
from hazardmill.store.store import Store

KILLED: Final = "stopped (killed)"
"""Displayed state of a run that says ``running`` although no process works on it."""

RETRACTED: Final = "stopped (rows lost)"
"""Displayed state of a completed run with records that a rebuild of the store has made pending again."""

# The selection is most of what a run wrote down, and not part of its state.
_STATE: Final = tuple(column.name for column in RUNS.columns if column.name != "selection")


def latest_states(store: Store) -> Iterator[dict[str, Any]]:
    """Yield the latest row of each run, oldest run first.

    Each row has the columns of ``runs`` without the selection, and ``started``, the time of the run's first row.
    """
    latest: dict[str, dict[str, Any]] = {}
    started: dict[str, datetime] = {}
    for row in sorted(store.rows("runs", None, _STATE), key=lambda row: (row["run_id"], row["sequence"])):
        latest[row["run_id"]] = row
        started.setdefault(row["run_id"], row["at"])
    for run_id in sorted(latest, key=lambda run_id: started[run_id]):
        yield {**latest[run_id], "started": started[run_id]}


def name_state(store: Store, row: Mapping[str, Any]) -> str:
    """Return a run's state for display: ``running`` only if a process works on it, otherwise it was killed."""
    if row["state"] != "running":
        return str(row["state"])
    return "running" if store.is_worked_on(row["run_id"]) else KILLED


class Paid(FrozenModel):
    """What a run itself paid. A replayed answer cost nothing; a sum with an unknown part is None.

    Attributes:
        calls: Attempts at requests, without replayed ones.
        usd: Their cost.
        usd_upper: The most that it can have been.
        prompt_tokens: Tokens of prompts that were answered, including cached ones.
        completion_tokens: Tokens of the answers.
        last: When the last attempt ended, replayed or not; None if there was none.
    """

    calls: int = 0
    usd: float | None = 0.0
    usd_upper: float | None = 0.0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    last: datetime | None = None


class RunSummary(FrozenModel):
    """One run of a store.

    Attributes:
        run_id: The run.
        kind: Its kind, such as ``generate``.
        state: Its state for display.
        parent_run_id: The run that it is a child of.
        records: Its records.
        shard: The shard that its records are from; None for all that was selected.
        started: When it began.
        changed: When its state last changed.
        duration_s: Seconds from its start to its last sign of life, including pauses between sessions.
        counts: For a generation run: records by source, and by outcome as the table of outcomes has them now.
        paid: What it paid.
        models_asked: The models that its configuration names; none if it only replays what was recorded.
        answered_by: The models that have answered in it, whichever run paid.
    """

    run_id: str
    kind: str
    state: str
    parent_run_id: str | None
    records: int | None
    shard: str | None = None
    started: datetime
    changed: datetime
    duration_s: float
    counts: dict[str, Any]
    paid: Paid
    models_asked: tuple[str, ...] = ()
    answered_by: tuple[AnsweringModel, ...] = ()


def summarize_runs(store: Store) -> list[RunSummary]:
    """Return a summary of every run of the store, oldest first.

    Raises:
        StoreError: The store cannot be read.
    """
    # States come first: work done meanwhile may be counted, but never for a run that is not listed.
    rows = [(row, name_state(store, row)) for row in latest_states(store)]
    outcomes, paid, answered_by = _outcomes(store), _read_payments(store), read_answering_models(store)
    return [
        _summarise(
            row,
            state,
            outcomes.get(row["run_id"], {}),
            paid.get(row["run_id"], Paid()),
            answered_by.get(row["run_id"], ()),
        )
        for row, state in rows
    ]


def _summarise(
    row: Mapping[str, Any],
    state: str,
    outcomes: Mapping[str, int],
    paid: Paid,
    answered_by: tuple[AnsweringModel, ...],
) -> RunSummary:
    counts = json.loads(row["counts"]) if row["counts"] else {}
    records = counts.get("records")
    if row["kind"] == "generate":
        records = sum(counts["records"].values())
        by_outcome = {outcome.value: outcomes.get(outcome.value, 0) for outcome in Outcome}
        by_outcome[Outcome.PENDING.value] = records - sum(outcomes.values())
        counts["outcomes"] = by_outcome
        if state == "completed" and by_outcome[Outcome.PENDING.value]:
            state = RETRACTED
    alive = datetime.now(UTC) if state == "running" else max(row["at"], paid.last or row["at"])
    return RunSummary(
        run_id=row["run_id"],
        kind=row["kind"],
        state=state,
        parent_run_id=row["parent_run_id"],
        records=records,
        shard=_shard(row["config"]) if row["kind"] == "generate" else None,
        started=row["started"],
        changed=row["at"],
        duration_s=(alive - row["started"]).total_seconds(),
        counts=counts,
        paid=paid,
        models_asked=asked_models(json.loads(row["config"] or "{}")),
        answered_by=answered_by,
    )


def _shard(config: str) -> str | None:
    # Without RunConfig, so that runs of other versions are listed too.
    shards = [item.get("shard") for item in json.loads(config).get("inputs", ())]
    return "+".join(dict.fromkeys(filter(None, shards))) or None


def _outcomes(store: Store) -> dict[str, dict[str, int]]:
    data = store.table("outcomes", None, ["run_id", "outcome"])
    counted = data.group_by(["run_id", "outcome"]).aggregate([([], "count_all")])
    result: dict[str, dict[str, int]] = {}
    for row in counted.to_pylist():
        result.setdefault(row["run_id"], {})[row["outcome"]] = row["count_all"]
    return result


def _read_payments(store: Store) -> dict[str, Paid]:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ["run_id", "answered", "usd", "usd_upper", "prompt_tokens", "completion_tokens", "at"]
    data = store.table("llm_calls", None, names)
    # As integers, because Arrow would need a time zone database, which small systems lack.
    data = data.set_column(data.schema.get_field_index("at"), "at", data["at"].cast(pa.int64()))
    free = pc.fill_null(pc.equal(data["usd_upper"], 0.0), False)
    # Answered at no cost although the answer has a price, known or not: by the ledger of an earlier run.
    replayed = pc.and_(pc.and_(free, data["answered"]), pc.fill_null(pc.not_equal(data["usd"], 0.0), True))
    unanswered = pc.invert(data["answered"])
    # Turned away before being read, which is known to cost nothing.
    usd = pc.if_else(free, 0.0, data["usd"])
    # A request without an answer has no tokens, rather than an unknown number.
    tokens = {name: pc.if_else(unanswered, 0, data[name]) for name in ("prompt_tokens", "completion_tokens")}
    own = pa.table({"run_id": data["run_id"], "usd": usd, "usd_upper": data["usd_upper"], **tokens})
    sums = [(name, "sum", pc.ScalarAggregateOptions(skip_nulls=False)) for name in own.column_names[1:]]
    last = {row["run_id"]: row["at_max"] for row in data.group_by("run_id").aggregate([("at", "max")]).to_pylist()}
    grouped = own.filter(pc.invert(replayed)).group_by("run_id").aggregate([*sums, ([], "count_all")])
    paid = {row["run_id"]: row for row in grouped.to_pylist()}
    return {run_id: _paid_of(paid.get(run_id), at) for run_id, at in last.items()}


def _paid_of(sums: Mapping[str, Any] | None, last: int) -> Paid:
    ended = datetime.fromtimestamp(last / 1e6, UTC)
    if sums is None:
        return Paid(last=ended)
    names = ("usd", "usd_upper", "prompt_tokens", "completion_tokens")
    return Paid(calls=sums["count_all"], last=ended, **{name: sums[f"{name}_sum"] for name in names})
