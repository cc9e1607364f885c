"""``hazardmill task check``: the execution checks on files of code, one or thousands."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.task.certify import declared_unavoidable
from hazardmill.errors import InputError, UsageError
from hazardmill.files import walk_folders
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.settings import load_settings
from hazardmill.text.printable import printable
from hazardmill.verification.batch_check import CODE, CheckedFile, Terms, Work, checked, signal_as

_SAY_EVERY_S: Final = 3.0


@click.command(epilog="Example: hazardmill task check demo-out/tasks --out checked")
@click.argument("place", metavar="CODE.py|DIR", type=click.Path(path_type=Path))
@click.option(
    "--unavoidable", is_flag=True, help="The danger is declared such that no plan avoids it [default: if it is]."
)
@click.option(
    "--limit", type=click.IntRange(1), default=DRAFT_LIMIT, show_default=True, help="Most expansions of a search."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 3_600, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds that the code of one file may run.",
)
@click.option("--jail", type=click.Choice(["auto", "full", "minimal"]), help="Jail profile [default: setting `jail`].")
@click.option("--jobs", type=click.IntRange(1), help="Processes [default: one a core, if there is work for them].")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="New or empty folder for the task folders of what is accepted [default: nothing is written].",
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
    """Run the code of tasks in the jail and prove what is to be proved.

    CODE.py is a module as the author stage writes it; DIR holds such modules at any depth, task folders included. Each
    goes through policy, jail, document, both plans, certificate and PDDL, and the first check that fails is told in
    the words that the author would get.

    Exit code 1 if a file is not accepted, or if there is no jail here, 3 if there is nothing to check.
    """
    terms = Terms(jail or load_settings().jail, timeout, limit)
    work = work_in(place, out, unavoidable)
    if out is not None and out.is_dir() and any(out.iterdir()):
        raise UsageError("the folder is not empty", file=str(out), remedy="name another folder for --out")
    told = CheckCounts()
    last = time.monotonic()
    # SIGTERM ends the command as Ctrl-C does.
    ends = signal_as(signal.SIGTERM, signal.default_int_handler)
    with ends, contextlib.closing(checked(work, terms, jobs)) as results:
        for result in results:
            told.add(result, keep=as_json)
            if not as_json:
                for line in in_words(result):
                    click.echo(line)
            elif time.monotonic() - last > _SAY_EVERY_S:
                last = time.monotonic()
                click.echo(f"{told.files}/{len(work)} files checked", err=True)
    if as_json:
        print_json({**told.to_json(), "out": None if out is None else str(out)})
    else:
        for line in told.in_words():
            click.echo(line)
    if told.accepted < told.files:
        sys.exit(1)


@dataclass
class CheckCounts:
    """Counts over all files."""

    files: int = 0
    accepted: int = 0
    unknown: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By check and reason."""
    results: list[CheckedFile] = field(default_factory=list)

    def add(self, result: CheckedFile, *, keep: bool) -> None:
        """Count one file in."""
        self.files += 1
        self.accepted += result.accepted is True
        self.unknown += result.accepted is None
        if result.check is not None and result.reason is not None:
            self.reasons[result.check, result.reason] += 1
        if keep:
            self.results.append(result)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "files": self.files,
            "accepted": self.accepted,
            "failed": self.files - self.accepted - self.unknown,
            "unknown": self.unknown,
            "reasons": [
                {"check": check, "reason": reason, "files": count} for (check, reason), count in self._sorted()
            ],
            "results": [asdict(result) for result in self.results],
        }

    def in_words(self) -> Iterator[str]:
        """Lines for people."""
        failed = self.files - self.accepted - self.unknown
        unknown = f", not known: {self.unknown}" if self.unknown else ""
        yield f"files: {self.files}; accepted: {self.accepted}, failed: {failed}{unknown}"
        for (check, reason), count in self._sorted():
            yield f"  {check}: {reason}: {count}"

    def _sorted(self) -> list[tuple[tuple[str, str], int]]:
        return sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))


def work_in(place: Path, out: Path | None, unavoidable: bool = False) -> list[Work]:
    """The files to check, in the order of their names.

    Args:
        place: A file, or a folder: all Python files at and below it, hidden ones excepted.
        out: Where task folders go: that of ``a/code.py`` to ``a``, that of ``a/b.py`` to ``a/b``.
        unavoidable: Whether all dangers are declared so. Otherwise those are whose task folder says it.

    Raises:
        InputError: There is none.
        UsageError: Two of them would go to the same folder.
    """
    root = place if place.is_dir() else place.parent
    if place.is_dir():
        found = sorted(_modules_below(place))
    elif os.path.lexists(place):
        found = [place]
    else:
        raise InputError("there is no such file or folder", file=str(place), remedy="name a Python file, or a folder")
    if not found:
        raise InputError("no Python file is here", file=str(place), remedy="name a folder with code.py or other .py")
    work = []
    writers: dict[Path, str] = {}
    for path in found:
        inside = path.relative_to(root)
        target = None
        if out is not None:
            target = out / (inside.parent if path.name == CODE else inside.with_suffix(""))
            if target in writers:
                raise UsageError(
                    f"{inside} and {writers[target]} would go to the same folder {target}", remedy="rename one of them"
                )
            writers[target] = str(inside)
        declared = unavoidable or (path.name == CODE and declared_unavoidable(path.parent))
        work.append(Work(inside.as_posix(), path, target, declared))
    return work


def _modules_below(folder: Path) -> Iterator[Path]:
    for place, _, names in walk_folders(folder):
        # What is no regular file is told when it comes to be read.
        yield from (place / name for name in names if name.endswith(".py") and not name.startswith("."))


def in_words(result: CheckedFile) -> Iterator[str]:
    """One file for people."""
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
