"""Resolve an id to a record and a run, and explain an id that the store does not have."""

from __future__ import annotations

import difflib
import shlex
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hazardmill.errors import InputError
from hazardmill.report.why.rows import StoreView

_NEIGHBOURS: Final = 500
"""How many neighbours on either side are compared with an unknown id: comparing a million would take a minute."""


@dataclass(frozen=True)
class ResolvedId:
    """What an id stands for.

    Attributes:
        record_id: The record.
        run_id: The run whose story is shown; null if no run has met the record.
        met_by: Runs that met the record, oldest first.
        task_of: If the id is that of a task, scenario or hazard task: the record that it was made from, by run.
    """

    record_id: str
    run_id: str | None
    met_by: tuple[str, ...]
    task_of: Mapping[str, str]


def resolve_id(view: StoreView, asked: str, run_id: str | None = None) -> ResolvedId:
    """Return the record and the run that an id stands for.

    Args:
        view: The store.
        asked: Id of a record, task, scenario or hazard task.
        run_id: The run; null: the latest run that has the task or met the record.

    Raises:
        InputError: The store does not have the id or the run, or the run did not meet the record. The message suggests
            ids that are spelled alike.
    """  # _unknown makes an InputError  # noqa: DOC501  # _unknown makes an InputError
    # Only a record's id has a colon.
    tasks = {} if ":" in asked else _records_of_task(view, asked)
    if tasks:
        chosen = _choose(view, asked, view.by_age(tasks), run_id)
        assert chosen is not None  # one run at least has the task
        record_id = tasks[chosen]
        return ResolvedId(record_id, chosen, _met_by(view, record_id), tasks)
    met_by = _met_by(view, asked)
    if not met_by and not view.versions_of(asked):
        raise _unknown(view, asked)
    return ResolvedId(asked, _choose(view, asked, met_by, run_id), met_by, {})


def _records_of_task(view: StoreView, task_id: str) -> dict[str, str]:
    columns = ["run_id", "record_id"]
    rows = view.rows("tasks", {"task_id": task_id}, columns)
    for table, key in (("scenarios", "scenario_id"), ("hazard_tasks", "hazard_task_id")):
        rows = rows or view.rows(table, {key: task_id}, columns)
    return {row["run_id"]: row["record_id"] for row in rows}


def _met_by(view: StoreView, record_id: str) -> tuple[str, ...]:
    return view.by_age(view.outcomes(record_id).keys() | set(view.selected_by(record_id)))


def _choose(view: StoreView, asked: str, runs: tuple[str, ...], run_id: str | None) -> str | None:
    if run_id is None:
        return runs[-1] if runs else None
    if run_id in runs:
        return run_id
    place = view.store.address
    if run_id not in view.runs:
        raise InputError(
            f"there is no run {run_id!r} in this store{_suggestion(run_id, view.runs)}",
            file=place,
            remedy=f"see: hazardmill run list --store {shlex.quote(place)}",
        )
    raise InputError(
        f"run {run_id} has nothing on {asked}",
        file=place,
        remedy=f"use a run that has something on it: {', '.join(runs)}"
        if runs
        else "no run has processed that record yet",
    )


def _unknown(view: StoreView, asked: str) -> InputError:
    place = view.store.address
    source, _, native_id = asked.partition(":")
    refused = view.rows("rejects", {"source": source, "native_id": native_id}) if native_id else []
    if refused:
        why = refused[-1]
        return InputError(
            f"{asked} did not become a record: {why['message']}",
            file=why["file"],
            line=None if why["line"] < 0 else why["line"],
            remedy=why["remedy"],
        )
    if asked in view.runs:
        return InputError(
            f"{asked} is a run, not a record or task",
            file=place,
            remedy=f"see: hazardmill report --run {shlex.quote(asked)} --store {shlex.quote(place)}",
        )
    known = [*view.column_values("records", "record_id"), *set(view.column_values("tasks", "task_id"))]
    sql = '"select record_id, outcome, task_id from outcomes limit 10"'
    return InputError(
        f"there is no record or task {asked!r} in this store{_suggestion(asked, known)}",
        file=place,
        remedy=f"list some with: hazardmill query {sql} --store {shlex.quote(place)}",
    )


def _suggestion(asked: str, known: Iterable[str]) -> str:
    """Return ``; did you mean ...?`` with the ids that are spelled most alike, or nothing."""
    near = similar_ids(asked, known)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def similar_ids(asked: str, known: Iterable[str]) -> list[str]:
    """Find ids that are spelled like a given one.

    Args:
        asked: The id that is not known.
        known: The ids that exist; among many, only those that begin or end alike are compared.

    Returns:
        At most three ids, the most similar first.
    """
    return difflib.get_close_matches(asked, _neighbours(asked, sorted(known)), n=3, cutoff=0.7)


def _neighbours(asked: str, known: list[str]) -> list[str]:
    """Return ids that begin or end like a given one: a single typo leaves one of the two intact."""
    if len(known) <= 4 * _NEIGHBOURS:
        return known
    backwards = sorted(text[::-1] for text in known)
    near = _around(known, asked) + [text[::-1] for text in _around(backwards, asked[::-1])]
    return list(dict.fromkeys(near))


def _around(ordered: list[str], text: str) -> list[str]:
    at = bisect_left(ordered, text)
    return ordered[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
