"""The page ``page-failed``: what failed or stopped, why, and what to type, run by run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from flows.endings import BUDGET_REACHED, WAITING
from flows.pages_facts import DAYS, FlowRunFacts, ServerFacts
from flows.pages_running import describe_age
from hazardmill.report.dashboard.links import PAGES, link_artifact, link_run
from hazardmill.report.dashboard.standing import RunStanding
from hazardmill.report.dashboard.writing import write_command, write_text
from hazardmill.reporting.numbers import count, plural
from hazardmill.runs.status import KILLED, RETRACTED, RunSummary

_LONGEST: Final = 600
"""Most characters of a message."""

RUN_DAYS: Final = 30
"""Runs of a store that changed in so many days are listed; older ones are only counted."""

_WHY: Final = {
    "stopped": "it was stopped",
    "failed": "it failed",
    KILLED: "its process is gone",
    RETRACTED: "rows were lost since it was completed",
}


@dataclass(frozen=True)
class StoppedRun:
    """A run of a store that did not reach its end, and on which nothing works.

    Attributes:
        summary: The run.
        standing: How it stands, with the command that resumes it; null if it is no generation run.
        flow_run: The latest flow run that worked on it; null if there is none, or the server has forgotten it.
    """

    summary: RunSummary
    standing: RunStanding | None
    flow_run: FlowRunFacts | None

    @property
    def command(self) -> str | None:
        """What to type to resume it: through its deployment if it has one."""
        at, flow_run = self.standing, self.flow_run
        if at is None:
            return None if flow_run is None else flow_run.retry
        if flow_run is not None and flow_run.deployment is not None and flow_run.flow == "generate":
            budget = "" if at.larger_budget is None else f" -p budget_usd={at.larger_budget:g}"
            return f"prefect deployment run {flow_run.deployment} -p run_id={shlex.quote(at.run_id)}{budget}"
        return at.resume


def find_stopped(
    server: ServerFacts, runs: Mapping[str, RunSummary], standings: Mapping[str, RunStanding], now: datetime
) -> tuple[list[StoppedRun], int]:
    """Return the runs of a store that need somebody, the latest first, and how many older ones there are.

    Args:
        server: Flow runs of the server.
        runs: Runs of the store, by name.
        standings: How those generation runs stand that may be resumed, by name.
        now: The time that counts as now.
    """
    continued = {run_id for each in (*server.under_way, *server.scheduled) for run_id in each.run_ids}
    latest: dict[str, FlowRunFacts] = {}
    for each in server.not_done:
        for run_id in each.run_ids:
            latest.setdefault(run_id, each)
    found = [
        StoppedRun(run, standings.get(run_id), latest.get(run_id))
        for run_id, run in runs.items()
        if run.state in _WHY and run_id not in continued and (run_id in standings or run_id in latest)
    ]
    since = now - timedelta(days=RUN_DAYS)
    recent = [each for each in found if each.summary.changed >= since]
    return sorted(recent, key=lambda each: each.summary.changed, reverse=True), len(found) - len(recent)


def find_failed(server: ServerFacts, runs: Mapping[str, RunSummary]) -> list[FlowRunFacts]:
    """Return the flow runs that failed before or without a run of the store, the latest first.

    A run that went on to its end needs nobody, whatever its earlier flow runs came to; one that stopped is listed as a
    run, and a flow run within another one with that one.
    """
    return [
        each
        for each in server.not_done
        if each.state not in (BUDGET_REACHED, WAITING)
        and not each.is_nested
        and not any(run_id in runs for run_id in each.run_ids)
    ]


def write_failed(
    server: ServerFacts, runs: Mapping[str, RunSummary], standings: Mapping[str, RunStanding], now: datetime
) -> Iterator[str]:
    """Yield the blocks of the page; the arguments are those of ``find_stopped``."""
    stopped, older = find_stopped(server, runs, standings, now)
    failed = find_failed(server, runs)
    if stopped or failed:
        yield f"**{plural(len(stopped), 'run')} stopped, {plural(len(failed), 'flow run')} failed without a run.**"
    else:
        yield f"Nothing failed or stopped: flow runs of the last {DAYS} days, runs of the last {RUN_DAYS} days."
    for run in stopped:
        yield from _write_stopped(run, now)
    for each in failed:
        yield f"### {each.link}"
        yield f"**{write_text(each.state)}**, {describe_age(each.ended, now)}: {_message(each)}"
        if each.retry is not None:
            yield "To try again:"
            yield write_command(each.retry)
    if older:
        yield f"{plural(older, 'run')} stopped more than {RUN_DAYS} days ago: `hazardmill run list` names them."
    yield f"Runs that wait for answers are under {link_artifact('page-next', PAGES['page-next'])}."


def _write_stopped(run: StoppedRun, now: datetime) -> Iterator[str]:
    summary, flow_run = run.summary, run.flow_run
    yield f"### {link_run(summary.run_id)}"
    done = summary.counts.get("outcomes", {}).get("pending")
    whole = summary.records
    left = "" if done is None or whole is None else f"; {count(done)} of {count(whole)} records left"
    yield f"**{write_text(summary.state)}**: {_WHY[summary.state]}, {describe_age(summary.changed, now)}{left}."
    if flow_run is not None:
        yield f"{flow_run.link} ended as **{write_text(flow_run.state)}**: {_message(flow_run)}"
    if run.command is not None:
        yield "To resume it:"
        yield write_command(run.command)


def _message(each: FlowRunFacts) -> str:
    said = " ".join(each.message.split())
    return write_text(said if len(said) <= _LONGEST else f"{said[: _LONGEST - 4]} ...") or "without a message"
