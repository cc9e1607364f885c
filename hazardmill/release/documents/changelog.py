"""Writing CHANGELOG.md of the data: the differences from the parent release, followed by the parent's changelog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError, ReleaseRefused
from hazardmill.files import read_regular
from hazardmill.release.diff.compare import ChangedTask, Diff, UnpairedTask, compare
from hazardmill.release.diff.load import ComparedRelease, open_side
from hazardmill.release.diff.render import change, in_order, render_value, title
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.markdown import Ready, table, words
from hazardmill.release.gates.gates import LEFT_OUT_BECAUSE
from hazardmill.release.manifest import ReleaseManifest
from hazardmill.reporting.html import write_text

CHANGELOG: Final = "CHANGELOG.md"

NAMED: Final = 50
"""Maximum number of tasks to name per kind: added, removed, changed."""

_HEAD: Final = "# Changelog of the data\n"


def write_changelog(folder: Path, facts: Facts) -> list[str]:
    """Write CHANGELOG.md.

    Args:
        folder: Folder of the release, with its data files: these are compared with the parent's.
        facts: The facts of the release.

    Returns:
        Path of the file within the folder.

    Raises:
        ReleaseRefused: The version is too small a step for what differs.
        InputError: The parent is not a release, or is damaged.
        StoreError: The file cannot be written.
    """
    write_text(folder / CHANGELOG, changelog(folder, facts), what="changelog")
    return [CHANGELOG]


def changelog(folder: Path, facts: Facts) -> str:
    """Return the changelog: the differences from the parent release, followed by the parent's own changelog.

    Args:
        folder: Folder of the release, with its data files.
        facts: The facts of the release.

    Raises:
        ReleaseRefused: The version is too small a step for what differs.
        InputError: The parent is not a release, or is damaged.
    """
    manifest = facts.manifest
    date = f" ({manifest.date.isoformat()})" if manifest.date else ""
    head = f"## {words(manifest.version)}{date}\n"
    if facts.parent is None:
        first = "\n\n".join([f"First release: {manifest.contents}.", *_left_out(manifest)])
        return f"{_HEAD}\n{head}\n{first}\n"
    parent = open_side(facts.parent)
    diff = compare(parent, ComparedRelease(folder, manifest))
    if diff.findings:
        raise ReleaseRefused(
            f"version {manifest.version} is too small a step from its parent {diff.old.version}",
            findings=tuple(f"version: {each.message} [{each.remedy}]" for each in diff.findings),
            remedy="give it a higher version, as listed; nothing was written",
        )
    return f"{_HEAD}\n{head}\n" + "\n\n".join([*_paragraphs(diff), *_left_out(manifest)]) + f"\n\n{_earlier(parent)}"


def _paragraphs(diff: Diff) -> Iterator[str]:
    counted = f"{len(diff.added):,} added, {len(diff.removed):,} removed, {len(diff.changed):,} changed"
    yield f"Since {words(diff.old.version)}: {counted}, {diff.unchanged:,} as they were."
    if diff.reasons:
        yield table(("Changed in", "Tasks"), [(reason, f"{number:,}") for reason, number in diff.reasons.items()])
    if diff.schema_changes:
        yield "What can be loaded:\n\n" + "\n".join(f"- {words(each)}" for each in diff.schema_changes)
    yield from _list_entries("Added", [_unpaired_line(each) for each in diff.added])
    yield from _list_entries("Removed", [_unpaired_line(each) for each in diff.removed])
    yield from _list_entries("Changed", [_changed_line(each) for each in diff.changed])
    rows = [
        (
            f"{title(dimension)}: {render_value(each.value)}",
            f"{each.old:,}",
            f"{each.new:,}",
            change(each.old, each.new),
        )
        for dimension, values in diff.distributions.items()
        for each in in_order(dimension, values)
        if each.old != each.new
    ]
    if rows:
        yield table(("Tasks by", diff.old.version, diff.new.version, "Change"), rows)


def _left_out(manifest: ReleaseManifest) -> Iterator[str]:
    for gate, number in manifest.left_out_by_gates.items():
        yield f"Left out by the gate `{gate}`, as {LEFT_OUT_BECAUSE[gate]}: {number:,}."


def _list_entries(head: str, entries: Sequence[Ready]) -> Iterator[str]:
    if not entries:
        return
    more = len(entries) - NAMED
    last = [f"- and {more:,} more: see `hazardmill release diff`"] if more > 0 else []
    yield f"{head}:\n\n" + "\n".join([*(f"- {entry}" for entry in entries[:NAMED]), *last])


def _unpaired_line(each: UnpairedTask) -> Ready:
    return words(f"{each.task_id} ({each.split}): {each.why}")


def _changed_line(each: ChangedTask) -> Ready:
    was = f", was {each.was}" if each.was else ""
    return words(f"{each.task_id}{was}: {', '.join(each.reasons)}")


def _earlier(parent: ComparedRelease) -> str:
    """Return the changelog of the parent release, without its heading; one line if it has none."""
    path = parent.folder / CHANGELOG
    if CHANGELOG not in parent.manifest.files:
        date = f" ({parent.manifest.date.isoformat()})" if parent.manifest.date else ""
        return f"## {words(parent.manifest.version)}{date}\n\n{parent.manifest.contents}.\n"
    try:
        text = read_regular(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the parent's changelog cannot be read: {error}", file=str(path), remedy="get that release again"
        ) from error
    return text.removeprefix(_HEAD).lstrip("\n")
