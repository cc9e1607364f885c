"""Rendering the differences between two releases as text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hazardmill.release.build.configs import SPLITS
from hazardmill.release.diff.compare import ChangedTask, ComparedVersion, CountPair, Diff, UnpairedTask
from hazardmill.text.printable import printable

STEP_WORDS: Final = {
    "none": "the same version",
    "patch": "a patch step",
    "minor": "a minor step",
    "major": "a major step",
    "back": "a step back",
}

_TITLES: Final = {
    "source": "source",
    "danger_group": "danger group",
    "danger_type": "danger type",
    "avoidability": "avoidability",
    "split": "split",
    "licence": "licence",
    "plan_length": "plan length (actions)",
    "safety_effort": "safety effort (actions)",
}
"""Column to its heading; lengths are in actions."""


def title(dimension: str) -> str:
    """Return the heading of a compared column; unknown columns keep their own name."""
    return _TITLES.get(dimension, dimension)


def in_order(dimension: str, values: Iterable[CountPair]) -> list[CountPair]:
    """Return the values of a compared column in the order for display: splits as train, validation, test.

    Args:
        dimension: Name of the column.
        values: Its values, sorted; this order is kept for all columns except ``split``.
    """
    if dimension != "split":
        return list(values)
    return sorted(values, key=lambda each: SPLITS.index(each.value) if each.value in SPLITS else len(SPLITS))


def render_value(value: str | int | None) -> str:
    """Render a value of a compared column; None as ``none``."""
    return "none" if value is None else str(value)


def lines(diff: Diff, examples: int) -> Iterator[str]:
    """Yield the differences between two releases as lines of text.

    Args:
        diff: The differences.
        examples: Maximum number of tasks to name per kind: added, removed, changed.
    """
    yield f"{_version_line(diff.old)} -> {_version_line(diff.new)}: {STEP_WORDS[diff.step]}"
    yield (
        f"tasks: {len(diff.added):,} added, {len(diff.removed):,} removed, {len(diff.changed):,} changed,"
        f" {diff.unchanged:,} as they were"
    )
    yield from _list_entries("added", [_unpaired_line(each) for each in diff.added], examples)
    yield from _list_entries("removed", [_unpaired_line(each) for each in diff.removed], examples)
    why = ", ".join(f"{reason} {number:,}" for reason, number in diff.reasons.items())
    yield from _list_entries(f"changed (by reason: {why})", [_changed_line(each) for each in diff.changed], examples)
    yield from _list_entries(
        "what can be loaded", [str(change) for change in diff.schema_changes], len(diff.schema_changes)
    )
    yield from _tables(diff)
    if diff.findings:
        yield f"the version number is too small for this: {len(diff.findings):,}"
        yield from (f"  {each.message} [{each.remedy}]" for each in diff.findings)
    else:
        yield "the version number covers these changes"


def _tables(diff: Diff) -> Iterator[str]:
    """Render counts of both releases side by side; all tables share the same column widths."""
    rows = {each.config: [0, 0] for each in diff.rows}
    for each in diff.rows:
        rows[each.config][0] += each.old
        rows[each.config][1] += each.new
    tables = [("rows by config", [(config, old, new) for config, (old, new) in rows.items()])]
    for dimension, values in diff.distributions.items():
        counted = [(render_value(value.value), value.old, value.new) for value in in_order(dimension, values)]
        tables.append((f"tasks by {title(dimension)}", counted))
    cells = []
    for head, table in tables:
        cells.append((head, diff.old.version, diff.new.version, "change"))
        cells += [(f"  {printable(name)}", f"{old:,}", f"{new:,}", change(old, new)) for name, old, new in table]
    wide = [max(len(row[place]) for row in cells) for place in range(4)]
    for name, *figures in cells:
        yield "  ".join([name.ljust(wide[0]), *(cell.rjust(wide[place]) for place, cell in enumerate(figures, 1))])


def change(old: int, new: int) -> str:
    """Render the change of a count: ``+3``, ``-1,200``, or ``=`` for none."""
    return f"{new - old:+,}" if new != old else "="


def _list_entries(head: str, entries: Sequence[str], examples: int) -> Iterator[str]:
    if not entries:
        return
    yield f"{head}: {len(entries):,}"
    yield from (f"  {printable(entry)}" for entry in entries[:examples])
    if len(entries) > examples:
        yield f"  and {len(entries) - examples:,} more (all of them: --json)"


def _version_line(which: ComparedVersion) -> str:
    return printable(f"{which.name} {which.version} ({which.tasks:,} tasks, {which.date or 'no date'})")


def _unpaired_line(each: UnpairedTask) -> str:
    return f"{each.task_id} ({each.split}): {each.record_id}, {each.why}"


def _changed_line(each: ChangedTask) -> str:
    was = f", was {each.was}" if each.was else ""
    return f"{each.task_id}{was}: {', '.join(each.reasons)} ({', '.join(each.columns)})"
