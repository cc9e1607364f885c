"""The ``hazardmill`` command: noun first, then verb. Subcommands are imported when called, so that help is quick."""

from __future__ import annotations

import errno
import os
import sys
from typing import Final, NoReturn

import click

from hazardmill import __version__
from hazardmill.cli.lazy import LazyGroup
from hazardmill.errors import ConnectionFailed, HazardmillError, InputError, RunWaiting, StoreError
from hazardmill.files import encoding_remedy
from hazardmill.text.printable import printable_lines
from hazardmill.text.standard_streams import decode_names, guard_streams

COMMANDS: Final = {
    "dedupe": ("hazardmill.cli.dedupe:dedupe", "Find near-duplicate tasks, in the store and in another corpus."),
    "demo": ("hazardmill.cli.demo:demo", "Run the shipped samples through the whole pipeline, offline."),
    "doctor": ("hazardmill.cli.doctor:doctor", "Check what works on this machine."),
    "evaluate": ("hazardmill.cli.groups:evaluate", "Score planners on a release, and show where they fail."),
    "hazards": (
        "hazardmill.cli.groups:hazards",
        "Map hazards, detect harm in plans, and compile harm into tasks.",
    ),
    "household": ("hazardmill.cli.groups:household", "Prove what household tasks under safety rules demand."),
    "ingest": ("hazardmill.cli.ingest:ingest", "Read records of a source into the store."),
    "query": ("hazardmill.cli.query:query", "Run a read-only SQL query on the store."),
    "release": ("hazardmill.cli.groups:release", "Build, compare, publish and export versioned datasets of tasks."),
    "report": ("hazardmill.cli.report:report", "Write a report on runs, with task folders and a DuckDB file."),
    "review": (
        "hazardmill.cli.groups:review",
        "Have people review tasks, and report the figures.",
    ),
    "run": ("hazardmill.cli.groups:run", "Generate tasks: start, resume, list, compare and record runs."),
    "scenario": (
        "hazardmill.cli.groups:scenario",
        "Make and check scenarios of harmful commands and of risks.",
    ),
    "sources": ("hazardmill.cli.groups:sources", "List and describe sources, and download their files."),
    "store": ("hazardmill.cli.groups:store", "Verify, hash, copy, export, compact or rebuild a store."),
    "task": (
        "hazardmill.cli.groups:task",
        "Check, judge, solve, certify, repair, import and export tasks.",
    ),
    "view": ("hazardmill.cli.view.view:view", "Look at the tasks of a store or a release in a browser."),
    "why": ("hazardmill.cli.why:why", "Explain why a record ended as it did, from bytes to proof."),
}
"""Maps a command to its address and its line in the help."""

_UNREACHABLE: Final = frozenset({errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH})
"""Errors of a connection for which Python has no class."""

TRACEBACK_VARIABLE: Final = "HAZARDMILL_TRACEBACK"
"""Variable of the environment that, if it is set, has an error show its traceback."""

_MOST_SHOWN: Final = 500
"""Characters of a text that is shown whole when it cannot be written."""

EXIT_CODES: Final = (
    "Exit codes: 0 ok, 1 ran and found failures, 2 usage, 3 bad input, 4 stopped and resumable, 5 provider."
)


@click.group(
    cls=LazyGroup,
    addresses=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"{EXIT_CODES} Example: hazardmill demo --out demo-out",
)
@click.version_option(__version__, prog_name="hazardmill")
def hazardmill() -> None:
    """Turn public records into robot-safety planning tasks with proofs."""


def main() -> NoReturn:
    """Run the command line, and exit with its exit code.

    A ``HazardmillError`` becomes one message on standard error and the exit code of its class; ctrl-C becomes 4. So
    does what the operating system refuses, wherever no command has words of its own for it. If the variable
    ``HAZARDMILL_TRACEBACK`` is set, a traceback comes before the message.
    """
    guard_streams()
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
        sys.exit(_code_of(error))
    except RunWaiting as error:
        # Nothing has failed, but the run is not done.
        click.echo(printable_lines(str(error)), err=True)
        sys.exit(error.exit_code)
    except HazardmillError as error:
        _fail(error)
    except UnicodeEncodeError as error:
        _fail(_encoding_error(error))
    except OSError as error:
        _fail(_system_error(error))
    except SystemExit as leave:
        # If the reader of our output goes away, as `head` does, click swaps stdout and rich exits from its handler; the
        # code is then 1, although nothing failed.
        unread = sys.stdout is not stdout or isinstance(leave.__context__, BrokenPipeError)
        sys.exit(0 if unread else leave.code)
    sys.exit(0)


def _code_of(error: click.ClickException) -> int:
    """Return the exit code of an error of click: what lies at a path is bad input, whoever looks there first."""
    # A missing argument is a BadParameter too, but nobody has looked anywhere.
    is_path = (
        isinstance(error, click.BadParameter)
        and not isinstance(error, click.MissingParameter)
        and isinstance(getattr(error.param, "type", None), click.Path)
    )
    return InputError.exit_code if is_path else error.exit_code


def _fail(error: HazardmillError) -> NoReturn:
    if os.environ.get(TRACEBACK_VARIABLE):
        import traceback

        click.echo(printable_lines(traceback.format_exc().rstrip()), err=True)
    click.echo(printable_lines(decode_names(f"error: {error}")), err=True)
    sys.exit(error.exit_code)


def _system_error(error: OSError) -> HazardmillError:
    """Return the error for a file, folder or connection that the operating system refuses."""
    place = error.filename2 if error.filename2 is not None else error.filename
    says = error.strerror or str(error) or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "free some space on this disk"
    elif place is not None:
        remedy = "check the path, and whether this user may read and write there"
    elif _is_of_a_connection(error):
        return ConnectionFailed(
            says, remedy="check the address, and whether it can be reached from here; then repeat the command"
        )
    else:
        # Nothing here says whose mistake it is.
        remedy = f"set {TRACEBACK_VARIABLE}=1 to see where this happened, and report it if it is a bug of hazardmill"
    if place is None:
        return StoreError(says, remedy=remedy)
    file = os.fsdecode(place) if isinstance(place, bytes) else str(place)
    return StoreError(f"cannot read or write this: {says}", file=file, remedy=remedy)


def _is_of_a_connection(error: OSError) -> bool:
    import socket

    return isinstance(error, ConnectionError | TimeoutError | socket.gaierror) or error.errno in _UNREACHABLE


def _encoding_error(error: UnicodeEncodeError) -> StoreError:
    """Return the error for a path, or other text, that has characters which cannot be written."""
    lacking = error.object[error.start : error.end]
    text = error.object if len(error.object) < _MOST_SHOWN else lacking
    return StoreError(
        f"{lacking!r} in {text!r} cannot be written as {error.encoding.upper()}",
        remedy=encoding_remedy(),
    )


if __name__ == "__main__":
    main()
