"""docs/settings.md has a row per setting, made from the field that declares it."""

from __future__ import annotations

import runpy
from pathlib import Path

from hazardmill.settings import Settings


def test_the_page_has_the_table_that_the_fields_make(project: Path) -> None:
    page = (project / "docs" / "settings.md").read_text(encoding="utf-8")
    renew = runpy.run_path(str(project / "scripts" / "settings_table.py"))["renew_settings"]
    assert page == renew(page), "python scripts/settings_table.py renews it"
    assert page != renew(page).replace("| 4,000,000 |", "| 4,000,001 |")
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| `")
    ]
    assert [row[0] for row in rows] == ["store", *(name for name in Settings.model_fields if name != "store")]
    assert [row[1] for row in rows] == [f"HAZARDMILL_{row[0].upper()}" for row in rows]
