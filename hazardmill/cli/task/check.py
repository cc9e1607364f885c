"""``hazardmill task check``: the execution checks on files of code, one or thousands."""

from __future__ import annotations

import contextlib
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.ticker import Ticker
from hazardmill.errors import UsageError
from hazardmill.files import read_regular
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.settings import load_settings
from hazardmill.text.printable import printable
from hazardmill.text.standard_streams import decode_names
from hazardmill.verification.batch_check import CheckedFile, CheckSettings, check_files, find_work, signal_as
from hazardmill.verification.batch_counts import CheckCounts

_CORRECT: Final = "correct the code there, and check it again; docs/formalism.md says what a task declares"
"""What to do about a problem, such as an exception, for which nothing else is known to help."""

_LONGEST: Final = 100
"""Maximum number of characters shown of a line of code."""


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
@click.option(
    "--feedback",
    is_flag=True,
    help="Show what failed in the words that a model would get as the author; --json always has them.",
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
    feedback: bool,
    as_json: bool,
) -> None:
    """Run the code of tasks in the jail, with all execution checks.

    CODE.py is a module as the author stage writes it; DIR holds such modules at any depth, including task folders. Each
    file goes through the checks of policy, jail, document, both plans, certificate and PDDL. Of the first check that
    fails, everything is reported that it found: what is wrong, where, and what to do.

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
        for item, result in zip(work, results, strict=True):
            counts.add(result, keep=as_json)
            if not as_json:
                for line in in_words(result, item.path, feedback=feedback):
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


def in_words(result: CheckedFile, path: Path, *, feedback: bool) -> Iterator[str]:
    """Render the result for one file: for people, or with ``feedback`` as its author would be told."""
    if result.accepted:
        plans = f"safe {result.safe_plan or 'none'}; unsafe {result.unsafe_plan or 'none'}"
        notes = "".join(
            f"; {title}: {', '.join(names)}"
            for title, names in (("findings", result.findings), ("undecided", result.undecided))
            if names
        )
        yield printable(decode_names(f"{result.file}: accepted: {plans}{notes}"))
        return
    word = "not known" if result.accepted is None else "failed"
    yield printable(decode_names(f"{result.file}: {word}: {result.check}: {result.reason}"))
    if feedback and result.feedback is not None:
        told: Iterable[str] = result.feedback.splitlines()
    else:
        told = _explain(result, path)
    yield from (printable(decode_names(f"  {line}")) for line in told)


def _explain(result: CheckedFile, path: Path) -> Iterator[str]:
    """Yield what is wrong, where, and what to do about it, problem by problem."""
    code = _read_lines(path) if result.problems else []
    for problem in result.problems:
        line = _line_in_message(problem.message) or _line_that_names(problem.trace, code)
        where = f"{path}:{line}: {_shorten(code[line - 1])}" if line is not None and line <= len(code) else f"{path}"
        yield f"wrong: {problem.message}"
        yield f"where: {where}"
        yield f"remedy: {problem.mend or _CORRECT}"
    if not result.problems:
        yield f"wrong: {result.message}"
        yield f"where: {path}"
        if result.mend:
            yield f"remedy: {result.mend}"


def _read_lines(path: Path) -> list[str]:
    try:
        return read_regular(path).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _line_in_message(message: str) -> int | None:
    """Return the line, from 1, that a message begins with."""
    found = re.match(r"line ([1-9][0-9]{0,8}):", message)
    return None if found is None else int(found[1])


def _line_that_names(trace: Iterable[str], code: Sequence[str]) -> int | None:
    """Return the first line of code, from 1, that declares or mentions a name of a problem's evidence."""
    for name in (name for text in trace for name in re.findall(r"[A-Za-z_]\w*", text.partition(": ")[2])):
        quoted = re.compile(rf"""["']{name}["']""")
        for number, line in enumerate(code, 1):
            if quoted.search(line):
                return number
    return None


def _shorten(line: str) -> str:
    text = line.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
