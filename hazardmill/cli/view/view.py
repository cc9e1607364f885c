"""``hazardmill view``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.ticker import Ticker
from hazardmill.errors import ExtraMissing, UsageError
from hazardmill.settings import load_settings

if TYPE_CHECKING:
    from hazardmill.viewer.release import ReleaseView
    from hazardmill.viewer.store import StoreTasks

PORT = 8718


@click.command(epilog="Example: hazardmill view releases/hazardmill-1.0.0 --static site")
@click.argument("place", metavar="[STORE|RELEASE]", required=False)
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    help="IP address to listen on; at any address but loopback, others read everything without signing in.",
)
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port to listen on.")
@click.option("--name", "names", multiple=True, help="Host name in the address that people type; repeat for several.")
@click.option(
    "--review",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Show the verdicts of this review of the store; a release has those of its own.",
)
@click.option(
    "--results",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show what planners' plans did: results.parquet of an evaluation, or its folder; repeat for several.",
)
@click.option(
    "--static",
    "out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Instead, write a release as a folder of pages for any file host, and end.",
)
@json_option
def view(
    place: str | None,
    bind: str,
    port: int,
    names: tuple[str, ...],
    review: Path | None,
    results: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Look at the tasks of a store or a release in a browser.

    Shows all tasks as a table with filters and a search, and each task with its record, code, both plans step by step,
    certificate and contrast twin; in a store also the records that were not accepted, and all prompts and answers.
    Serves on this machine only unless --bind says otherwise, asks nobody to sign in, and changes nothing. Without a
    place it shows the store of the settings. With --json the address is printed as JSON before serving, or else what
    was written.
    """
    from hazardmill.viewer.place import open_place

    opened = open_place(place or str(load_settings().store), review=review, results=results)
    if out is not None:
        _export(opened, out, as_json)
    else:
        _serve(opened, bind, port, names, as_json)


def _export(opened: StoreTasks | ReleaseView, out: Path, as_json: bool) -> None:
    from hazardmill.viewer.export import export_view
    from hazardmill.viewer.release import ReleaseView

    if not isinstance(opened, ReleaseView):
        raise UsageError(
            "only a release can be written as pages to share: a store has prompts, answers, and what was not accepted",
            remedy="make one with `hazardmill release build`, or look at the store without --static",
        )
    ticker = Ticker(quiet=as_json)
    written = export_view(opened, out, lambda done, whole: ticker.tell(f"{done:,} of {whole:,} tasks drawn"))
    if as_json:
        print_json(
            {"folder": str(written.folder), "rows": written.rows, "files": written.files, "bytes": written.bytes}
        )
        return
    size = f"{written.rows:,} tasks in {written.files:,} files, {written.bytes / 1e6:,.1f} MB"
    click.echo(f"{size}; open {out / 'index.html'}")


def _serve(opened: StoreTasks | ReleaseView, bind: str, port: int, names: tuple[str, ...], as_json: bool) -> None:
    try:
        from hazardmill.review.app.serve import answered_hosts, is_local, listen, serve
        from hazardmill.viewer.server.app import ViewService, create_app
    except ImportError as error:
        message = f"the local server needs a package that is not installed: {error.name}; --static DIR needs none"
        raise ExtraMissing(message, extra="review") from error
    hosts = answered_hosts(bind, names)
    app = create_app(ViewService(opened), hosts)
    listening = listen(bind, port)
    shown = names[0] if names else f"[{bind}]" if ":" in bind else bind
    address = f"http://{shown}:{port}/"
    if as_json:
        print_json({"address": address})
    else:
        click.echo(f"view at {address} (end with ctrl-C)")
    if not is_local(bind):
        click.echo(
            "whoever reaches this address reads everything, unencrypted: put a proxy with TLS and a sign-in in front",
            err=True,
        )
    serve(app, listening)
