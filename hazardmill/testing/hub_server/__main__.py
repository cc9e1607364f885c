"""The command ``python -m hazardmill.testing.hub_server``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from hazardmill.errors import HazardmillError
from hazardmill.testing.hub_server.answers import Account
from hazardmill.testing.hub_server.faults import ScriptedHubFaults, parse_script
from hazardmill.testing.hub_server.server import TOKENS, HubServer
from hazardmill.testing.serving import serve_until_ended


@click.command(epilog="Example: python -m hazardmill.testing.hub_server hub --port 8050 --script commit=500-after")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any free port.")
@click.option(
    "--script",
    "lines",
    multiple=True,
    metavar="ENDPOINT=FAULT,...",
    help="Faults of the 1st, 2nd... request of an endpoint: lfs-put=cut*2, tag=ok,409. Repeatable.",
)
@click.option("--token-env", metavar="NAME", help="Environment variable with the token that may write.")
@click.option(
    "--log", type=click.Path(path_type=Path, dir_okay=False), help="File for the journal; an existing one is continued."
)
def main(folder: Path, port: int, lines: tuple[str, ...], token_env: str | None, log: Path | None) -> None:
    """Serve a hub of datasets on this machine, with faults.

    It keeps everything in FOLDER, and continues an existing one.

    Prints the address for HF_ENDPOINT as its first line, and serves until it is interrupted or terminated.
    """  # it exits, as commands do  # noqa: DOC501  # it exits, as commands do
    try:
        faults = ScriptedHubFaults(parse_script(lines))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    tokens = TOKENS
    if token_env is not None:
        if not (token := os.environ.get(token_env)):
            raise click.UsageError(f"the environment variable {token_env} is not set")
        tokens = {token: Account("mill", writes=True)}
    try:
        server = HubServer(folder, faults=faults, tokens=tokens, log=log, port=port)
        serve_until_ended(server)
    except (HazardmillError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(getattr(error, "exit_code", 1)) from error


if __name__ == "__main__":
    main()
