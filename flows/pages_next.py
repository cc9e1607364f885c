"""The page ``page-next``: what comes next: scheduled flow runs, schedules, and runs that wait for something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from prefect.client.schemas.objects import StateType

from flows.pages_facts import ScheduleFacts, ServerFacts, say_time
from flows.pages_running import describe_age
from hazardmill.report.dashboard.links import link_run
from hazardmill.report.dashboard.writing import write_code, write_table, write_text
from hazardmill.reporting.numbers import NONE, count
from hazardmill.runs.status import RunSummary

_SOON: Final = 20
"""Most scheduled flow runs that are listed."""

_TAKES_UP: Final = "resume-waiting"


def write_next(
    server: ServerFacts, runs: Mapping[str, RunSummary], batches: Sequence[Mapping[str, Any]], now: datetime
) -> Iterator[str]:
    """Yield the blocks of the page.

    Args:
        server: Flow runs and schedules of the server.
        runs: Runs of the store, by name.
        batches: Rows of the store's table ``batches``.
        now: The time that counts as now.
    """
    yield from _write_people(server, now)
    yield from _write_waiting(server, runs, batches, now)
    yield "### Flow runs to come"
    late = [run for run in server.scheduled if run.state == "Late"]
    if late:
        yield f"**{len(late)} late: no worker has taken them.** Start a worker: `make worker`."
    if server.scheduled:
        head = ("When (UTC)", "What", "State", "Deployment")
        coming = [
            (say_time(run.expected), run.link, write_text(run.state), write_text(run.deployment or run.flow))
            for run in server.scheduled[:_SOON]
        ]
        yield write_table(head, coming, words=4)
        if len(server.scheduled) > _SOON:
            yield f"{count(len(server.scheduled) - _SOON)} more."
    else:
        yield "None is scheduled."
    yield "### Schedules"
    if not server.schedules:
        yield "No deployment has a schedule."
        return
    upcoming: dict[str, datetime] = {}
    for run in server.scheduled:
        if run.deployment is not None and run.expected is not None:
            upcoming.setdefault(run.deployment, run.expected)
    rows = [_schedule_row(each, upcoming) for each in sorted(server.schedules, key=lambda each: not _starts(each))]
    yield write_table(("Deployment", "Schedule", "State", "Next (UTC)"), rows, words=4)


def _write_people(server: ServerFacts, now: datetime) -> Iterator[str]:
    paused = [run for run in server.under_way if run.kind is StateType.PAUSED]
    if paused:
        yield "### Wait for a person"
        yield write_table(
            ("What", "State", "Since (UTC)"),
            [(run.link, write_text(run.state), describe_age(run.began, now)) for run in paused],
            words=3,
        )


def _write_waiting(
    server: ServerFacts, runs: Mapping[str, RunSummary], batches: Sequence[Mapping[str, Any]], now: datetime
) -> Iterator[str]:
    waiting = [run for run in runs.values() if run.state == "waiting"]
    yield "### Runs that wait for answers"
    if not waiting:
        yield "None."
        return
    rows = []
    for run in waiting:
        mine = [row for row in batches if row["run_id"] == run.run_id and row["answered"] != row["requests"]]
        asked = sum(row["requests"] or 0 for row in mine)
        words = f"{count(asked)} requests in {len(mine)} " + ("batch" if len(mine) == 1 else "batches")
        since = min((row["created_at"] for row in mine if row["created_at"]), default=run.changed)
        rows.append((link_run(run.run_id), words if mine else NONE, describe_age(since, now)))
    yield write_table(("Run", "Waits for", "Since (UTC)"), rows, words=3)
    if any(each.deployment.startswith(f"{_TAKES_UP}/") and _starts(each) for each in server.schedules):
        yield f"The schedule of `{_TAKES_UP}` is active: it takes them up as soon as answers are there."
    else:
        command = write_code(f"prefect deployment run {_TAKES_UP}/default", longest=None)
        yield f"The schedule of `{_TAKES_UP}` is **not active**. To look for answers now: {command}"


def _schedule_row(each: ScheduleFacts, upcoming: Mapping[str, datetime]) -> tuple[str, ...]:
    state = "deployment paused" if each.paused else "**active**" if each.active else "off"
    return (each.link, write_code(each.says), state, say_time(upcoming.get(each.deployment)) if _starts(each) else NONE)


def _starts(each: ScheduleFacts) -> bool:
    return each.active and not each.paused
