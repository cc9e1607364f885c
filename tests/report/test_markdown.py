from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hazardmill.errors import StoreError
from hazardmill.report.markdown import render_markdown, write_markdown
from hazardmill.reporting.markdown import FIGURES
from tests.figures_once import forget_figures

from .support import DANGER, Shelf, connect, mill, task

HOSTILE = '<script>alert("x")</script> [a](http://evil.example) `b` | c\n# d \x1b[31m'


def test_the_file_and_its_figures_are_written_side_by_side(tmp_path: Path) -> None:
    written = write_markdown(Shelf(**mill()), ["r"], tmp_path / "new" / "report.md")
    text, figures = render_markdown(connect(**mill()), ["r"])
    assert written.read_text(encoding="utf-8") == text
    assert sorted(path.name for path in written.parent.iterdir()) == [FIGURES, "report.md"]
    assert {f"{FIGURES}/{path.name}" for path in (written.parent / FIGURES).iterdir()} == set(figures)
    assert len(figures) == 9
    for address in re.findall(r"!\[[^\n]*\]\(([^)\s]+)\)", text):
        ElementTree.parse(written.parent / address)
        del figures[address]
    assert figures == {}


def test_a_file_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / FIGURES).write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot write the report.*name a file"):
        write_markdown(Shelf(**mill()), ["r"], tmp_path / "report.md")


def test_two_renders_are_the_same_bytes() -> None:
    first = render_markdown(connect(**mill()), ["r"])
    forget_figures()
    assert render_markdown(connect(**mill()), ["r"]) == first


def test_hostile_text_is_text() -> None:
    tables = mill()
    tables["outcomes"][2]["message"] = HOSTILE
    tables["outcomes"][4]["reason"] = HOSTILE
    tables["tasks"][0] = task(
        "neiss:1", "neiss-1", danger=json.dumps({**DANGER, "setting": HOSTILE, "entity_in_danger": HOSTILE})
    )
    text, figures = render_markdown(connect(**tables), ["r"])
    assert "<script>" not in text and "\x1b" not in text
    # Every bracket and backtick of it is written as a sign, and stays one.
    assert "\\[a\\](http://evil.example) \\`b\\` \\| c # d" in text
    assert not re.search(r"(?<!\\)(\\\\)*\](?=\(http)", text)
    assert not re.search(r"^# d", text, re.MULTILINE)
    assert set(re.findall(r"</?([a-z]+)", text)) == {"details", "summary"}
    for svg in figures.values():
        assert {node.tag.rpartition("}")[2] for node in ElementTree.fromstring(svg).iter()} <= {
            "svg", "g", "path", "text", "tspan", "use", "defs", "clipPath", "rect",
        }  # fmt: skip


def test_who_answered_and_what_it_is_restricted_to_is_said_at_the_head() -> None:
    tables = mill()
    assert "offline author" not in render_markdown(connect(**tables), ["r"])[0]
    tables["drafts"][0]["model_answered"] = "offline-author"
    text, _ = render_markdown(connect(**tables), ["r"], ["neiss"])
    assert text.index("Restricted to `neiss`") < text.index("Written by the offline author") < text.index("## ")


def test_a_funnel_that_does_not_add_up_is_said_at_the_head() -> None:
    tables = mill()
    tables["tasks"] = []
    text, _ = render_markdown(connect(**tables), ["r"])
    assert text.index("> **The funnel does not add up.**") < text.index("## ")


def test_an_empty_store_has_a_report() -> None:
    text, figures = render_markdown(connect(), ["r"])
    assert "(n = 0 records)" in text and len(figures) == 9
    assert "None" not in text and "nan" not in text
