"""``hazardmill sources list | show | fetch``."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import RunStopped
from hazardmill.ingest.fetch.catalogue import PublishedFile, choose, read_catalogue
from hazardmill.ingest.fetch.fetch import FetchedFile
from hazardmill.ingest.fetch.fetch import fetch as fetch_file
from hazardmill.ingest.sources import Source, find_sources, load_source

_EVERY_S: Final = 3.0


@click.command("list", epilog="Example: hazardmill sources list --json")
@json_option
def list_all(as_json: bool) -> None:
    """List the sources, and which inputs are already here.

    A source that cannot be used is named on standard error, with what to do about it.
    """
    listing = find_sources()
    found = listing.sources
    for error in listing.broken:
        click.echo(f"left out: {error}", err=True)
    if as_json:
        print_json(
            [
                {
                    "name": source.name,
                    "title": source.title,
                    "licence": source.licence,
                    **_find_local_inputs(source),
                    "package": listing.origins.get(source.name),
                }
                for source in found
            ]
        )
        return
    width = max((len(source.title) for source in found), default=0)
    for source in found:
        here = ", ".join(name for name, there in _find_local_inputs(source).items() if there) or "nothing here"
        click.echo(f"{source.name:12} {source.title:{width}} {source.licence} ({here})")


def _find_local_inputs(source: Source) -> dict[str, bool]:
    """Return which inputs need no download: the sample, and an installed package."""
    return {"sample": source.sample.is_dir(), "installed": source.find_installed() is not None}


@click.command(epilog="Example: hazardmill sources show neiss")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show a source: licence, origin, facts for --where, and files."""
    source = load_source(name)
    offer = read_catalogue(source)
    installed = source.find_installed()
    facts: dict[str, str] = {
        "name": source.name,
        "title": source.title,
        "licence": source.licence,
        "attribution": source.attribution,
        "address": source.address,
        "description": source.description,
        "expects": source.expects,
        "sample": str(source.sample),
    }
    files = offer.files if offer is not None else ()
    otherwise = offer.otherwise if offer is not None else None
    if as_json:
        print_json(
            {
                **facts,
                "installed": None if installed is None else str(installed),
                "facts": [*source.facts],
                "default_where": dict(source.default_where),
                "withheld": [*source.withheld],
                "files": [file.model_dump() for file in files],
                "otherwise": otherwise,
            }
        )
        return
    for key, value in facts.items():
        click.echo(f"{key}: {value}")
    click.echo(f"installed: {installed or 'no'}")
    click.echo(f"facts (for --where): {', '.join(source.facts)}")
    selection = ", ".join(f"{key}={value}" for key, value in sorted(source.default_where.items()))
    click.echo(f"default selection: {selection or 'none'}")
    click.echo(f"withheld fields: {', '.join(source.withheld) or 'none'}")
    click.echo(f"files: {'' if files else 'none to fetch'}".rstrip())
    for file in files:
        _describe(file)
    if otherwise is not None:
        click.echo(f"otherwise: {otherwise}")


def _describe(file: PublishedFile) -> None:
    size = "size not published" if file.size is None else f"{file.size} bytes"
    click.echo(f"  {file.name}: {size}, {_render_hash(file.sha256)}")
    click.echo(f"    {file.address}")
    click.echo(f"    {file.terms}")


def _render_hash(sha256: str | None) -> str:
    return "sha256 not published" if sha256 is None else f"sha256 {sha256}"


@click.command(epilog="Example: hazardmill sources fetch neiss --file 2019 --to data/neiss")
@click.argument("name")
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the files [default: data/NAME].",
)
@click.option(
    "--file",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Only files with this text in their name; repeat for several.",
)
@click.option(
    "--force", is_flag=True, help="Overwrite a file that differs, or accept one that its publisher has changed."
)
@json_option
def fetch(name: str, folder: Path | None, patterns: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Download the files of a source, and check size and SHA-256.

    What a source does not publish is not checked. The addresses are those in its SOURCE.md. If the download is
    interrupted, the same command resumes it; files that are already there are not downloaded again.
    """  # noqa: DOC501  # the docstring is the command's help
    source = load_source(name)
    files = choose(source, patterns)
    place = folder if folder is not None else Path("data") / source.name
    click.echo(f"{source.name}: licence {source.licence}; {source.attribution}", err=True)
    for terms in dict.fromkeys(file.terms for file in files):
        click.echo(f"terms: {terms}", err=True)
    done: list[FetchedFile] = []
    for file in files:
        try:
            with ByteProgress(file.name, quiet=as_json) as watch:
                done.append(fetch_file(file, place, force=force, watch=watch))
        except KeyboardInterrupt:
            raise RunStopped(
                f"fetching {file.name} was interrupted; what has arrived is kept in {place}",
                remedy=f"resume with: {shlex.join(['hazardmill', *sys.argv[1:]])}",
            ) from None
        if not as_json:
            _print_fetched(done[-1])
    if as_json:
        print_json([fetched.model_dump(mode="json") for fetched in done])
    elif not any(fetched.unpack for fetched in done):
        click.echo(f"next: hazardmill ingest --source {source.name} {shlex.quote(str(place))}")


def _print_fetched(fetched: FetchedFile) -> None:
    what = "already there" if fetched.already_there else f"{fetched.received} bytes received"
    click.echo(f"{fetched.path}: {fetched.size} bytes ({what})")
    unknown = [
        name for name, checked in (("size", fetched.size_checked), ("sha256", fetched.sha256_checked)) if not checked
    ]
    note = f" ({' and '.join(unknown)} not published: not checked)" if unknown else " (as published)"
    click.echo(f"  sha256 {fetched.sha256}{note}")
    if fetched.unpack is not None:
        click.echo(f"  unpack it: {fetched.unpack}")


class ByteProgress:
    """Shows the bytes received on standard error: a bar on a terminal, a line every few seconds elsewhere.

    Args:
        name: The file.
        quiet: Whether to show nothing.
    """

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name, self._quiet = name, quiet
        self._last = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._quiet or not sys.stderr.isatty():
            return self

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True),
        )
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, have: int, total: int | None) -> None:
        """Show how many bytes have arrived, out of how many (None if unknown)."""
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task(self._name, total=total)
            self._bar.update(self._task, completed=have, total=total)
        elif not self._quiet and time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            of = "" if total is None else f" of {total}"
            # A reader that has gone away is no reason to stop.
            with contextlib.suppress(BrokenPipeError):
                print(f"{self._name}: {have}{of} bytes", file=sys.stderr, flush=True)
