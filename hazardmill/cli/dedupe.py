"""``hazardmill dedupe``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.ticker import Ticker
from hazardmill.quality.contamination import OVERLAP, N
from hazardmill.quality.dedupe import CorpusFindings, DedupeReport, dedupe_store, overlaps
from hazardmill.quality.duplicates import Contradiction
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill dedupe --store demo-out/store --against other/tasks")
@click.option(
    "--run", "run_id", help="Only the tasks of this run [default: the latest version of each task, from all runs]."
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="DIR|STORE",
    help="Another corpus, such as a release, to search for these tasks.",
)
@click.option(
    "--examples",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Maximum number of findings of each kind to list.",
)
@store_option
@json_option
def dedupe(run_id: str | None, against: Path | None, examples: int, store_path: Path | None, as_json: bool) -> None:
    """Find tasks that differ only in names and wording, in the store and in another corpus.

    A task is a duplicate of an earlier one if both have the same structure and nearly the same text. Labels (danger
    type, danger group, entity in danger, avoidability) are reported as contradictory if two tasks with nearly the same
    text, or with the same structure, have different ones. DIR may hold text, JSON, JSON lines, Parquet, PDDL or task
    folders. All definitions are in docs/near-duplicates.md.

    Exit code 1 if there is a duplicate, a contradiction between nearly equal texts, a task that overlaps with the other
    corpus or whose structure occurs there, or something that cannot be read. Exit code 3 if there is no task, or
    nothing to compare with.
    """
    found = dedupe_store(open_store(store_path), run_id, against, Ticker().tell)
    if as_json:
        print_json(found.to_json())
    else:
        for line in in_words(found, examples):
            click.echo(line)
    if found.failed:
        sys.exit(1)


def in_words(found: DedupeReport, examples: int) -> Iterator[str]:
    """Yield the findings as lines for people.

    Args:
        found: The findings.
        examples: The most lines of each kind; the number of those left out follows them.
    """
    for title, lines in _sections(found):
        yield title
        for line in lines[:examples]:
            yield printable(f"  {line}")
        if len(lines) > examples:
            yield f"  and {len(lines) - examples} more: --json has all of them"


def _sections(found: DedupeReport) -> Iterator[tuple[str, list[str]]]:
    yield (
        f"{found.tasks} tasks of {len(found.structures)} structures; {found.near} with nearly an earlier one's text",
        [],
    )
    if found.unreadable:
        yield f"unreadable: {len(found.unreadable)}", [f"{task}: {message}" for task, message in found.unreadable]
    if found.without_structure:
        title = f"too large and regular to have a structure id: {len(found.without_structure)}"
        yield title, found.without_structure
    yield (
        f"duplicates (same structure, near text): {len(found.duplicates)}",
        [f"{task} of {twin.task_id}, Rouge-L {twin.similarity:.2f}" for task, twin in found.duplicates],
    )
    told = {"text": "near text", "both": "near text and same structure", "structure": "only the same structure"}
    for basis, name in told.items():
        alike = [each for each in found.contradictions if each.basis == basis]
        yield f"contradictory labels, {name}: {len(alike)}", [_contradiction(each) for each in alike]
    if found.against is not None:
        yield from _other_sections(found.against)


def _contradiction(each: Contradiction) -> str:
    labels = "; ".join(f"{name} {ours} against {theirs}" for name, ours, theirs in each.labels)
    return f"{each.task_id} and {each.other}: {labels}"


def _other_sections(other: CorpusFindings) -> Iterator[tuple[str, list[str]]]:
    skipped = f", {other.skipped} files of other kinds skipped" if other.skipped else ""
    yield f"against {other.place}: {other.pieces} pieces with {other.documents} task documents{skipped}", []
    if other.problems:
        yield f"unreadable: {len(other.problems)}", [f"{each.place}: {each.message}" for each in other.problems]
    overlapping = sorted((each for each in other.overlaps if overlaps(each)), key=lambda each: -(each.share or 0))
    lines = [f"{each.task_id}: {each.found} of {each.ngrams} {N}-grams, most in {each.place}" for each in overlapping]
    yield f"tasks with at least {OVERLAP:.0%} of their {N}-grams there: {len(lines)}", lines
    same = [each for each in other.overlaps if each.structure is not None]
    lines = [f"{each.task_id}: {each.structure}" + _and_more(each.structures - 1) for each in same]
    yield f"tasks whose structure occurs there: {len(lines)}", lines
    unknown = [each.task_id for each in other.overlaps if each.share is None]
    if unknown:
        yield f"tasks without {N} words in a row, whose share is unknown: {len(unknown)}", unknown


def _and_more(count: int) -> str:
    return f" and {count} more" if count else ""
