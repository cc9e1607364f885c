from __future__ import annotations

import os
from pathlib import Path

import pytest

from hazardmill import resources
from hazardmill.errors import SettingsError


@pytest.fixture(autouse=True)
def no_further_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(resources.SOURCES_VARIABLE, raising=False)


def installed_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = folder / "hazardmill"
    package.mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    return package


def test_a_checkout_uses_the_folders_at_its_top(project: Path) -> None:
    assert resources.prompts_folder() == project / "prompts"
    assert resources.sources_folders() == (project / "sources",)
    assert (resources.review_folder() / "rubric.md").is_file()


def test_an_installation_uses_what_is_bundled_and_no_neighbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = installed_at(tmp_path, monkeypatch)
    (tmp_path / "sources").mkdir()  # of another distribution, in the same site-packages
    (package / "_bundled" / "sources").mkdir(parents=True)
    (package / "_bundled" / "prompts").mkdir()
    (package / "_bundled" / "review").mkdir()
    assert resources.sources_folders() == (package / "_bundled" / "sources",)
    assert resources.prompts_folder() == package / "_bundled" / "prompts"
    assert resources.review_folder() == package / "_bundled" / "review"


def test_an_incomplete_installation_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_at(tmp_path, monkeypatch)
    with pytest.raises(SettingsError, match=r"no folder 'prompts'.*install the wheel again"):
        resources.prompts_folder()


def test_the_variable_adds_folders_in_order_once(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "b", tmp_path / "a"
    first.mkdir()
    second.mkdir()
    entries = [str(first), "", str(second), str(first), str(project / "sources")]
    monkeypatch.setenv(resources.SOURCES_VARIABLE, os.pathsep.join(entries))
    assert resources.sources_folders() == (project / "sources", first, second)


def test_a_folder_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(resources.SOURCES_VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(SettingsError, match=r"missing.*which is not a folder.*HAZARDMILL_SOURCES"):
        resources.sources_folders()
