from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hazardmill import __version__
from hazardmill.cli.lazy import LazyGroup
from hazardmill.cli.main import COMMANDS, EXIT_CODES, hazardmill
from hazardmill.errors import HazardmillError, InputError, ProviderError, RunStopped, UsageError

HEAVY = ["duckdb", "pyarrow", "matplotlib", "pydantic_settings", "litellm", "prefect", "unified_planning", "jinja2"]


def leaves(command: click.Command = hazardmill, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, as the words that call it."""
    if not isinstance(command, click.Group):
        yield words
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, (*words, name))


LEAVES = list(leaves())
GROUPS = sorted({words[0] for words in LEAVES if len(words) > 1})


def found(words: tuple[str, ...]) -> click.Command:
    command: click.Command = hazardmill
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    return command


def example(words: tuple[str, ...]) -> list[str]:
    """The words of the example in a command's help, without the program's name."""
    epilog = found(words).epilog or ""
    name, *rest = shlex.split(epilog.partition("Example:")[2])
    assert name == "hazardmill"
    return rest


def script(*words: str, **how: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hazardmill.cli.main", *words]
    return subprocess.run(command, text=True, stderr=subprocess.PIPE, check=False, **how)


def test_the_commands_of_the_readme_are_there() -> None:
    names = [" ".join(words) for words in LEAVES]
    for name in ("demo", "doctor", "sources list", "sources show", "ingest", "run generate", "run resume", "run list"):
        assert name in names
    for name in ("query", "report", "store verify", "store digest"):
        assert name in names


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_has_help_json_and_an_example_that_can_be_called(words: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(hazardmill, [*words, "--help"])
    assert answer.exit_code == 0
    assert "Example: hazardmill" in answer.output and "--json" in answer.output
    called = example(words)
    assert called[: len(words)] == list(words)
    # Raises where an option or argument is wrong.
    found(words).make_context(words[-1], called[len(words) :])


@pytest.mark.parametrize("words", sorted({words[:-1] for words in LEAVES if len(words) > 1}), ids=" ".join)
def test_every_group_has_an_example(words: tuple[str, ...]) -> None:
    called = example(words)
    assert tuple(called[:2]) in LEAVES
    found(tuple(called[:2])).make_context("x", called[2:])


def test_help_lists_every_command_and_the_exit_codes() -> None:
    answer = CliRunner().invoke(hazardmill, ["--help"], terminal_width=100)
    assert answer.exit_code == 0
    for name, (_, line) in COMMANDS.items():
        assert name in answer.output and line in answer.output
    assert EXIT_CODES in " ".join(answer.output.split())


@pytest.mark.parametrize("words", [(), *((name,) for name in GROUPS)], ids=" ".join)
def test_a_line_in_the_help_of_a_group_is_whole_in_80_columns(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    group = found(words)
    assert isinstance(group, LazyGroup)
    shown = click.Context(group, max_content_width=100).get_help().partition("\nCommands:\n")[2]
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    for name, (_, line) in group.addresses.items():
        assert rows[name].endswith(f"  {line}") and len(rows[name]) <= 80


@pytest.mark.parametrize("name", GROUPS)
def test_a_line_in_the_help_of_a_group_is_what_the_command_says_of_itself(name: str) -> None:
    group = found((name,))
    assert isinstance(group, LazyGroup)
    context = click.Context(group)
    for verb, (_, line) in group.addresses.items():
        assert line == group.get_command(context, verb).get_short_help_str(limit=200)


def test_version() -> None:
    assert CliRunner().invoke(hazardmill, ["--version"]).output == f"hazardmill, version {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], *([name, "--help"] for name in GROUPS), ["run", "generate", "--help"]],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    code = f"""
import json, sys
sys.argv = ["hazardmill", *{words!r}]
from hazardmill.cli.lazy import LazyGroup
from hazardmill.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code
print("\\n" + json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout.splitlines()[-1]) == []


EXTRAS = [
    "boto3",
    "datasets",
    "fastapi",
    "huggingface_hub",
    "litellm",
    "markdown_it",
    "pandas",
    "prefect",
    "scipy",
    "statsmodels",
    "unified_planning",
    "uvicorn",
]
WITHOUT_EXTRAS = f"""
import sys
import click

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, NotInstalled())
from hazardmill.cli.main import hazardmill

def load(command):
    if isinstance(command, click.Group):
        context = click.Context(command)
        return sum(load(command.get_command(context, name)) for name in command.list_commands(context))
    return 1

print(load(hazardmill))
"""


def test_every_command_says_what_it_is_where_no_extra_is_installed() -> None:
    loaded = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=True)
    assert int(loaded.stdout) == len(LEAVES)


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        [],
        ["run", "generate"],
        ["ingest", "--source", "neiss"],
        ["sources", "list", "--colour"],
        ["run", "generate", "--source", "neiss", "--limit", "none"],
        ["run", "generate", "--source", "neiss", "--where", "diagnosis"],
        ["run", "generate", "--source", "neiss", "--input", "bddl=here"],
        ["run", "generate", "--source", "neiss", "--jail", "open"],
        ["demo", "--cross-check", "2"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_exit_2(words: list[str]) -> None:
    answer = CliRunner().invoke(hazardmill, words)
    assert answer.exit_code == 2
    assert "Usage:" in answer.output


def test_an_error_is_one_message_and_its_exit_code() -> None:
    ended = script("sources", "show", "nope", stdout=subprocess.PIPE)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: there is no source 'nope' [known sources: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--help"], ["sources", "list"], ["sources", "list", "--json"]], ids=" ".join)
def test_nobody_reading_the_output_is_no_failure(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = script(*words, stdout=writer)
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_failure_stays_one_where_nobody_reads(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = script("sources", "show", "nope", stdout=writer)
    finally:
        os.close(writer)
    assert ended.returncode == 2


def test_the_help_states_the_exit_codes_that_errors_have() -> None:
    stated = {
        0: "ok",
        1: "ran and found failures",
        2: "usage",
        3: "bad input",
        4: "stopped and resumable",
        5: "provider",
    }
    for code, meaning in stated.items():
        assert f"{code} {meaning}" in EXIT_CODES
    codes = [cls.exit_code for cls in (HazardmillError, UsageError, InputError, RunStopped, ProviderError)]
    assert codes == [1, 2, 3, 4, 5]
