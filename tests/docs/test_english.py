"""Pages, help and messages are plain English: forms that readers stumbled over do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hazardmill.cli.main import hazardmill

_UNITS = "run|task|record|minute|reviewer|batch|table|source|plan|row|line|file|draft|answer|request|model|stage|page"
_COUNTED = "one|rows?|records?|requests?|tokens|files?|tasks?|USD|lines?|seconds|limits?|thread|deployment"

BANNED = {
    r"\bgone on with\b": "resumed, continued",
    r"\b(is|are|was|were|be) (not )?to be had\b": "available",
    r"\bof which it is null\b": "for which it is null",
    r"\b(is|are) none of\b": "does not belong to, is not one of",
    r"\btells\b": "says, reports, shows",
    r"\bwhat is otherwise\b": "what differs",
    r"\bnobody is named\b": "there is no model to ask",
    r"\bneeded but for\b": "required without, required unless",
    r"\bodd characters\b": "control characters",
    r"\bwaited for no longer\b": "then the run stops",
    rf"\b({_COUNTED}) an? ({_UNITS})\b(?! (is|was|has|that|of|with))": "per",
}


@pytest.mark.parametrize(
    "text",
    [
        "the run is gone on with",
        "it is not to be had",
        "of which it is null",
        "is none of its",
        "it tells",
        "nobody is named who answers",
        "needed but for --graphs",
        "without odd characters",
        "a batch is waited for no longer",
        "a row a run",
    ],
)
def test_the_list_finds_what_it_is_for(text: str) -> None:
    assert list(find_banned(text))


def test_pages(project: Path) -> None:
    pages = [
        project / "README.md",
        project / "CONTRIBUTING.md",
        project / "SECURITY.md",
        *(project / "docs").glob("*.md"),
    ]
    assert len(pages) > 25
    wrong = {
        page.name: found
        for page in pages
        if (found := list(find_banned(re.sub(r"```.*?```|`[^`]*`", " ", page.read_text(encoding="utf-8"), flags=re.S))))
    }
    assert wrong == {}


def test_help() -> None:
    helps = {name: text for name, text in walk_help(hazardmill, "hazardmill")}
    assert len(helps) > 50
    assert {name: found for name, text in helps.items() if (found := list(find_banned(text)))} == {}


def test_messages_and_docstrings(project: Path) -> None:
    wrong: dict[str, list[str]] = {}
    for path in [*(project / "hazardmill").rglob("*.py"), *(project / "flows").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = list(find_banned(node.value))
                if found:
                    wrong.setdefault(f"{path.relative_to(project)}:{node.lineno}", []).extend(found)
    assert wrong == {}


def find_banned(text: str) -> Iterator[str]:
    """Yield each banned form in a text with its neighbours, and what to say instead."""
    for pattern, better in BANNED.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            around = " ".join(text[max(0, match.start() - 30) : match.end() + 20].split())
            yield f"...{around}... [{better}]"


def walk_help(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Yield the help of a command and of all below it, by their names."""
    context = click.Context(command, info_name=name)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from walk_help(below, f"{name} {each}")
