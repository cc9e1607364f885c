"""The page ``page-running``: what runs now, how far it is, and how long it will take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from prefect.client.schemas.objects import StateType

from flows.pages_facts import FlowRunFacts, ServerFacts, say_time
from hazardmill.report.dashboard.links import link_run
from hazardmill.report.dashboard.writing import write_table, write_text
from hazardmill.reporting.numbers import NONE, UNKNOWN, count, duration, share_of, usd
from hazardmill.runs.status import RunSummary

_HEAD: Final = ("What", "Run", "How far", "Time left", "For", "USD so far")


def write_running(server: ServerFacts, runs: Mapping[str, RunSummary], now: datetime) -> Iterator[str]:
    """Yield the blocks of the page.

    Args:
        server: Flow runs of the server.
        runs: Runs of the store, by name.
        now: The time that counts as now.
    """
    active = [run for run in server.under_way if run.kind is not StateType.PAUSED]
    named = {run_id for each in active for run_id in each.run_ids}
    elsewhere = [run for run in runs.values() if run.state == "running" and run.run_id not in named]
    if not active and not elsewhere:
        yield "Nothing runs."
        return
    rows = [_flow_row(each, runs, now) for each in active]
    rows += [_store_row(run, now) for run in elsewhere]
    yield write_table(_HEAD, rows, words=4)
    yield (
        "A link under *How far* leads to a page that the run updates every two seconds; this one is drawn anew every"
        " few minutes while a run is under way, and every hour. *USD so far* is what the whole run paid."
    )


def _flow_row(each: FlowRunFacts, runs: Mapping[str, RunSummary], now: datetime) -> tuple[str, ...]:
    mine = [runs[run_id] for run_id in each.run_ids if run_id in runs]
    done, *more = each.progress.split(", ")
    # Between them are the rate, and what was spent (flows/progress.py).
    left = next((part for part in more if part.endswith(" left")), "")
    far = _link_progress(each, done) if done else " ".join(map(_far, mine)) or NONE
    # A state that is not simply the running one is worth a word.
    state = "" if each.state == "Running" else f" ({write_text(each.state)})"
    return (
        f"{each.link}{state}",
        ", ".join(link_run(run.run_id) for run in mine) or NONE,
        far,
        write_text(left) or (UNKNOWN if done else NONE),
        NONE if each.began is None else duration((now - each.began).total_seconds()),
        _paid(mine),
    )


def _store_row(run: RunSummary, now: datetime) -> tuple[str, ...]:
    since = duration((now - run.started).total_seconds())
    return (f"{run.kind}, without Prefect", link_run(run.run_id), _far(run), UNKNOWN, since, _paid([run]))


def _link_progress(each: FlowRunFacts, done: str) -> str:
    return f"[{write_text(done)}](../../artifacts/artifact/{each.progress_id})"


def _far(run: RunSummary) -> str:
    if run.records is None:
        return NONE
    pending = run.counts.get("outcomes", {}).get("pending", run.records)
    done = run.records - pending
    return f"{count(done)} of {count(run.records)} records ({share_of(done, run.records)})"


def _paid(runs: Sequence[RunSummary]) -> str:
    if not runs:
        return NONE
    known = [run.paid.usd for run in runs]
    if None not in known:
        return usd(sum(value or 0 for value in known))
    most = [run.paid.usd_upper for run in runs]
    return UNKNOWN if None in most else f"at most {usd(sum(value or 0 for value in most))}"


def describe_age(at: datetime | None, now: datetime) -> str:
    """Return a time and how long ago it was."""
    return say_time(at) if at is None or at > now else f"{say_time(at)}, {duration((now - at).total_seconds())} ago"
