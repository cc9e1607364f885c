"""``python -m hazardmill.evaluation.probes``: serve the stand-ins, and show what they find out about a release."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hazardmill.errors import HazardmillError
from hazardmill.evaluation.probes.probe import leak_probe, lines
from hazardmill.evaluation.probes.server import StandInServer
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.release.read.release import load_release
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.testing.serving import serve_until_ended
from hazardmill.text.printable import printable


@click.group()
def main() -> None:
    """Two rule-based planners that probe a release for leaks. Neither is a language model."""


@main.command(epilog="Example: python -m hazardmill.evaluation.probes serve --port 8050")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any free port.")
@click.option("--latency", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds per answer.")
@click.option(
    "--limit", type=click.IntRange(1), default=DRAFT_LIMIT, show_default=True, help="Maximum expansions per search."
)
@click.option("--log", type=click.Path(path_type=Path, dir_okay=False), help="File that the journal is appended to.")
def serve(port: int, latency: float, limit: int, log: Path | None) -> None:
    """Serve stand-in/shortest and stand-in/name-averse as OpenAI-compatible models on this machine.

    Prints the address to give to clients as its first line, and serves until it is interrupted or terminated.
    """  # it exits, as commands do  # noqa: DOC501  # it exits, as commands do
    try:
        server = StandInServer(limit=limit, latency=latency, log=log, port=port)
        serve_until_ended(server)
    except (HazardmillError, OSError) as error:
        raise _exit_with(error) from error


@main.command(epilog="Example: python -m hazardmill.evaluation.probes probe --release releases/1.0.0 shortest averse")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--release", "release_name", required=True, metavar="FOLDER|ORG/NAME", help="The release asked about.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Bootstrap seed.")
@click.option(
    "--resamples", type=click.IntRange(100), default=RESAMPLES, show_default=True, help="Bootstrap resamples."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def probe(results: tuple[Path, ...], release_name: str, seed: int, resamples: int, as_json: bool) -> None:
    """Report what a release gives away: RESULTS are folders of `hazardmill evaluate run` with the rows of both."""
    try:
        found = leak_probe(load_release(release_name), results, seed=seed, resamples=resamples)
    except HazardmillError as error:
        raise _exit_with(error) from error
    if as_json:
        click.echo(json.dumps(found.model_dump(mode="json"), indent=2))
        return
    for line in lines(found):
        click.echo(printable(line))


def _exit_with(error: Exception) -> SystemExit:
    click.echo(printable(f"Error: {error}"), err=True)
    return SystemExit(getattr(error, "exit_code", 1))


if __name__ == "__main__":
    main()
