"""``hazardmill store verify | digest | copy | export | compact | rebuild``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.store import Store
from hazardmill.store.maintenance.compact import TARGET_BYTES, MaintenanceSummary
from hazardmill.store.maintenance.findings import Finding as StoreFinding
from hazardmill.store.maintenance.findings import command
from hazardmill.store.maintenance.rebuild import RebuildReport
from hazardmill.store.run_ids import known_runs, unknown_run
from hazardmill.store.schemas import TABLES
from hazardmill.store_access import open_store
from hazardmill.store_export import DESCRIPTION, Format, export_store
from hazardmill.text.printable import printable_lines
from hazardmill.text.suggestions import unknown_name
from hazardmill.verification.findings import TaskFinding
from hazardmill.verification.stored import findings_in_store


@click.command(epilog="Example: hazardmill store verify --store demo-out/store")
@click.option("--deep", is_flag=True, help="Also verify every task, as `task verify` does.")
@store_option
@json_option
def verify(deep: bool, store_path: Path | None, as_json: bool) -> None:
    """Check that all files are intact and no required row is missing.

    A row is required if another row depends on it. The command cannot detect that the most recent commits are missing
    altogether, as in an outdated copy of the store. To rule that out, compare the last commit that it reports with the
    last one you know of. Exit code 1 if something is wrong.
    """
    opened = open_store(store_path)
    findings: list[StoreFinding | TaskFinding] = [*opened.verify(), *(findings_in_store(opened) if deep else ())]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            click.echo(printable_lines(str(finding)))
        number, committed = opened.last_commit()
        upto = f" up to commit {number} of {committed}" if number else ""
        click.echo(f"{len(findings)} finding(s)" if findings else f"all well{upto}")
    if findings:
        sys.exit(1)


@click.command(epilog="Example: hazardmill store digest --run generate-20260131-235959-1a2b3c")
@click.option("--run", "run_id", help="Only this run and the rows it depends on.")
@click.option(
    "--without", "columns", multiple=True, metavar="COLUMN", help="Leave out this column; repeat for several."
)
@store_option
@json_option
def digest(run_id: str | None, columns: tuple[str, ...], store_path: Path | None, as_json: bool) -> None:
    """Print a hash per table, equal for runs with equal results.

    Ids and times do not affect the hash, nor does it matter whether a run was killed and resumed.
    """  # noqa: DOC501  # the docstring is the command's help
    opened = open_store(store_path)
    if run_id is not None and not opened.count("runs", {"run_id": run_id}):
        raise unknown_run(run_id, known_runs(opened), opened.address)
    covered = sorted({name for table in TABLES.values() for name in table.stable_columns})
    unknown = [name for name in columns if name not in covered]
    if unknown:
        raise unknown_name(
            f"the digest covers no column named {unknown[0]}",
            unknown[0],
            covered,
            remedy="its columns have `yes` under `digest` in generated/README.md of the source code",
        )
    digests = opened.digest(run_id, columns)
    if as_json:
        print_json(digests)
        return
    for table, value in digests.items():
        click.echo(f"{value}  {table}")


@click.command(epilog="Example: hazardmill store copy generated/store s3://bucket/prefix")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--live", is_flag=True, help="Copy while runs are at work; what they have not committed is left out.")
@json_option
def copy(source: str, target: str, live: bool, as_json: bool) -> None:
    """Copy a store between folders and buckets (s3://bucket/prefix).

    If a copy was interrupted, the same command resumes it; later, it adds what was committed since. Without --live, a
    store with rows that are not committed is refused.
    """
    # Addresses as typed: as paths, s3:// would lose a slash.
    copied = Store.open(source).copy_to(Store(target), None if as_json else _show_progress, live=live)
    if as_json:
        print_json(asdict(copied))
    else:
        again = f", {copied.parts_before} of them already there" if copied.parts_before else ""
        click.echo(f"{copied.commits} commit(s), {copied.parts} part(s), {copied.bytes / 1e6:.1f} MB{again}")


def _show_progress(done: int, of: int) -> None:
    if done and done % 500 == 0 and done < of:
        click.echo(f"{done} of {of} commit(s)", err=True)


@click.command(epilog="Example: hazardmill store export --to parquet exported")
@click.argument("out", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--to", "format_", type=click.Choice(get_args(Format)), required=True, help="What to write.")
@store_option
@json_option
def export(out: Path, format_: Format, store_path: Path | None, as_json: bool) -> None:
    """Write a snapshot of a store as Parquet, Delta tables or DuckLake.

    DIR must not exist. It holds a Parquet file per table, with the last row of each key, and export.json, which names
    the store, its last commit, and rows and SHA-256 of each file. Delta adds a log per table, DuckLake a catalogue
    (catalog.sqlite). Runs can continue meanwhile.
    """
    made = export_store(open_store(store_path), format_, out)
    if as_json:
        print_json(asdict(made))
        return
    tables = made.tables.values()
    rows, size = sum(table.rows for table in tables), sum(table.bytes for table in tables) / 1e6
    click.echo(f"{len(tables)} table(s), {rows} row(s), {size:.1f} MB up to commit {made.commit}")
    click.echo(printable_lines(f"described in {out / DESCRIPTION}"))


@click.command(epilog="Example: hazardmill store compact --store demo-out/store --target 256")
@click.option("--target", type=click.IntRange(min=1), metavar="MB", help="Size at which a new part is full.")
@store_option
@json_option
def compact(target: int | None, store_path: Path | None, as_json: bool) -> None:
    """Merge many small parts into a few large ones; no digest changes.

    Runs and readers can continue meanwhile.
    """
    size = TARGET_BYTES if target is None else target * 10**6
    _show_maintained(open_store(store_path).compact(target=size), as_json)


def _show_maintained(done: MaintenanceSummary, as_json: bool) -> None:
    if as_json:
        print_json(asdict(done))
    elif not done.commits:
        click.echo(f"nothing to do: {done.parts_before} part(s), {done.bytes_before / 1e6:.1f} MB")
    else:
        click.echo(f"parts: {done.parts_before} -> {done.parts_after}")
        click.echo(f"size:  {done.bytes_before / 1e6:.1f} -> {done.bytes_after / 1e6:.1f} MB")
        if done.rows_dropped:
            click.echo(f"{done.rows_dropped} row(s) dropped because a later one of the same run replaced them")


@click.command(epilog="Example: hazardmill store rebuild --dry-run")
@click.option("--dry-run", is_flag=True, help="Report what is damaged and what would be done; change nothing.")
@store_option
@json_option
def rebuild(dry_run: bool, store_path: Path | None, as_json: bool) -> None:
    """Quarantine damaged files, and restore the store as far as possible.

    Exit code 1 if something is lost for good.
    """
    opened = open_store(store_path)
    done = opened.rebuild(dry_run=dry_run)
    if as_json:
        print_json({**asdict(done), "whole": done.whole})
    else:
        _show_rebuild(done, opened.path)
    if not done.whole:
        sys.exit(1)


def _show_rebuild(done: RebuildReport, place: Path) -> None:
    for damage in done.damages:
        click.echo(printable_lines(f"{damage.file}: {damage.message} ({damage.code})\n    {damage.action}"))
    if not done.damages:
        click.echo("no file is damaged")
    if done.rows_lost:
        click.echo("rows lost: " + ", ".join(f"{count} of {table}" for table, count in done.rows_lost.items()))
    would = "would be retracted" if done.dry_run else "retracted"
    for run_id, count in done.retracted.items():
        click.echo(f"run {run_id}: {count} record(s) {would} because their rows are incomplete")
    for run_id, count in done.pending.items():
        again = f"run resume {run_id}"
        click.echo(f"run {run_id}: {count} record(s) left to process; resume with: {command(again, place)}")
    for sentence in done.lost:
        click.echo(printable_lines(f"LOST: {sentence}"))
    if done.whole:
        click.echo("the store would be whole" if done.dry_run else "the store is whole")
    if done.dry_run and (done.damages or done.retracted):
        click.echo(f"to do so: {command('store rebuild', place)}")
