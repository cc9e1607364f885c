from __future__ import annotations

from pathlib import Path

from hazardmill.store.schema_docs import describe
from hazardmill.store.schemas import TABLES


def test_the_page_in_generated_is_current(project: Path) -> None:
    page = (project / "generated" / "README.md").read_text(encoding="utf-8")
    assert page == describe(), "run: python -m hazardmill.store.schema_docs > generated/README.md"


def test_every_column_is_described_once_in_its_table() -> None:
    sections = {section.splitlines()[0]: section for section in describe().split("\n## ")[1:]}
    assert list(sections) == list(TABLES)
    for name, table in TABLES.items():
        described = [line for line in sections[name].splitlines() if line.startswith(("| `", "| **`"))]
        assert len(described) == len(table.columns)
        for line, column in zip(described, table.columns, strict=True):
            assert f"`{column.name}`" in line
            assert ("**" in line) == (column.name in table.key)
