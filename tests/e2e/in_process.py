"""Commands of hazardmill in this process, as users give them."""

from __future__ import annotations

from click.testing import CliRunner

from hazardmill.cli.main import hazardmill
from hazardmill.errors import RunWaiting


def ran(*words: object) -> str:
    """Run a command that must succeed, and return what it says."""
    done = CliRunner().invoke(hazardmill, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return str(done.output)


def waited(*words: object) -> None:
    """Run a command that must end because it waits for answers."""
    done = CliRunner().invoke(hazardmill, [str(word) for word in words])
    assert isinstance(done.exception, RunWaiting), done.output
