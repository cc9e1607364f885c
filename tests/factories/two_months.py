"""A store of two months: nightly runs of four sources, three models, an unknown price, a run of the offline author.

The runs of a source are six days apart, and the last one began some hours ago. What ended how:

- alfred: as ever; its first run began 51 days ago.
- bddl: its last run stopped at its budget, and one price of it is unknown.
- neiss: its last run cost three times as much per task as those before.
- normbank: its last run was made by the offline author; another one is under way, and one waits for a batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from report.support import Row, call, danger, draft, outcome, row, task

from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.store.store import Store

SOURCES: Final = ("alfred", "bddl", "neiss", "normbank")
RUNS: Final = 9
"""Runs of each source."""
EVERY: Final = timedelta(days=6)
RECORDS: Final = 10
UNDER_WAY: Final = "generate-normbank-under-way"
WAITING: Final = "generate-normbank-in-a-batch"
_AUTHORS: Final = {"alfred": "lab/large", "bddl": "lab/large", "neiss": "lab/middle", "normbank": "lab/middle"}
_SMALL: Final = "lab/small"
_STAGES: Final = (("extract", None, 0.002), ("author", 1, 0.012), ("judge", 1, 0.003))
_LOST: Final = {3: ("no_danger", "declined"), 6: ("execution_failed", "no_safe_plan"), 9: ("quality_failed", "entity")}
"""Last digit of a record to its loss."""


def name_run(source: str, number: int) -> str:
    """The name of a source's run; the last one has the number ``RUNS - 1``."""
    return f"generate-{source}-{number:02d}"


def write_two_months(path: Path, now: datetime) -> Store:
    """Write the store; its runs begin relative to ``now``."""
    store = Store.open(path, create=True)
    for source in SOURCES:
        for number in range(RUNS):
            began = now - timedelta(hours=3) - (RUNS - 1 - number) * EVERY
            _write(store, name_run(source, number), dict(_run(source, number, began)))
    _write(store, UNDER_WAY, dict(_unfinished(UNDER_WAY, "running", 4, now - timedelta(minutes=50))))
    waiting = dict(_unfinished(WAITING, "waiting", 0, now - timedelta(hours=2)))
    waiting["batches"] = [
        row(
            "batches", run_id=WAITING, batch="first", number=1, channel="batch", state="sent", requests=RECORDS,
            answered=0, created_at=now - timedelta(hours=2), at=now - timedelta(hours=2),
        )
    ]  # fmt: skip
    _write(store, WAITING, waiting)
    return store


def _write(store: Store, run_id: str, tables: dict[str, list[Row]]) -> None:
    with store.writer(run_id) as writer:
        writer.append_sync({name: [{**each, "run_id": run_id} for each in rows] for name, rows in tables.items()})


def _run(source: str, number: int, began: datetime) -> Iterator[tuple[str, list[Row]]]:
    last = number == RUNS - 1
    offline, stopped = last and source == "normbank", last and source == "bddl"
    dear = 3 if last and source == "neiss" else 1 + 0.02 * (number % 3)
    ids = [f"{source}:{number}-{n}" for n in range(RECORDS)]
    done = ids[:6] if stopped else ids
    author = OFFLINE_MODEL if offline else _AUTHORS[source]
    config = {
        "inputs": [{"source": source}],
        "backend": "offline" if offline else "litellm",
        "models": {"extract": author if offline else _SMALL, "author": author, "judge": author if offline else _SMALL},
        "budget_usd": 0.1 if stopped else 2.0,
    }
    yield "runs", list(_states(ids, config, ["running", "stopped" if stopped else "completed"], began))
    yield (
        "dangers",
        [danger(each, None if n % 10 == 3 else "thermal", model_answered=author) for n, each in enumerate(done)],
    )
    drafts, tasks, calls, outcomes = list[Row](), list[Row](), list[Row](), list[Row]()
    for n, each in enumerate(done):
        lost = _LOST.get(n % 10)
        if lost != _LOST[3]:
            good = lost is None
            drafts.append(draft(each, 1, None if good and n % 2 else ("search", "no_safe_plan"), model_answered=author))
            if not n % 2 or not good:
                drafts.append(draft(each, 2, None if good else ("judge", "entity"), model_answered=author))
            if good:
                tasks.append(task(each, each.replace(":", "-"), draft=1 if n % 2 else 2))
        outcomes.append(outcome(each, *(lost or ("accepted",)), usd=0.0))
        for place, (stage, of_draft, usd) in enumerate(_STAGES[: 1 if n % 10 == 3 else 3]):
            unknown = stopped and n == 2 and stage == "author"
            cost = 0.0 if offline else usd * dear
            calls.append(
                call(
                    f"{each} {stage}", each, stage, draft=of_draft,
                    model_sent=author if stage == "author" or offline else _SMALL,
                    model_answered=author if offline else None,
                    prompt_tokens=1500, cached_tokens=600, completion_tokens=400,
                    usd=None if unknown else cost, usd_upper=None if unknown else cost,
                    at=began + timedelta(minutes=1 + n, seconds=place),
                )
            )  # fmt: skip
    yield from {"drafts": drafts, "tasks": tasks, "outcomes": outcomes, "llm_calls": calls}.items()


def _unfinished(run_id: str, state: str, done: int, began: datetime) -> Iterator[tuple[str, list[Row]]]:
    """A run of normbank of which some records are done."""
    ids = [f"normbank:{run_id}-{n}" for n in range(RECORDS)]
    models = {"extract": _SMALL, "author": _AUTHORS["normbank"], "judge": _SMALL}
    config = {"inputs": [{"source": "normbank"}], "backend": "litellm", "models": models}
    yield "runs", list(_states(ids, config, ["running", state], began))
    yield "outcomes", [outcome(each, "no_danger", "declined") for each in ids[:done]]
    yield "llm_calls", [
        call(
            f"{each} extract", each, "extract", model_sent=_SMALL, model_answered=_SMALL, prompt_tokens=1500,
            cached_tokens=0, completion_tokens=100, usd=0.002, usd_upper=0.002, at=began + timedelta(minutes=n),
        )
        for n, each in enumerate(ids[:done])
    ]  # fmt: skip


def _states(ids: list[str], config: Row, states: list[str], began: datetime) -> Iterator[Row]:
    counts = json.dumps({"records": {ids[0].partition(":")[0]: len(ids)}, "outcomes": {}})
    for place, state in enumerate(states):
        yield row(
            "runs", sequence=place, kind="generate", state=state, config=json.dumps(config), counts=counts,
            selection=None if place else json.dumps(dict.fromkeys(ids, "h")), at=began + timedelta(minutes=40 * place),
        )  # fmt: skip
