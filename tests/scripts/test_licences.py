"""docs/licences.md says what installing brings, and nothing is brought that nobody decided on."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.metadata import Distribution
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-engines.lock")
GPL = "   GNU GENERAL PUBLIC LICENSE\n     Version 3, 29 June 2007\n"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("licences_of_the_project", PROJECT / "scripts" / "licences.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        # Where a dataclass looks for its annotations.
        patch.setitem(__import__("sys").modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the script reads of the project, to be changed."""
    for name in (*LOCKS, "pyproject.toml"):
        shutil.copy(PROJECT / name, tmp_path)
    return tmp_path


def install(folder: Path, metadata: str, **files: str) -> None:
    """Plant an installed package of the name ``planted``."""
    info = folder / "planted-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: planted\nVersion: 1.0\n{metadata}")
    for name, text in files.items():
        (info / name).write_text(text)
    (info / "RECORD").write_text("".join(f"{info.name}/{name},,\n" for name in files))


def require(checkout: Path, extra: str, lock: str | None) -> None:
    """Let an extra require the planted package."""
    project = checkout / "pyproject.toml"
    before = project.read_text()
    project.write_text(before.replace(f"\n{extra} = [", f'\n{extra} = ["planted", '))
    assert project.read_text() != before
    if lock:
        with (checkout / lock).open("a") as written:
            written.write("planted==1.0 \\\n    --hash=sha256:00\n")


def test_the_page_says_what_is_installed(script):
    assert (PROJECT / "docs" / "licences.md").read_text() == script.page(PROJECT), (
        "scripts/licences.py --write renews it"
    )


def test_every_licence_is_allowed_or_decided(script):
    assert list(script.findings(PROJECT)) == []


def test_every_extra_is_in_a_table_or_in_words(script):
    page = (PROJECT / "docs" / "licences.md").read_text()
    extras = script.read_project(PROJECT)["project"]["optional-dependencies"]
    assert all(f"\n| {extra} |" in page or f"`{extra}`" in page for extra in extras)
    assert len(extras) > 10


@pytest.mark.parametrize(
    ("metadata", "files", "licence"),
    [
        ("License-Expression: GPL-3.0-or-later\n", {}, "GPL-3.0-or-later"),
        ("License: MIT\nClassifier: License :: OSI Approved :: GNU Affero General Public License v3\n", {}, None),
        ("Classifier: License :: Other/Proprietary License\n", {}, "Other/Proprietary License"),
        ("License: Free for whom we like\n", {}, "Free for whom we like"),
        ("License: MIT\n", {"COPYING": GPL}, "GPL, MIT"),
        ("License-Expression: MIT\n", {"LICENSE.txt": GPL.replace("GENERAL", "LESSER GENERAL")}, "LGPL, MIT"),
        ("", {}, "unknown"),
    ],
)
def test_a_new_package_that_is_not_permissive_is_found(script, checkout, monkeypatch, metadata, files, licence):
    install(checkout / "site", metadata, **files)
    monkeypatch.syspath_prepend(checkout / "site")
    require(checkout, "hub", "requirements.lock")
    (finding,) = script.findings(checkout)
    assert finding.startswith("planted: ") and "is no licence for requirements.lock" in finding
    assert licence is None or f" {licence} is" in finding


def test_a_permissive_package_is_found_where_the_page_or_a_lock_lacks_it(script, checkout, monkeypatch):
    install(checkout / "site", "License: BSD-3-Clause\nClassifier: License :: OSI Approved :: BSD License\n")
    monkeypatch.syspath_prepend(checkout / "site")
    require(checkout, "hub", None)
    assert list(script.findings(checkout)) == ["planted: not in requirements.lock, and hub needs it"]
    assert "| hub | BSD-3-Clause | dill, fsspec, multiprocess, pandas, planted |" in script.tables(checkout)


def test_what_was_decided_for_the_engines_is_for_them_alone(script, checkout):
    project = checkout / "pyproject.toml"
    project.write_text(project.read_text().replace("\nup = [", '\nup = ["up-enhsp", "pytamer", '))
    run = checkout / LOCKS[0]
    run.write_text(run.read_text() + (checkout / LOCKS[2]).read_text())
    found = [line for line in script.findings(checkout) if "no licence for requirements.lock" in line]
    assert [line.partition(":")[0] for line in found] == ["pytamer", "up-enhsp"]


def test_a_package_that_nothing_needs_is_found_in_a_lock(script, checkout):
    with (checkout / "requirements-dev.lock").open("a") as lock:
        lock.write("krippendorff==0.9.0 \\\n    --hash=sha256:00\n")
    (finding,) = script.findings(checkout)
    assert finding.startswith("krippendorff: in requirements-dev.lock, and nothing here needs it")


def test_an_engine_in_the_first_lock_is_found_though_no_extra_there_needs_it(script, checkout):
    run = checkout / LOCKS[0]
    run.write_text(run.read_text() + "igraph==1.0.0 \\\n    --hash=sha256:00\n")
    (finding,) = script.findings(checkout)
    assert finding.startswith("igraph: in requirements.lock, and nothing here needs it")


def test_a_decision_holds_for_the_licence_it_was_made_for(script, monkeypatch):
    monkeypatch.setitem(script.DECIDED, "tqdm", script.Decision("MIT", "MIT", "it was"))
    monkeypatch.setitem(script.DECIDED, "gone", script.Decision("GPL", "GPL", "it was"))
    found = list(script.findings(PROJECT))
    assert found[0].startswith("tqdm: its metadata says MPL-2.0 AND MIT, and MIT when")
    assert found[1:] == ["gone: decided, and nothing brings it any more"]


def test_what_is_missing_is_named(script, checkout):
    require(checkout, "hub", "requirements.lock")
    with pytest.raises(LookupError, match="planted is not installed: make dev engines"):
        list(script.findings(checkout))


def test_claims_of_older_metadata_are_read(script, tmp_path):
    install(
        tmp_path,
        "License: MIT License\n Permission is hereby granted\nClassifier: License :: OSI Approved :: MIT License\n",
    )
    assert script.licence_of(Distribution.at(tmp_path / "planted-1.0.dist-info")) == "MIT"


@pytest.mark.parametrize(
    ("target", "locks"),
    [
        ("demo", 1),
        ("server", 1),
        ("worker", 1),
        ("deploy", 1),
        ("lint", 2),
        ("engines", 2),
        ("test", 3),
        ("test-full", 3),
    ],
)
def test_only_tests_and_who_asks_install_engines(target, locks, tmp_path):
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", f"VENV={tmp_path / 'venv'}", target],
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    named = [lock for lock in LOCKS if f" {lock}\n" in done.stdout]
    assert named[0] == LOCKS[0] and len(named) == locks
    assert (LOCKS[2] in named) == (target in ("engines", "test", "test-full"))
