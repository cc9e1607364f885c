"""The ``hazardmill`` command: noun first, then verb. Subcommands are imported when called, so that help is quick."""

from __future__ import annotations

import sys
from typing import Final, NoReturn

import click

from hazardmill import __version__
from hazardmill.cli.lazy import LazyGroup
from hazardmill.errors import HazardmillError
from hazardmill.text.printable import printable_lines

COMMANDS: Final = {
    "dedupe": ("hazardmill.cli.dedupe:dedupe", "Find near-duplicates, and what another corpus has of these tasks."),
    "demo": ("hazardmill.cli.demo:demo", "Run the shipped samples through the whole mill, offline."),
    "doctor": ("hazardmill.cli.doctor:doctor", "Say what works on this machine."),
    "evaluate": ("hazardmill.cli.groups:evaluate", "Score what planners make of a release, and say why they fail."),
    "ingest": ("hazardmill.cli.ingest:ingest", "Read records of a source into the store."),
    "query": ("hazardmill.cli.query:query", "Run SQL on the store, read-only."),
    "release": ("hazardmill.cli.groups:release", "Build datasets of tasks, compare, push and export them."),
    "report": ("hazardmill.cli.report:report", "Write report, task folders and DuckDB file of runs."),
    "review": (
        "hazardmill.cli.groups:review",
        "Have people review tasks, and see the figures.",
    ),
    "run": ("hazardmill.cli.groups:run", "Generate tasks, resume a run, list runs."),
    "sources": ("hazardmill.cli.groups:sources", "List and describe the sources."),
    "store": ("hazardmill.cli.groups:store", "Verify or digest a store."),
    "task": ("hazardmill.cli.groups:task", "Check, judge, solve, certify, repair, lint, import and export tasks."),
    "why": ("hazardmill.cli.why:why", "Tell why a record ended as it did, from its bytes to its task's proof."),
}
"""Command to where it is, and its line in the help."""

EXIT_CODES: Final = (
    "Exit codes: 0 ok, 1 ran and found failures, 2 usage, 3 bad input, 4 stopped and resumable, 5 provider."
)


@click.group(
    cls=LazyGroup,
    addresses=COMMANDS,
    whole_lines=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"{EXIT_CODES} Example: hazardmill demo --out demo-out",
)
@click.version_option(__version__, prog_name="hazardmill")
def hazardmill() -> None:
    """Turn public records into proved robot-safety planning tasks."""


def main() -> NoReturn:
    """Run the command line; errors become one message and their exit code."""
    stdout = sys.stdout
    try:
        hazardmill.main(standalone_mode=False)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(4)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except HazardmillError as error:
        click.echo(printable_lines(f"error: {error}"), err=True)
        sys.exit(error.exit_code)
    except SystemExit as leave:
        # Where the reader of our output goes away, as `head` does, click swaps stdout and rich leaves from its handler,
        # both with 1; but nothing failed.
        unread = sys.stdout is not stdout or isinstance(leave.__context__, BrokenPipeError)
        sys.exit(0 if unread else leave.code)
    sys.exit(0)


if __name__ == "__main__":
    main()
