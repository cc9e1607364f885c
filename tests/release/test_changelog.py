from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import InputError, ReleaseRefused
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.changelog import NAMED, changelog, write_changelog
from hazardmill.release.manifest import file_of

from .miniature import Rows, facts_of, miniature, task

ONE = {("tasks", "train"): [task(1), task(2)], ("tasks", "test"): [task(3)]}
TWO = {("tasks", "train"): [task(1, context="other"), task(2)], ("tasks", "test"): [task(4)]}


def release(folder: Path, version: str, rows: Rows, parent: Path | None = None, **manifest: Any) -> Facts:
    """A release with its changelog, whole: with the hash of the changelog in the manifest."""
    it = replace(facts_of(miniature(folder, version, rows, **manifest), rows), parent=parent)
    (name,) = write_changelog(folder, it)
    files = {**it.manifest.files, name: file_of(folder / name)}
    it.manifest.model_copy(update={"files": files}).write(folder)
    return it


def test_the_first_release_says_so(tmp_path: Path) -> None:
    release(tmp_path, "1.0.0", ONE)

    written = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert written == "# Changelog of the data\n\n## 1.0.0 (2026-01-10)\n\nFirst release: 3 tasks.\n"


def test_a_later_one_tells_what_is_different_above_what_was_said_before(tmp_path: Path) -> None:
    release(tmp_path / "1", "1.0.0", ONE)
    release(tmp_path / "2", "1.1.0", TWO, tmp_path / "1")
    release(tmp_path / "3", "2.0.0", {**TWO, ("plans", "test"): [{}]}, tmp_path / "2", date=None)

    written = (tmp_path / "3" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [line for line in written.splitlines() if line.startswith("#")] == [
        "# Changelog of the data",
        "## 2.0.0",
        "## 1.1.0 (2026-01-10)",
        "## 1.0.0 (2026-01-10)",
    ]
    newest, middle, _ = written.split("\n## ")[1:]
    assert "Since 1.1.0: 0 added, 0 removed, 0 changed, 3 as they were." in newest
    assert "- config added: plans" in newest
    assert "Since 1.0.0: 1 added, 1 removed, 1 changed, 1 as they were." in middle
    assert "- bddl-000000000004 (test): a record that had no task" in middle
    assert "- bddl-000000000003 (test): no task of its record is left" in middle
    assert "- bddl-000000000001: texts" in middle


def test_only_distributions_that_moved_are_told(tmp_path: Path) -> None:
    release(tmp_path / "1", "1.0.0", ONE)
    new = {("tasks", "train"): [task(1), task(2), task(9, source="neiss")], ("tasks", "test"): [task(3)]}

    told = changelog(tmp_path / "2", release(tmp_path / "2", "1.1.0", new, tmp_path / "1"))

    assert "| source: neiss | 0 | 1 | +1 |" in told.replace("\\", "")
    assert "| split: train | 2 | 3 | +1 |" in told.replace("\\", "")
    assert "source: bddl" not in told
    assert "split: test" not in told


def test_a_version_that_says_too_little_is_refused(tmp_path: Path) -> None:
    release(tmp_path / "1", "1.0.0", ONE)

    with pytest.raises(ReleaseRefused, match=r"1\.0\.1 is too small a step from its parent 1\.0\.0") as caught:
        release(tmp_path / "2", "1.0.1", TWO, tmp_path / "1")

    assert caught.value.findings == (
        "version: tasks differ: 1 added, 1 removed, 1 changed [give the later release version 1.1.0 or higher]",
    )
    assert not (tmp_path / "2" / "CHANGELOG.md").exists()


def test_of_many_tasks_the_first_are_named_and_all_are_counted(tmp_path: Path) -> None:
    release(tmp_path / "1", "1.0.0", ONE)
    many = {**ONE, ("tasks", "validation"): [task(number) for number in range(100, 100 + NAMED + 7)]}

    told = changelog(tmp_path / "2", release(tmp_path / "2", "1.1.0", many, tmp_path / "1"))

    assert f"{NAMED + 7} added" in told
    assert told.count("a record that had no task") == NAMED
    assert "- and 7 more: see `hazardmill release diff`" in told


def test_a_damaged_parent_is_refused(tmp_path: Path) -> None:
    release(tmp_path / "1", "1.0.0", ONE)
    (tmp_path / "1" / "CHANGELOG.md").write_text("# Changelog of something else\n", encoding="utf-8")

    with pytest.raises(InputError, match=r"damaged: CHANGELOG\.md has other bytes"):
        release(tmp_path / "2", "1.1.0", TWO, tmp_path / "1")


def test_a_parent_without_a_changelog_is_named_all_the_same(tmp_path: Path) -> None:
    miniature(tmp_path / "1", "1.0.0", ONE)

    told = changelog(tmp_path / "2", release(tmp_path / "2", "1.1.0", TWO, tmp_path / "1"))

    assert told.endswith("## 1.0.0 (2026-01-10)\n\n3 tasks.\n")


def test_ids_of_others_open_nothing(tmp_path: Path) -> None:
    release(tmp_path / "1", "1.0.0", ONE)
    hostile = {**ONE, ("tasks", "validation"): [task(9, task_id="[a](http://b.example)<img>\n# c", source="<b>|")]}

    told = changelog(tmp_path / "2", release(tmp_path / "2", "1.1.0", hostile, tmp_path / "1"))

    assert "\\[a\\](http://b.example)&lt;img\\> \\# c" in told
    assert "<b>" not in told
