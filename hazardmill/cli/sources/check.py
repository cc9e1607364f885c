"""``hazardmill sources check``."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.ingest.sources import Source
from hazardmill.ingest.sources.project import load_from
from hazardmill.testing.conformance import REQUIREMENTS, Requirement, describe_failure

_PATIENCE_S: Final = 300.0
"""Seconds for one requirement: a source that waits for a pipe would wait for ever."""


@click.command(epilog="Example: hazardmill sources check ./hazardmill-recipes")
@click.argument("name", metavar="NAME|FOLDER")
@json_option
def check(name: str, as_json: bool) -> None:
    """Check that a source does what every source must do.

    NAME is a source that is found by name, FOLDER that of a source that you are writing, or of its project. The
    requirements are checked on its sample and its cases. Exit code 1 if one is not kept.
    """
    findings = [
        {"source": source.name, "requirement": requirement.name, "failure": _examine(requirement, source)}
        for source in load_from(name)
        for requirement in REQUIREMENTS
    ]
    failed = sum(finding["failure"] is not None for finding in findings)
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            kept = finding["failure"] is None
            click.echo(f"{finding['source']}: {'ok    ' if kept else 'FAILED'} {finding['requirement']}")
            if not kept:
                click.echo(f"    {finding['failure']}")
        click.echo(f"{len(findings) - failed} of {len(findings)} requirements are kept")
    if failed:
        sys.exit(1)


def _examine(requirement: Requirement, source: Source) -> str | None:
    """Return why a requirement is not kept; None if it is. In a process of its own, which can be ended."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    # The folder is of this process: the other one may be ended before it has removed anything.
    with tempfile.TemporaryDirectory(prefix="hazardmill-source-") as folder:
        child = context.Process(target=_work, args=(requirement, source, Path(folder), there), daemon=True)
        child.start()
        there.close()
        try:
            if not here.poll(_PATIENCE_S):
                return f"it was not done after {_PATIENCE_S:g} s: perhaps it waits for a file that is none"
            said: str | None = here.recv()
            return said
        except EOFError:
            return "the process that read the input ended without a word"
        finally:
            child.kill()
            child.join()


def _work(requirement: Requirement, source: Source, folder: Path, answer: Connection) -> None:
    try:
        requirement.examine(source, folder)
    except Exception as error:
        answer.send(describe_failure(error))
    else:
        answer.send(None)
