from __future__ import annotations

from pathlib import Path
from typing import Any

from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.licences import credits_of, hub_identifiers, licence_name, licences, write_licences
from hazardmill.release.manifest import Attribution

from .miniature import facts_of, miniature, task

ROWS = {("tasks", "train"): [task(1)], ("tasks_by_sa", "train"): [task(2, source="normbank", licence="CC-BY-SA-4.0")]}
LINES = (
    Attribution(source="normbank", licence="CC-BY-SA-4.0", attribution="NormBank | ours", tasks=1),
    Attribution(source="bddl", licence="MIT", attribution="BEHAVIOR-1K", tasks=1_200),
)


def facts(folder: Path, rows: Any = ROWS, **manifest: Any) -> Facts:
    said = {"licences": {"MIT": 1_200, "CC-BY-SA-4.0": 1}, "attributions": LINES, **manifest}
    return facts_of(miniature(folder, "1.0.0", rows, **said), rows)


def test_each_licence_is_told_with_its_tasks_and_its_text(tmp_path: Path) -> None:
    write_licences(tmp_path, facts(tmp_path))

    written = (tmp_path / "LICENSES.md").read_text(encoding="utf-8")
    assert "| CC-BY-SA-4.0 | 1 | https://creativecommons.org/licenses/by-sa/4.0/ |" in written
    assert "| MIT | 1,200 | https://spdx.org/licenses/MIT |" in written
    assert "- bddl (MIT, 1,200 tasks): BEHAVIOR-1K\n- normbank (CC-BY-SA-4.0, 1 task): NormBank \\| ours\n" in written


def test_the_terms_of_share_alike_rows_are_told_with_their_configs(tmp_path: Path) -> None:
    told = licences(facts(tmp_path)).split("## Share-alike rows\n", 1)[1]

    assert "`tasks_by_sa`" in told
    assert "credit the source, say what was changed, and use the same licence" in " ".join(told.split())


def test_without_share_alike_rows_no_terms_are_told(tmp_path: Path) -> None:
    rows = {("tasks", "train"): [task(1)]}

    assert "Share-alike" not in licences(facts(tmp_path, rows, licences={"MIT": 1}))


def test_a_licence_that_nobody_lists_points_to_its_source(tmp_path: Path) -> None:
    assert "| Own terms | 2 | see the source |" in licences(facts(tmp_path, licences={"Own terms": 2}))
    assert licence_name("Own terms") == ("other", None, None)


def test_the_hub_is_told_each_licence_once_the_commonest_first(tmp_path: Path) -> None:
    it = facts(tmp_path, licences={"A": 3, "B": 4, "CC-BY-SA-4.0": 6, "MIT": 5})

    assert hub_identifiers(it) == ["other", "cc-by-sa-4.0", "mit"]


def test_credits_come_by_source(tmp_path: Path) -> None:
    assert [each.source for each in credits_of(facts(tmp_path))] == ["bddl", "normbank"]
