"""Two releases held against one another: which tasks came, went and changed, and what else is different.

Tasks are compared in DuckDB by a hash a column, so that texts of a release never are in memory together. A task is the
same if its id is, which stands for its document; where a record has one task on each side only, and they differ in
document, that is one changed task and not one gone and one new.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import InputError
from hazardmill.records import FrozenModel
from hazardmill.release.build.configs import PROVENANCE
from hazardmill.release.diff.load import ComparedRelease, open_side, task_files
from hazardmill.release.diff.semver import SchemaChange, Step, VersionFinding, findings, schema_changes, step_between

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FORMAT: Final = "hazardmill-release-diff/1"

DOCUMENT: Final = "document"
PROVENANCE_ONLY: Final = "provenance"

_REASONS: Final[dict[str, str]] = {
    "document_hash": DOCUMENT,
    "document": "texts",
    "context": "texts",
    **dict.fromkeys(
        (
            "setting",
            "robot_role",
            "robot_task",
            "changing_cause",
            "fixed_circumstances",
            "cause_of_danger",
            "entity_in_danger",
            "result_of_danger",
            "danger_action",
            "instantaneous_avoidability",
            "instantaneous_solution",
            "assumptions",
        ),
        "danger",
    ),
    "danger_group": "danger",
    "danger_type": "danger",
    "avoidability": "danger",
    **dict.fromkeys(
        ("safe_plan", "unsafe_plan", "safe_length", "unsafe_length", "plan_length", "safety_effort"), "plans"
    ),
    "certificate": "proof",
    "proof": "proof",
    "domain_pddl": "PDDL",
    "problem_pddl": "PDDL",
    "structure_id": "structure",
    "group": "structure",
    "licence": "licence",
    "attribution": "licence",
    "split": "split",
    "config": "config",
    "review_policy": "review",
    "reviewers": "review",
    "approvals": "review",
    **dict.fromkeys(("code", "drafts", "answered_by", "record_id", "source", *PROVENANCE), PROVENANCE_ONLY),
}
"""Column to what its change is called; a column that is not here is called by its own name."""

_DIMENSIONS: Final = (
    "source",
    "danger_group",
    "danger_type",
    "avoidability",
    "split",
    "licence",
    "plan_length",
    "safety_effort",
)
"""Columns whose distributions are told side by side."""

_KEYS: Final = ("task_id", "record_id")
"""Columns without which there is nothing to compare."""


class ComparedVersion(FrozenModel):
    """One of the two releases."""

    name: str
    version: str
    date: str | None
    manifest_sha256: str
    tasks: int


class UnpairedTask(FrozenModel):
    """A task that only one of the releases has."""

    task_id: str
    record_id: str
    split: str
    why: str


class ChangedTask(FrozenModel):
    """A task that both have, and not alike."""

    task_id: str
    was: str | None = None
    """Its earlier id, where its document is another one."""
    reasons: tuple[str, ...]
    columns: tuple[str, ...]
    """What differs, in the order of the names."""

    @property
    def only_provenance(self) -> bool:
        """Whether the task is the same, and only where it came from is told differently."""
        return self.reasons == (PROVENANCE_ONLY,)


class CountPair(FrozenModel):
    """How many tasks have a value, in the one and in the other."""

    value: str | int | None
    """Null where a task has none, as an unavoidable one has no plan length."""
    old: int
    new: int


class Rows(FrozenModel):
    """The rows of a config in the one and in the other, by split."""

    config: str
    split: str
    old: int
    new: int


class Diff(FrozenModel):
    """Everything that is different between two releases."""

    format: str = FORMAT
    old: ComparedVersion
    new: ComparedVersion
    step: Step
    """By which of its numbers the version differs."""
    added: tuple[UnpairedTask, ...]
    removed: tuple[UnpairedTask, ...]
    changed: tuple[ChangedTask, ...]
    unchanged: int
    schema_changes: tuple[SchemaChange, ...]
    rows: tuple[Rows, ...]
    distributions: dict[str, tuple[CountPair, ...]]
    findings: tuple[VersionFinding, ...]
    """What the version number is too small for."""

    @property
    def reasons(self) -> dict[str, int]:
        """Why tasks changed, to how many did for it, the commonest first; one task may have several reasons."""
        counted = Counter(reason for each in self.changed for reason in each.reasons)
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def diff_folders(old: Path, new: Path) -> Diff:
    """Compare the releases in two folders, after every file is checked.

    Raises:
        InputError: A folder holds no release, or a damaged one.
    """
    return compare(open_side(old), open_side(new))


def compare(old: ComparedRelease, new: ComparedRelease) -> Diff:
    """Compare two releases.

    Args:
        old: The earlier.
        new: The later.

    Raises:
        InputError: A file is not what a release has there.
    """
    import duckdb

    shapes = [{config: _types(side, config) for config in side.configs} for side in (old, new)]
    try:
        with duckdb.connect() as connection:
            for name, side in (("old", old), ("new", new)):
                _view(connection, name, side)
            columns = [_columns(connection, name) for name in ("old", "new")]
            # A column of another type is told once, and not of every task.
            alike = [column for column, type_ in columns[0].items() if columns[1].get(column) == type_]
            added, removed, changed, unchanged = _tasks(connection, [each for each in alike if each not in _KEYS])
            distributions = {
                dimension: _beside(connection, dimension, [each.get(dimension) for each in columns])
                for dimension in _DIMENSIONS
                if any(dimension in each for each in columns)
            }
    except duckdb.Error as error:
        raise InputError(
            f"the releases cannot be compared: {str(error).splitlines()[0]}",
            file=str(new.folder),
            remedy="name two releases of hazardmill",
        ) from error
    schema = schema_changes(*shapes)
    counts = {
        "added": len(added),
        "removed": len(removed),
        "changed": sum(not each.only_provenance for each in changed),
    }
    which = [_which(side) for side in (old, new)]
    same = which[0].manifest_sha256 == which[1].manifest_sha256
    versions = old.manifest.version, new.manifest.version
    return Diff(
        old=which[0],
        new=which[1],
        step=step_between(*versions),
        added=added,
        removed=removed,
        changed=changed,
        unchanged=unchanged,
        schema_changes=schema,
        rows=_rows(old, new),
        distributions=distributions,
        findings=findings(*versions, schema, counts, same),
    )


def _which(side: ComparedRelease) -> ComparedVersion:
    manifest = side.manifest
    date = None if manifest.date is None else manifest.date.isoformat()
    return ComparedVersion(
        name=manifest.name,
        version=manifest.version,
        date=date,
        manifest_sha256=manifest.sha256(),
        tasks=manifest.tasks,
    )


def _types(side: ComparedRelease, config: str) -> dict[str, str]:
    return {field.name: str(field.type) for field in side.schema(config)}


def _view(connection: DuckDBPyConnection, name: str, side: ComparedRelease) -> None:
    """A view of all tasks of a release, each with its config and split."""
    parts: list[str] = []
    for config, split, path in task_files(side):
        schema = side.schema(config)
        for key in _KEYS:
            if key not in schema.names:
                raise InputError(
                    f"there is no column {key} in it", file=str(path), remedy="name a release of hazardmill"
                )
        # A column of its own called so gives way: where the row lies is what is compared.
        own = [each for each in ("config", "split") if each in schema.names]
        rest = f"* exclude ({', '.join(own)})" if own else "*"
        parts.append(f"select {rest}, {_text(config)} as config, {_text(split)} as split from {_table(path)}")
    if not parts:
        raise InputError("the release holds no task", file=str(side.folder), remedy="name a release that was built")
    connection.execute(f"create view {name} as {' union all by name '.join(parts)}")


def _columns(connection: DuckDBPyConnection, name: str) -> dict[str, str]:
    """Column to type, as DuckDB has it."""
    return {row[0]: row[1] for row in connection.execute(f"describe {name}").fetchall()}


def _tasks(
    connection: DuckDBPyConnection, columns: Sequence[str]
) -> tuple[tuple[UnpairedTask, ...], tuple[UnpairedTask, ...], tuple[ChangedTask, ...], int]:
    for side in ("old", "new"):
        hashes = ", ".join(f"hash({_name(column)}) as {_name(column)}" for column in columns)
        connection.execute(
            f"create table {side}_hashes as select task_id, record_id, config as in_config, split as in_split"
            f"{', ' if hashes else ''}{hashes} from {side}"
        )
        _refuse_repeats(connection, side)
    connection.execute(_PAIRS)
    differing = ", ".join(
        f"case when o.{_name(column)} is distinct from n.{_name(column)} then {_text(column)} end" for column in columns
    )
    paired = connection.execute(
        f"""
        select pairs.new_id, pairs.old_id, list_filter([{differing}], lambda each: each is not null)
        from pairs join old_hashes o on o.task_id = pairs.old_id join new_hashes n on n.task_id = pairs.new_id
        order by pairs.new_id
        """
    ).fetchall()
    changed = tuple(
        _changed_task(new_id, None if new_id == old_id else old_id, found)
        for new_id, old_id, found in paired
        if found or new_id != old_id
    )
    added, removed = (_only(connection, *sides) for sides in (("new", "old"), ("old", "new")))
    return added, removed, changed, len(paired) - len(changed)


# By id, and then by record, where one task of it is left on each side.
_PAIRS: Final = """
    create table pairs as
    with
        kept as (select task_id from old_hashes semi join new_hashes using (task_id)),
        gone as (select * from old_hashes anti join kept using (task_id)),
        came as (select * from new_hashes anti join kept using (task_id)),
        replaced as (
            select min(came.task_id) as new_id, min(gone.task_id) as old_id
            from came join gone using (record_id) group by record_id having count(*) = 1
        )
    select task_id as new_id, task_id as old_id from kept
    union all select new_id, old_id from replaced
"""


def _changed_task(task_id: str, was: str | None, columns: Iterable[str]) -> ChangedTask:
    named = sorted(columns)
    reasons = {_REASONS.get(column, column) for column in named}
    if was is not None:
        reasons.add(DOCUMENT)
    # Where the document is another one, all that follows from it is no reason of its own.
    if DOCUMENT in reasons:
        reasons -= {"texts", "plans", "proof", "PDDL", "structure"}
    if len(reasons) > 1:
        reasons.discard(PROVENANCE_ONLY)
    order = [*dict.fromkeys(_REASONS.values()), *sorted(reasons)]
    return ChangedTask(
        task_id=task_id,
        was=was,
        reasons=tuple(dict.fromkeys(reason for reason in order if reason in reasons)),
        columns=tuple(named),
    )


def _only(connection: DuckDBPyConnection, here: str, there: str) -> tuple[UnpairedTask, ...]:
    rows = connection.execute(
        f"""
        select task_id, record_id, in_split, record_id in (select record_id from {there}_hashes)
        from {here}_hashes anti join pairs on pairs.{here}_id = task_id order by task_id
        """
    ).fetchall()
    if here == "new":
        why = {False: "a record that had no task", True: "another task of a record that had one"}
    else:
        why = {False: "no task of its record is left", True: "other tasks of its record are left"}
    return tuple(
        UnpairedTask(task_id=task, record_id=record, split=split, why=why[more]) for task, record, split, more in rows
    )


def _refuse_repeats(connection: DuckDBPyConnection, side: str) -> None:
    twice = connection.execute(
        f"select task_id from {side}_hashes group by task_id having count(*) > 1 order by task_id limit 1"
    ).fetchone()
    if twice is not None:
        raise InputError(
            f"the {'earlier' if side == 'old' else 'later'} release has the task {twice[0]} twice",
            remedy="build it again: a task is in one split of one config",
        )


def _beside(connection: DuckDBPyConnection, dimension: str, types: Sequence[str | None]) -> tuple[CountPair, ...]:
    counted: list[Mapping[Any, int]] = []
    for side, type_ in zip(("old", "new"), types, strict=True):
        value = _name(dimension) if type_ == "BIGINT" else f"cast({_name(dimension)} as varchar)"
        query = f"select {value}, count(*) from {side} group by all"
        counted.append({} if type_ is None else dict(connection.execute(query).fetchall()))
    values = sorted({*counted[0], *counted[1]}, key=lambda value: (value is None, isinstance(value, str), value))
    return tuple(CountPair(value=value, old=counted[0].get(value, 0), new=counted[1].get(value, 0)) for value in values)


def _rows(old: ComparedRelease, new: ComparedRelease) -> tuple[Rows, ...]:
    before, after = old.manifest.counts, new.manifest.counts
    places = sorted({(config, split) for counts in (before, after) for config in counts for split in counts[config]})
    return tuple(
        Rows(
            config=config,
            split=split,
            old=before.get(config, {}).get(split, 0),
            new=after.get(config, {}).get(split, 0),
        )
        for config, split in places
    )


def _table(path: Path) -> str:
    # A folder's name is no pattern, and holds no column, whatever signs are in it.
    return f"read_parquet({_text(glob.escape(str(path)))}, hive_partitioning = false)"


def _text(value: str) -> str:
    quoted = value.replace("'", "''")
    return f"'{quoted}'"


def _name(value: str) -> str:
    quoted = value.replace('"', '""')
    return f'"{quoted}"'
