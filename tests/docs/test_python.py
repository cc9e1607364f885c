"""docs/python.md: its code is run, block after block as in one notebook, and prints what the page says."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from release.small_release import soups

import hazardmill

BLOCKS: list[tuple[str, str]] = re.findall(
    r"^```(\w+)\n(.*?)^```", (Path(__file__).parents[2] / "docs" / "python.md").read_text(), re.DOTALL | re.MULTILINE
)


def run(code: str, space: dict[str, Any]) -> str:
    """Run a block as a cell of a notebook, which may `await`, and return what it printed."""
    out = StringIO()
    with redirect_stdout(out):
        waits = eval(compile(code, "docs/python.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)
        if inspect.iscoroutine(waits):
            asyncio.run(waits)
    return out.getvalue()


@pytest.mark.full
def test_every_block_prints_what_the_page_says(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(project / "sources" / "neiss" / "sample" / "sample.tsv", tmp_path / "neiss2024.tsv")
    soups(tmp_path / "releases" / "hazardmill-1.0.0")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    languages = [language for language, _ in BLOCKS]
    assert languages == ["python", "text"] * (len(BLOCKS) // 2)
    for (_, code), (_, told) in zip(BLOCKS[::2], BLOCKS[1::2], strict=True):
        assert run(code, space) == told


def test_the_first_script_has_twenty_lines_and_no_other_import() -> None:
    script = BLOCKS[0][1]
    imports = [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import hazardmill"]
    assert len([line for line in script.splitlines() if line]) <= 20


def test_the_page_names_all_that_is_promised(project: Path) -> None:
    page = (project / "docs" / "python.md").read_text()
    assert [name for name in hazardmill.__all__ if not re.search(rf"\b{name}\b", page)] == []
