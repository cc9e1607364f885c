"""The runs of a store as they stand: who is at work, what came out so far, what was paid.

Nothing here is taken from a run's last word where the tables know better: outcomes are counted and costs added up, so
that a run under way, or one that was killed, is listed as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from hazardmill.records import FrozenModel, Outcome
from hazardmill.store.schemas import RUNS
from hazardmill.store.store import Store

KILLED: Final = "stopped (killed)"
"""How a run is shown whose last state is ``running`` and on which nobody works."""

RETRACTED: Final = "stopped (rows lost)"
"""How a run is shown that was completed, and of which a rebuild of the store has made records pending again."""

# Which records a run is about is most of what it wrote down, and no part of its state.
_STATE: Final = tuple(column.name for column in RUNS.columns if column.name != "selection")


def latest_states(store: Store) -> Iterator[dict[str, Any]]:
    """The latest state of each run, oldest run first, with when it ``started``; without its selection."""
    latest: dict[str, dict[str, Any]] = {}
    started: dict[str, datetime] = {}
    for row in sorted(store.rows("runs", None, _STATE), key=lambda row: (row["run_id"], row["sequence"])):
        latest[row["run_id"]] = row
        started.setdefault(row["run_id"], row["at"])
    for run_id in sorted(latest, key=lambda run_id: started[run_id]):
        yield {**latest[run_id], "started": started[run_id]}


def name_state(store: Store, row: Mapping[str, Any]) -> str:
    """A run's state for people: one that says ``running`` while nobody works on it was killed."""
    if row["state"] != "running":
        return str(row["state"])
    return "running" if store.is_worked_on(row["run_id"]) else KILLED


class Paid(FrozenModel):
    """What a run paid itself. A replayed answer cost nothing; a sum with an unknown part is unknown."""

    calls: int = 0
    """Attempts at requests, replayed ones left out."""
    usd: float | None = 0.0
    usd_upper: float | None = 0.0
    """Most that it can have been."""
    prompt_tokens: int | None = 0
    """Of the attempts that brought an answer, cached tokens included."""
    completion_tokens: int | None = 0
    last: datetime | None = None
    """When the last attempt ended, replayed or not."""


class RunSummary(FrozenModel):
    """One run of a store."""

    run_id: str
    kind: str
    state: str
    parent_run_id: str | None
    """The run that it is a child of."""
    records: int | None
    shard: str | None = None
    """The shard that its records are of; null for all that was selected."""
    started: datetime
    changed: datetime
    """When it last changed its state."""
    duration_s: float
    """From its start to its last sign of life, pauses between two sessions included."""
    counts: dict[str, Any]
    """Of a generation run: records by source, and by outcome as the table of outcomes has them now."""
    paid: Paid


def summarize_runs(store: Store) -> list[RunSummary]:
    """Every run of the store, oldest first.

    Raises:
        StoreError: The store cannot be read.
    """
    # First the states: what a run does meanwhile may be counted, but no run is counted that is not listed.
    rows = [(row, name_state(store, row)) for row in latest_states(store)]
    outcomes, paid = _outcomes(store), _read_payments(store)
    return [
        _summarise(row, state, outcomes.get(row["run_id"], {}), paid.get(row["run_id"], Paid())) for row, state in rows
    ]


def _summarise(row: Mapping[str, Any], state: str, outcomes: Mapping[str, int], paid: Paid) -> RunSummary:
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
    )


def _shard(config: str) -> str | None:
    # Not by RunConfig: a run of another version is listed too.
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
    # As integers: Arrow would look the zone up in a time zone database, which small systems lack.
    data = data.set_column(data.schema.get_field_index("at"), "at", data["at"].cast(pa.int64()))
    free = pc.fill_null(pc.equal(data["usd_upper"], 0.0), False)
    # Answered for nothing, and yet with a price, known or not: by the ledger of an earlier run.
    replayed = pc.and_(pc.and_(free, data["answered"]), pc.fill_null(pc.not_equal(data["usd"], 0.0), True))
    unanswered = pc.invert(data["answered"])
    # Turned away at the door: that is known to have cost nothing.
    usd = pc.if_else(free, 0.0, data["usd"])
    # What was asked and not answered has no count of tokens; it is no answer with an unknown one.
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
