"""``hazardmill store verify | digest``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from hazardmill.commands.options import json_option, open_store, print_json, store_option
from hazardmill.errors import InputError


@click.group(epilog="Example: hazardmill store verify --store demo-out/store")
def store() -> None:
    """Verify or digest a store."""


@store.command(epilog="Example: hazardmill store verify --store demo-out/store")
@store_option
@json_option
def verify(store_path: Path | None, as_json: bool) -> None:
    """Check every file of the store; exit code 1 if something is wrong."""
    findings = open_store(store_path).verify()
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            click.echo(str(finding))
        click.echo(f"{len(findings)} finding(s)" if findings else "all well")
    if findings:
        sys.exit(1)


@store.command(epilog="Example: hazardmill store digest --run generate-20260131-235959-1a2b3c")
@click.option("--run", "run_id", help="Only what this run stands on.")
@store_option
@json_option
def digest(run_id: str | None, store_path: Path | None, as_json: bool) -> None:
    """Print a hash a table: equal for equal runs, whatever their ids and times, killed and resumed or not."""
    opened = open_store(store_path)
    if run_id is not None and not opened.count("runs", {"run_id": run_id}):
        raise InputError(f"there is no run {run_id} here", remedy="see: hazardmill run list")
    digests = opened.digest(run_id)
    if as_json:
        print_json(digests)
        return
    for table, value in digests.items():
        click.echo(f"{value}  {table}")
