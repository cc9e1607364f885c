"""``hazardmill task verify``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import InputError, StoreError
from hazardmill.store.store import Store
from hazardmill.text.printable import printable
from hazardmill.verification.findings import TaskFinding
from hazardmill.verification.folder import verify_folders
from hazardmill.verification.stored import verify_store


@click.command(epilog="Example: hazardmill task verify demo-out/tasks")
@click.argument("place", metavar="FOLDER|STORE")
@json_option
def verify(place: str, as_json: bool) -> None:
    """Find out whether tasks still say one thing in all of their parts.

    FOLDER is a task folder, or one above several; STORE is the folder or the address of a store. All that follows from
    a task's document is worked out again and compared: code, PDDL, plans, certificate with its witnesses, contrast
    twin, hash and id. What does not follow from it must be the same in every place that says it.

    Exit code 1 if something was found, 3 if there is no task here or the folder or store cannot be read.
    """
    store = _store_at(place)
    if store is not None:
        verified = verify_store(store)
        tasks, findings = verified.tasks, verified.findings
    else:
        tasks, findings = _in_folders(Path(place))
    if as_json:
        print_json({"tasks": tasks, "findings": [asdict(finding) for finding in findings]})
    else:
        show_findings(findings)
        click.echo(f"tasks: {tasks}; " + (f"{len(findings)} finding(s)" if findings else "all well"))
    if findings:
        sys.exit(1)


def show_findings(findings: Iterable[TaskFinding]) -> None:
    """A line for each finding."""
    for finding in findings:
        click.echo(printable(str(finding)))


def verify_deep(store: Store) -> tuple[TaskFinding, ...]:
    """What is found of the tasks of a store; that they cannot be read is a finding too."""
    try:
        return verify_store(store).findings
    except StoreError as error:
        remedy = error.remedy or "mend what is found of its files"
        return (TaskFinding("unreadable", store.address, "tasks", f"no task can be verified: {error.message}", remedy),)


def _store_at(place: str) -> Store | None:
    """The store; null where a folder is none."""
    # An address, or a path that is wrong: the store says what is wrong with it.
    if not Path(place).is_dir() and "://" not in place:
        raise InputError("there is no such folder or store", file=place, remedy="name a task folder, or a store")
    try:
        return Store.open(place)
    except StoreError:
        if "://" in place:
            raise
        return None


def _in_folders(root: Path) -> tuple[int, tuple[TaskFinding, ...]]:
    tasks = 0
    found: list[TaskFinding] = []
    for _, findings in verify_folders(root):
        tasks += 1
        found += findings
    return tasks, tuple(found)
