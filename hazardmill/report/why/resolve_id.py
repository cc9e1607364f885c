"""Resolve an id to a record and a run, and explain an id that the store does not have."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from hazardmill.errors import InputError, UnknownName
from hazardmill.report.why.rows import StoreView
from hazardmill.text.suggestions import unknown_name


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
        raise unknown_name(
            f"there is no run {run_id!r} in this store",
            run_id,
            view.runs,
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
        return UnknownName(
            f"{asked} is a run, not a record or task",
            file=place,
            remedy=f"see: hazardmill report --run {shlex.quote(asked)} --store {shlex.quote(place)}",
        )
    known = [*view.column_values("records", "record_id"), *set(view.column_values("tasks", "task_id"))]
    sql = '"select record_id, outcome, task_id from outcomes limit 10"'
    return unknown_name(
        f"there is no record or task {asked!r} in this store",
        asked,
        known,
        file=place,
        remedy=f"list some with: hazardmill query {sql} --store {shlex.quote(place)}",
    )
