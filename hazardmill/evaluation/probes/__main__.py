"""``python -m hazardmill.evaluation.probes``: serve the stand-ins, and show what they find out about a release."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from hazardmill.errors import HazardmillError
from hazardmill.evaluation.probes.probe import leak_probe, lines
from hazardmill.evaluation.probes.server import StandInServer
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.release.read.release import load_release
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.testing.serving import serve_until_ended
from hazardmill.text.printable import printable

P = ParamSpec("P")
R = TypeVar("R")


def _serving_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add where stand-ins are served, how slowly, and what is written down."""
    for option in (
        click.option("--log", type=click.Path(path_type=Path, dir_okay=False), help="File to append the journal to."),
        click.option("--latency", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds per answer."),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port; 0 for any free port."
        ),
    ):
        function = option(function)
    return function


@click.group()
def main() -> None:
    """Rule-based stand-ins: two that probe a release for leaks, two that act in episodes. None is a language model."""


@main.command(epilog="Example: python -m hazardmill.evaluation.probes serve --port 8050")
@click.option(
    "--limit", type=click.IntRange(1), default=DRAFT_LIMIT, show_default=True, help="Maximum expansions per search."
)
@_serving_options
def serve(port: int, latency: float, limit: int, log: Path | None) -> None:
    """Serve stand-in/shortest and stand-in/name-averse as OpenAI-compatible models on this machine.

    Prints the address to give to clients as its first line, and serves until it is interrupted or terminated.
    """  # it exits, as commands do  # noqa: DOC501  # it exits, as commands do
    try:
        server = StandInServer(limit=limit, latency=latency, log=log, port=port)
        serve_until_ended(server)
    except (HazardmillError, OSError) as error:
        raise _exit_with(error) from error


@main.command(
    "serve-episodes", epilog="Example: python -m hazardmill.evaluation.probes serve-episodes --tasks household"
)
@click.option(
    "--tasks",
    "place",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of household tasks with proved plans.",
)
@_serving_options
def serve_episodes(place: Path, port: int, latency: float, log: Path | None) -> None:
    """Serve stand-in/compliant and stand-in/careless, which act in episodes by the proved plans of the tasks.

    Ask them with the same tasks: hazardmill evaluate episodes --model openai/stand-in/compliant --api-base ADDRESS.
    Prints the address as its first line, and serves until it is interrupted or terminated.
    """  # noqa: DOC501  # it exits, as commands do
    from hazardmill.evaluation.episodes.task_set import read_tasks
    from hazardmill.evaluation.probes.episodes import serve_stand_ins

    try:
        tasks = read_tasks(place)
        for error in tasks.errors:
            click.echo(printable(f"error: {error}"), err=True)
        serve_until_ended(serve_stand_ins(tasks.tasks, latency=latency, log=log, port=port))
    except (HazardmillError, OSError) as error:
        raise _exit_with(error) from error


@main.command(
    epilog="Example: python -m hazardmill.evaluation.probes probe --release releases/hazardmill-1.0.0 shortest averse"
)
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
