"""``hazardmill task check``: the execution checks on files of code, one or thousands."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.ticker import Ticker
from hazardmill.errors import UsageError
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.settings import load_settings
from hazardmill.text.printable import printable
from hazardmill.verification.batch_check import CheckedFile, CheckSettings, check_files, find_work, signal_as
from hazardmill.verification.batch_counts import CheckCounts


@click.command(epilog="Example: hazardmill task check demo-out/tasks --out checked")
@click.argument("place", metavar="CODE.py|DIR", type=click.Path(path_type=Path))
@click.option(
    "--unavoidable", is_flag=True, help="Treat the danger as declared unavoidable [default: if the task declares it]."
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=DRAFT_LIMIT,
    show_default=True,
    help="Maximum number of expansions of a search.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 3_600, min_open=True),
    default=10.0,
    show_default=True,
    help="Time limit for the code of one file, in seconds.",
)
@click.option("--jail", type=click.Choice(["auto", "full", "minimal"]), help="Jail profile [default: setting `jail`].")
@click.option(
    "--jobs", type=click.IntRange(1), help="Number of processes [default: one per core, if there is work for them]."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="New or empty folder for the task folders of accepted files [default: nothing is written].",
)
@json_option
def check(
    place: Path,
    unavoidable: bool,
    limit: int,
    timeout: float,
    jail: Literal["auto", "full", "minimal"] | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the code of tasks in the jail, with all execution checks.

    CODE.py is a module as the author stage writes it; DIR holds such modules at any depth, including task folders. Each
    file goes through the checks of policy, jail, document, both plans, certificate and PDDL. The first check that fails
    is reported in the words that the author stage would get.

    Exit code 1 if a file is not accepted, or if there is no jail here; 3 if there is nothing to check.
    """  # noqa: DOC501  # the docstring is the command's help
    terms = CheckSettings(jail or load_settings().jail, timeout, limit)
    work = find_work(place, out, unavoidable)
    if out is not None and out.is_dir() and any(out.iterdir()):
        raise UsageError("the folder is not empty", file=str(out), remedy="name another folder for --out")
    counts = CheckCounts()
    ticker = Ticker()
    # SIGTERM ends the command as Ctrl-C does.
    ends = signal_as(signal.SIGTERM, signal.default_int_handler)
    with ends, contextlib.closing(check_files(work, terms, jobs)) as results:
        for result in results:
            counts.add(result, keep=as_json)
            if not as_json:
                for line in in_words(result):
                    click.echo(line)
            else:
                ticker.tell(f"{counts.files}/{len(work)} files checked")
    if as_json:
        print_json({**counts.to_json(), "out": None if out is None else str(out)})
    else:
        for line in _counts_in_words(counts):
            click.echo(line)
    if counts.accepted < counts.files:
        sys.exit(1)


def _counts_in_words(counts: CheckCounts) -> Iterator[str]:
    """Render the counts for people."""
    failed = counts.files - counts.accepted - counts.unknown
    unknown = f", not known: {counts.unknown}" if counts.unknown else ""
    yield f"files: {counts.files}; accepted: {counts.accepted}, failed: {failed}{unknown}"
    for (check, reason), count in counts.reasons_by_frequency():
        yield f"  {check}: {reason}: {count}"


def in_words(result: CheckedFile) -> Iterator[str]:
    """Render the result for one file for people."""
    if result.accepted:
        plans = f"safe {result.safe_plan or 'none'}; unsafe {result.unsafe_plan or 'none'}"
        notes = "".join(
            f"; {title}: {', '.join(names)}"
            for title, names in (("findings", result.findings), ("undecided", result.undecided))
            if names
        )
        yield printable(f"{result.file}: accepted: {plans}{notes}")
        return
    word = "not known" if result.accepted is None else "failed"
    yield printable(f"{result.file}: {word}: {result.check}: {result.reason}")
    for line in (result.feedback or f"found: {result.message}\nmend: {result.mend}").splitlines():
        yield printable(f"  {line}")
