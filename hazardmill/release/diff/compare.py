"""Comparing two releases: which tasks were added, removed and changed, and what else differs.

Tasks are compared in DuckDB by one hash per column, so that the texts of a release are never in memory together. Tasks
with the same id are the same task, as an id stands for a document. If exactly one task of a record is left over in each
release, the two count as one changed task, and not as one removed and one added.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import InputError
from hazardmill.records import FrozenModel
from hazardmill.release.build.configs import HAZARD_TASK_PLANS, ID_OF, PROVENANCE, base_of
from hazardmill.release.build.household_config import HOUSEHOLD_PLANS
from hazardmill.release.diff.load import ComparedRelease, open_side, task_files
from hazardmill.release.diff.semver import SchemaChange, Step, VersionFinding, findings, schema_changes, step_between

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FORMAT: Final = "hazardmill-release-diff/1"

DOCUMENT: Final = "document"
PROVENANCE_ONLY: Final = "provenance"

_REASONS: Final[dict[str, str]] = {
    "document_hash": DOCUMENT,
    "scenario": DOCUMENT,
    **dict.fromkeys(("kind", "instruction", "target", "hazard", "risk", "harm", "categories", "compiled"), "risk"),
    **dict.fromkeys(("requirements", "rule_kind"), "risk"),
    **dict.fromkeys(("task", "room"), "texts"),
    **dict.fromkeys(HOUSEHOLD_PLANS, "plans"),
    **dict.fromkeys(("plan", "careless_plan", "steps", "shortest_plans", "corrected"), "plans"),
    **dict.fromkeys(HAZARD_TASK_PLANS, "plans"),
    **dict.fromkeys(("dialogue", "turn", "turns", "role", "seeds"), "dialogue"),
    "objects": DOCUMENT,
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
"""Column to the reason that is reported for its change; other columns are reported by their own name."""

_DIMENSIONS: Final = (
    "source",
    "danger_group",
    "danger_type",
    "avoidability",
    "split",
    "licence",
    "plan_length",
    "safety_effort",
    "kind",
    "target",
    "hazard",
)
"""Columns whose distributions are compared."""

_KEYS: Final = ("task_id", "record_id", "made_as")
"""Columns of a view by which tasks are paired. ``made_as`` says what was made of the record: a task, or a scenario of
some kind."""


class ComparedVersion(FrozenModel):
    """Which release one side of the comparison is.

    Attributes:
        name: Name of the dataset.
        version: Its version.
        date: ISO date of the release; None if its manifest has none.
        manifest_sha256: Hash of its manifest, which stands for all its bytes.
        tasks: Number of its tasks.
    """

    name: str
    version: str
    date: str | None
    manifest_sha256: str
    tasks: int


class UnpairedTask(FrozenModel):
    """A task that only one of the releases has.

    Attributes:
        task_id: Its id.
        record_id: The record that it was made from.
        split: Its split.
        why: Whether the other release has other tasks of the record, in words.
    """

    task_id: str
    record_id: str
    split: str
    why: str


class ChangedTask(FrozenModel):
    """A task that both releases have, with differences.

    Attributes:
        task_id: Its id in the later release.
        was: Its id in the earlier release, if its document has changed; otherwise None.
        reasons: Which parts differ, such as ``document`` or ``plans``. What follows from a changed document is no
            reason of its own.
        columns: Columns that differ, sorted by name.
    """

    task_id: str
    was: str | None = None
    reasons: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def only_provenance(self) -> bool:
        """Whether the task itself is the same, and only columns on its origin differ."""
        return self.reasons == (PROVENANCE_ONLY,)


class CountPair(FrozenModel):
    """How many tasks have some value of a column, in each release.

    Attributes:
        value: The value; None for tasks without one, as unavoidable tasks have no plan length.
        old: Number of tasks in the earlier release.
        new: Number of tasks in the later release.
    """

    value: str | int | None
    old: int
    new: int


class RowCounts(FrozenModel):
    """How many rows a split of a config has, in each release.

    Attributes:
        config: Name of the config.
        split: Name of the split.
        old: Number of rows in the earlier release; 0 if it has no such file.
        new: Number of rows in the later release; 0 if it has no such file.
    """

    config: str
    split: str
    old: int
    new: int


class Diff(FrozenModel):
    """All differences between two releases, as ``release diff --json`` prints them.

    Attributes:
        format: Name and version of this structure.
        old: The earlier release.
        new: The later release.
        step: Which of its three numbers changed from one version to the other.
        added: Tasks that only the later release has, by id.
        removed: Tasks that only the earlier release has, by id.
        changed: Tasks that both have, with differences, by id.
        unchanged: Number of tasks that are equal in both.
        schema_changes: Configs and columns that were added, removed, or have another type.
        rows: Rows per config and split.
        distributions: Column to the number of tasks per value.
        findings: Differences for which the step of the version is too small.
    """

    format: str = FORMAT
    old: ComparedVersion
    new: ComparedVersion
    step: Step
    added: tuple[UnpairedTask, ...]
    removed: tuple[UnpairedTask, ...]
    changed: tuple[ChangedTask, ...]
    unchanged: int
    schema_changes: tuple[SchemaChange, ...]
    rows: tuple[RowCounts, ...]
    distributions: dict[str, tuple[CountPair, ...]]
    findings: tuple[VersionFinding, ...]

    @property
    def reasons(self) -> dict[str, int]:
        """Number of changed tasks per reason, the most frequent first; one task may have several reasons."""
        counted = Counter(reason for each in self.changed for reason in each.reasons)
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def diff_folders(old: Path, new: Path) -> Diff:
    """Return the differences between the releases in two folders, after all their files have been checked.

    Args:
        old: Folder of the earlier release.
        new: Folder of the later release.

    Raises:
        InputError: A folder has no release or a damaged one, or the two cannot be compared.
    """
    return compare(open_side(old), open_side(new))


def compare(old: ComparedRelease, new: ComparedRelease) -> Diff:
    """Return the differences between two releases.

    Args:
        old: The earlier release.
        new: The later release.

    Raises:
        InputError: A release holds no task or the same task twice, a file is not Parquet, or a column for comparing
            tasks is missing.
    """
    import duckdb

    shapes = [{config: _types(side, config) for config in side.configs} for side in (old, new)]
    try:
        with duckdb.connect() as connection:
            for name, side in (("old", old), ("new", new)):
                _view(connection, name, side)
            columns = [_columns(connection, name) for name in ("old", "new")]
            # A column whose type changed is one schema change, and not a change of every task.
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
    """Create a view of all tasks of a release, each with its config and split."""
    parts: list[str] = []
    for config, split, path in task_files(side):
        schema = side.schema(config)
        # Other ids are compared like that of a task.
        id_ = ID_OF.get(base_of(config), "task_id")
        # A household task comes from no record, and stands for itself.
        is_household = id_ == "household_task_id"
        for key in (id_,) if is_household else (id_, "record_id"):
            if key not in schema.names:
                raise InputError(
                    f"there is no column {key} in it", file=str(path), remedy="name a release of hazardmill"
                )
        # A release may have columns of these names; the place of the row is compared instead.
        own = [each for each in ("config", "split", "made_as", *ID_OF.values()) if each in schema.names]
        rest = f"* exclude ({', '.join(own)})" if own else "*"
        renamed = "" if id_ == "task_id" else f"{id_} as task_id, "
        renamed += f"{id_} as record_id, " if is_household else ""
        made_as = "kind" if id_ == "scenario_id" and "kind" in schema.names else _text(id_.removesuffix("_id"))
        parts.append(
            f"select {renamed}{rest}, {made_as} as made_as, {_text(config)} as config, {_text(split)} as split"
            f" from {_table(path)}"
        )
    if not parts:
        raise InputError("the release holds no task", file=str(side.folder), remedy="name a release that was built")
    connection.execute(f"create view {name} as {' union all by name '.join(parts)}")


def _columns(connection: DuckDBPyConnection, name: str) -> dict[str, str]:
    """Return the DuckDB type of each column of a view."""
    return {row[0]: row[1] for row in connection.execute(f"describe {name}").fetchall()}


def _tasks(
    connection: DuckDBPyConnection, columns: Sequence[str]
) -> tuple[tuple[UnpairedTask, ...], tuple[UnpairedTask, ...], tuple[ChangedTask, ...], int]:
    for side in ("old", "new"):
        hashes = ", ".join(f"hash({_name(column)}) as {_name(column)}" for column in columns)
        connection.execute(
            f"create table {side}_hashes as select task_id, record_id, made_as, config as in_config, split as in_split"
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


# Tasks are paired by id, and then by record if exactly one task of a record is left in each release. A task is never
# paired with a scenario of the same record, nor are scenarios of different kinds.
_PAIRS: Final = """
    create table pairs as
    with
        kept as (select task_id from old_hashes semi join new_hashes using (task_id)),
        gone as (select * from old_hashes anti join kept using (task_id)),
        came as (select * from new_hashes anti join kept using (task_id)),
        replaced as (
            select min(came.task_id) as new_id, min(gone.task_id) as old_id
            from came join gone using (record_id, made_as) group by record_id, made_as having count(*) = 1
        )
    select task_id as new_id, task_id as old_id from kept
    union all select new_id, old_id from replaced
"""


def _changed_task(task_id: str, was: str | None, columns: Iterable[str]) -> ChangedTask:
    named = sorted(columns)
    reasons = {_REASONS.get(column, column) for column in named}
    if was is not None:
        reasons.add(DOCUMENT)
    # If the document has changed, whatever follows from it is no reason of its own.
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
            f"the {'earlier' if side == 'old' else 'later'} release contains the task {twice[0]} twice, but a task may "
            "be in only one split of one config",
            remedy="build that release again",
        )


def _beside(connection: DuckDBPyConnection, dimension: str, types: Sequence[str | None]) -> tuple[CountPair, ...]:
    counted: list[Mapping[Any, int]] = []
    for side, type_ in zip(("old", "new"), types, strict=True):
        value = _name(dimension) if type_ == "BIGINT" else f"cast({_name(dimension)} as varchar)"
        query = f"select {value}, count(*) from {side} group by all"
        counted.append({} if type_ is None else dict(connection.execute(query).fetchall()))
    values = sorted({*counted[0], *counted[1]}, key=lambda value: (value is None, isinstance(value, str), value))
    return tuple(CountPair(value=value, old=counted[0].get(value, 0), new=counted[1].get(value, 0)) for value in values)


def _rows(old: ComparedRelease, new: ComparedRelease) -> tuple[RowCounts, ...]:
    before, after = old.manifest.counts, new.manifest.counts
    places = sorted({(config, split) for counts in (before, after) for config in counts for split in counts[config]})
    return tuple(
        RowCounts(
            config=config,
            split=split,
            old=before.get(config, {}).get(split, 0),
            new=after.get(config, {}).get(split, 0),
        )
        for config, split in places
    )


def _table(path: Path) -> str:
    # The path may contain characters of patterns, and parts such as "a=b", which DuckDB would turn into a column.
    return f"read_parquet({_text(glob.escape(str(path)))}, hive_partitioning = false)"


def _text(value: str) -> str:
    quoted = value.replace("'", "''")
    return f"'{quoted}'"


def _name(value: str) -> str:
    quoted = value.replace('"', '""')
    return f'"{quoted}"'
