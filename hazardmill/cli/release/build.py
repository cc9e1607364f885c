"""``hazardmill release build``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from pydantic import ValidationError

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.review.review import folder_option
from hazardmill.cli.thresholds import read_thresholds
from hazardmill.cli.ticker import Ticker
from hazardmill.errors import ReleaseRefused, UsageError
from hazardmill.release.build.build import BuiltRelease
from hazardmill.release.build.build import build as build_release
from hazardmill.release.build.configs import BY_SA, BY_SA_MEANS
from hazardmill.release.build.options import WAIVER, Options
from hazardmill.settings import load_settings
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable

_POLICIES: Final = ("any-reject", "majority", "adjudicated", "none")


@click.command(epilog="Example: hazardmill release build --version 1.0.0 --policy majority")
@click.option("--version", required=True, metavar="X.Y.Z", help="Version of the release.")
@click.option("--name", default="hazardmill", show_default=True, help="Name of the dataset.")
@click.option(
    "--policy",
    type=click.Choice(_POLICIES),
    default="any-reject",
    show_default=True,
    help="Rule by which the reviewers' decisions accept a task. With `none`, every task is released, whether "
    "reviewed or not, and the card says so.",
)
@click.option("--run", "runs", multiple=True, help="Run to take tasks from; repeat for several [default: all].")
@click.option(
    "--allow-offline",
    is_flag=True,
    help="Include tasks that were not written by a known language model: those written by hazardmill's rules, and "
    "those from recordings that do not come with hazardmill.",
)
@click.option(
    "--local-model",
    "local_models",
    multiple=True,
    metavar="NAME",
    help="Include tasks with answers from this model at a private address; the card names the model. Repeat for "
    "several.",
)
@click.option("--with-answers", is_flag=True, help="Publish the models' answers verbatim, with the drafts.")
@click.option(
    "--waive",
    "waived",
    multiple=True,
    metavar=WAIVER,
    help="Release although the gate `corpus` fails, the only one that can be waived; the card gives the reason.",
)
@click.option(
    "--leave-out",
    "leave_out",
    multiple=True,
    metavar="GATE",
    help="Leave out the tasks that this gate refuses, such as `personal_data`, and release the others; repeat for "
    "several. The card counts them.",
)
@click.option(
    "--threshold",
    "settings",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Threshold of the corpus gate, as in `hazardmill task lint`; repeat for several.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the splits.")
@click.option(
    "--parent",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the previous release: tasks keep their splits, changes are listed, and too small a version"
    " step is refused.",
)
@click.option(
    "--household",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder that `household generate` wrote: its tasks are proved anew and released too, without a review.",
)
@click.option("--doi", help="DOI of the release, such as 10.5281/zenodo.1234567 [default: the setting `doi`].")
@click.option("--jobs", type=click.IntRange(1, 64), help="Processes that validate tasks [default: one per processor].")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder of the release, which must not exist [default: releases/NAME-X.Y.Z].",
)
@folder_option
@store_option
@json_option
def build(
    version: str,
    name: str,
    policy: str,
    runs: tuple[str, ...],
    allow_offline: bool,
    local_models: tuple[str, ...],
    with_answers: bool,
    waived: tuple[str, ...],
    leave_out: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int,
    parent: Path | None,
    household: Path | None,
    doi: str | None,
    jobs: int | None,
    out: Path | None,
    folder: Path,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Build a versioned dataset from the tasks of a store.

    Writes Parquet files, task folders, a card and a manifest. Every task is validated again from its document, and all
    gates must pass; docs/releases.md says what they require. The same store, review and options give the same bytes. If
    a gate refuses the release, the reasons are listed (with --json, every finding), nothing is written, and the exit
    code is 1.
    """  # noqa: DOC501  # the docstring is the command's help
    try:
        options = Options.model_validate(
            {
                "version": version,
                "name": name,
                "policy": policy,
                "runs": runs,
                "allow_offline": allow_offline,
                "local_models": local_models,
                "with_answers": with_answers,
                "waive": _reasons(waived),
                "leave_out": leave_out,
                "thresholds": read_thresholds(settings),
                "seed": seed,
                "parent": parent,
                "household": household,
                "doi": doi,
                "jobs": jobs or os.cpu_count() or 1,
            }
        )
    except ValidationError as error:
        raise _usage(error) from None
    options = options.fill_from_settings(load_settings())
    ticker = Ticker(quiet=as_json)
    place = out or Path("releases") / f"{name}-{version}"
    # Household tasks come from no store: there need not be one, unless it was named.
    store = open_store(store_path, create=household is not None and store_path is None)
    try:
        built = build_release(store, folder, options, place, lambda done, of: ticker.tell(f"{done:,} of {of:,} tasks"))
    except ReleaseRefused as refused:
        if as_json:
            print_json({"refused": refused.message, "findings": list(refused.findings), "remedy": refused.remedy})
            sys.exit(refused.exit_code)
        for line in refused.summary:
            click.echo(printable(line), err=True)
        raise
    if as_json:
        print_json(_in_json(built, options))
        return
    _print_built(built)


def _reasons(waived: Sequence[str]) -> dict[str, str]:
    reasons = {}
    for each in waived:
        gate, equals, reason = each.partition("=")
        if not equals:
            raise click.BadParameter(f"{each!r} gives no reason: write --waive {WAIVER}", param_hint="--waive")
        reasons[gate] = reason
    return reasons


def _usage(error: ValidationError) -> UsageError:
    first = error.errors()[0]
    option = str(first["loc"][0]).replace("_", "-")
    return UsageError(
        f"--{option}: {first['msg'].removeprefix('Value error, ')}", remedy="see: hazardmill release build --help"
    )


def _in_json(built: BuiltRelease, options: Options) -> dict[str, object]:
    return {
        "folder": str(built.folder),
        "version": options.version,
        "manifest": built.manifest.sha256(),
        "tasks": built.manifest.tasks,
        "scenarios": built.manifest.scenarios,
        "hazard_tasks": built.manifest.hazard_tasks,
        "household_tasks": built.manifest.household_tasks,
        "counts": built.manifest.counts,
        "left_out": built.manifest.left_out,
        "left_out_by_gates": built.manifest.left_out_by_gates,
        "offline": built.manifest.offline,
        "gates": [
            {
                "name": gate.name,
                "passed": gate.passed,
                "looked": gate.looked,
                "found": gate.found,
                "waived": gate.waived,
                "not_judged": list(gate.not_judged),
                "findings": list(gate.in_words),
                "left_out": [finding.in_words for finding in gate.left_out],
            }
            for gate in built.gates
        ],
    }


def _print_built(built: BuiltRelease) -> None:
    manifest = built.manifest
    for gate in built.gates:
        if gate.waived is not None:
            click.echo(printable(f"gate {gate.name} waived: {gate.waived}"))
            for line in gate.summary:
                click.echo(printable(f"  {line}"))
        if gate.left_out:
            click.echo(f"left out by the gate {gate.name}: {len(gate.left_out_tasks):,}")
            for line in gate.left_out_summary:
                click.echo(printable(f"  {line}"))
        if gate.not_judged:
            click.echo(printable(f"gate {gate.name} did not judge: {'; '.join(gate.not_judged)}"))
    share_alike = next((config for config in manifest.counts if config.endswith(BY_SA)), None)
    for config, splits in manifest.counts.items():
        if config == share_alike:
            click.echo(f"configs with {BY_SA} are {BY_SA_MEANS}:")
        told = ", ".join(f"{rows:,} {split}" for split, rows in splits.items())
        click.echo(f"{config}: {told}")
    for reason, count in manifest.left_out.items():
        click.echo(f"left out, {reason}: {count:,}")
    if manifest.archive.unsayable:
        click.echo(
            f"not in the archive, because the DESPITE format cannot express them: {manifest.archive.unsayable:,}"
        )
    if manifest.offline:
        click.echo(f"written by our rules, not by a language model: {manifest.offline:,} of {manifest.contents}")
    click.echo(f"{built.folder}: {manifest.name} {manifest.version}, {manifest.contents}, manifest {manifest.sha256()}")
