"""``hazardmill run recheck``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.run_options import JailProfile
from hazardmill.runs.recheck import RecheckSummary, chunks
from hazardmill.runs.recheck import recheck as recheck_chunk
from hazardmill.settings import load_settings
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill run recheck generate-20260131-235959-1a2b3c --json")
@click.argument("run_ids", nargs=-1, metavar="[RUN_ID]...")
@click.option("--jail", type=click.Choice(["auto", "full", "minimal"]), help="Jail profile [default: setting `jail`].")
@store_option
@json_option
def recheck(run_ids: tuple[str, ...], jail: JailProfile | None, store_path: Path | None, as_json: bool) -> None:
    """Execute drafts of runs again, and compare with the store.

    Every verdict and proof is compared; nothing is written. Without RUN_ID all runs are checked. A difference means
    that the stored verdict was made by another version of hazardmill or with less time or memory, or that something is
    damaged. Checks of packages that a run names run too, so these packages must be installed. Equal verdicts give the
    same digest on every machine. To spread the work over several machines, see docs/scaling.md.

    Exit code 1 if anything differs, or if there is no jail here; 3 if there is nothing to check, or if a run was left
    out because a package is gone.
    """
    store = open_store(store_path)
    profile = jail or load_settings().jail
    left_out: list[str] = []
    work = chunks(store, run_ids or None, left_out=left_out)
    total, found = sum(len(chunk.drafts) for chunk in work), RecheckSummary(left_out=tuple(left_out))
    for chunk in work:
        found += recheck_chunk(store, chunk, jail=profile)
        if not as_json:
            click.echo(f"{found.drafts} of {total} drafts", err=True)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _show(found)
    if found.differing or found.left_out:
        sys.exit(1 if found.differing else 3)


def _show(found: RecheckSummary) -> None:
    click.echo(f"{found.drafts} drafts executed again in {', '.join(found.jails)}: {found.accepted} pass every check")
    click.echo(f"digest of all verdicts: {found.digest}")
    click.echo(f"different from what the store says: {found.differing}")
    for each in found.differences:
        click.echo(printable(f"  {each.in_words}"))
    for why in found.left_out:
        click.echo(printable(f"left out: {why}"))
