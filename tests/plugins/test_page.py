"""The page on plugins shows the files of the package that the tests install and run."""

from __future__ import annotations

import re
from pathlib import Path

from hazardmill.llm.prompts import MAX_GUIDANCE
from tests.plugins.installing import KITCHEN


def test_the_page_shows_the_package_that_is_tested(project: Path) -> None:
    page = (project / "docs" / "plugins.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert {path.rpartition(".")[2] for path in blocks} == {"toml", "py", "md"} and len(blocks) == 5
    for path, text in blocks.items():
        assert (KITCHEN / path).read_text(encoding="utf-8") == text, path
    assert f"at most {MAX_GUIDANCE:,} characters" in page
