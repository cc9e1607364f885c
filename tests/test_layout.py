"""The rooms and names of the library: rules that stay behind after it was put in order."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

MOST_MODULES = 20

LARGE: dict[str, str] = {}
"""Folders that may have more, each with the reason."""

TWICE = {"BasePlanner": "what tasks of DESPITE subclass, in the jail and in the shim that stands in for theirs"}
"""Class names that may stand twice, each with the reason."""

PARTICIPLES: dict[str, str] = {}
"""Classes that may be named by a bare participle, each with the reason."""


@pytest.fixture(scope="module")
def modules(project: Path) -> dict[Path, ast.Module]:
    paths = sorted((project / "hazardmill").rglob("*.py"))
    return {path.relative_to(project): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def public_classes(modules: dict[Path, ast.Module]) -> Iterator[tuple[str, Path]]:
    for path, module in modules.items():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, path


def test_no_folder_has_more_modules_than_one_looks_through(modules: dict[Path, ast.Module]) -> None:
    sizes = Counter(path.parent.as_posix() for path in modules)
    assert sizes["hazardmill/store"] > 1
    assert {folder for folder, size in sizes.items() if size > MOST_MODULES} == {*LARGE}


def test_no_public_class_name_stands_twice(modules: dict[Path, ast.Module]) -> None:
    places: dict[str, list[Path]] = defaultdict(list)
    for name, path in public_classes(modules):
        places[name].append(path)
    assert {name: found for name, found in places.items() if len(found) > 1 and name not in TWICE} == {}
    assert all(len(places[name]) > 1 for name in TWICE)


def test_no_public_class_is_named_by_a_bare_participle(modules: dict[Path, ast.Module]) -> None:
    bare = re.compile(r"[A-Z][a-z]+(ed|wn|ept|ought|ade|ept|iven|aken)")
    found = {name for name, _ in public_classes(modules) if bare.fullmatch(name)}
    assert found == {*PARTICIPLES}


def test_every_package_has_its_row_among_the_layers(project: Path) -> None:
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    named = {name.strip("() ").removeprefix("hazardmill.") for row in layers for name in row.split("|")}
    top = (project / "hazardmill").iterdir()
    found = {path.stem for path in top if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert found - named == {"__init__"}
    assert named - found == {"flows"}


def test_the_way_of_a_record_opens_at_most_25_files_all_of_which_are_there(project: Path) -> None:
    page = (project / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"^\d+\. `(hazardmill/\S+\.py)`", page, re.MULTILINE)
    assert 20 <= len(named) <= 25
    assert [name for name in named if not (project / name).is_file()] == []


def test_every_package_is_in_the_table_of_where_to_look_first(project: Path) -> None:
    page = (project / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Where to look first")[2].partition("\n## ")[0]
    packages = {path.name for path in (project / "hazardmill").iterdir() if (path / "__init__.py").is_file()}
    told = set(re.findall(r"`([a-z_]+)`", table))
    assert packages - told == {"cli", "text"}


def test_no_module_hands_on_the_names_of_another(modules: dict[Path, ast.Module]) -> None:
    found = [
        f"{path}: {alias.name}"
        for path, module in modules.items()
        if path.name != "__init__.py"
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    ]
    assert found == []


def test_the_lists_of_packages_name_what_is_there_and_all_of_it(modules: dict[Path, ast.Module], project: Path) -> None:
    listed, wrong = 0, {}
    for path, module in modules.items():
        lines = (ast.get_docstring(module) or "").splitlines() if path.name == "__init__.py" else []
        heads = [re.match(r"(?:    )?((?:[a-z_]+(?:\.py|/), )*[a-z_]+(?:\.py|/))\s{2,}\S", line) for line in lines]
        named = {name for head in heads if head for name in head[1].split(", ")}
        if not named:
            continue
        listed += 1
        folder = project / path.parent
        gone = {name for name in named if not (folder / name).exists()}
        missing = {each.name for each in folder.glob("[a-z]*.py")} - named
        if gone or missing:
            wrong[str(path)] = {"gone": sorted(gone), "missing": sorted(missing)}
    assert wrong == {}
    assert listed >= 8


@pytest.mark.parametrize("folder", ["benchmarks", "flows", "scripts", "sources"])
def test_what_stands_outside_of_the_library_imports_what_is_there(project: Path, folder: str) -> None:
    wanted = {
        (node.module, alias.name)
        for path in (project / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hazardmill")
        for alias in node.names
    }
    assert wanted
    missing = set()
    for module, name in wanted:
        try:
            if not hasattr(importlib.import_module(module), name):
                importlib.import_module(f"{module}.{name}")
        except ImportError:
            missing.add(f"{module}.{name}")
    assert missing == set()
