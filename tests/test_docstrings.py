"""Public functions and classes say more than a summary where there is more to say, and name their units.

Whether sections for arguments, results and exceptions are complete is checked by ruff (D417 and DOC, pyproject.toml).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_UNITS = {
    r"(^|_)(timeout|deadline|delay|duration|age|s|ms)$": r"second|minute|hour|\bdays?\b|\bms\b|\bs\b|year",
    r"(^|_)memory$": r"byte|\b[KMG]i?B\b",
    r"(^|_)size$": r"byte|\b[KMG]i?B\b|character|token|record|draft|task|row|count|number",
}
"""Endings of names to the words of which one must say the unit."""


def test_most_have_more_than_a_summary(project: Path) -> None:
    found = [bool("\n" in (ast.get_docstring(node) or "").strip()) for _, node in public(project)]
    assert len(found) > 1000
    assert sum(found) / len(found) >= 0.6


def test_what_is_measured_has_its_unit(project: Path) -> None:
    missing = [
        f"{path}: {node.name}({name}): {words}"
        for path, node in public(project)
        for name, words in arguments(ast.get_docstring(node) or "")
        for ending, units in _UNITS.items()
        if re.search(ending, name) and not re.search(units, words, re.IGNORECASE)
    ]
    assert missing == []


def public(project: Path) -> Iterator[tuple[Path, Documented]]:
    """Yield the public functions and classes of the library's modules."""
    for path in sorted((project / "hazardmill").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, Documented) and not node.name.startswith("_"):
                yield path.relative_to(project), node


def arguments(docstring: str) -> Iterator[tuple[str, str]]:
    """Yield the names under ``Args:`` and ``Attributes:`` with what is said of them."""
    for section in re.findall(r"^(?:Args|Attributes):\n((?:    .*\n?|\n)+)", docstring, re.MULTILINE):
        for name, words in re.findall(r"^    (\w+)(?: \([^)]*\))?: ((?:.*(?:\n {6,}.*)*))", section, re.MULTILINE):
            yield name, " ".join(words.split())
