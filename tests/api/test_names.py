"""The promised names (docs/python.md) with their signatures: what a user's code may rely on, and breaks if it changes.

A difference is a change that users see. Give it a line in CHANGELOG.md; if something was removed, renamed or means
something else, it also needs a new major version (before 1.0.0: minor).
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hazardmill
from hazardmill.api.playthrough import Playthrough
from hazardmill.api.run import GenerationRun, RunUpdate
from hazardmill.formalism.authoring import Action
from hazardmill.formalism.proofs.claim import Certificate, ClaimResult
from hazardmill.formalism.repair.repair import Edit, Repair
from hazardmill.formalism.search.planner_cascade import PlanAnswer, TaskSolution
from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanVerdict
from hazardmill.release.read.release import Release
from hazardmill.release.read.task import ReleasedTask
from hazardmill.store.store import Store

PROMISED = Path(__file__).with_name("promised.txt")

WITH_METHODS = (hazardmill.PlanningTask, Action, hazardmill.Task, Playthrough, GenerationRun, Release, ReleasedTask)
WITH_FIELDS = (PlanVerdict, PlanStep, TaskSolution, PlanAnswer, Certificate, ClaimResult, Repair, Edit, RunUpdate)

OF_A_STORE = ("address", "count", "rows")
"""What docs/python.md promises of a store; all else of it is private."""


UNPROMISED = {"Release.find_row", "ReleasedTask.of"}
"""For hazardmill itself: docs/releases.md does not name them."""


def promised() -> Iterator[str]:
    """Yield every promised name in a line of its own."""
    for name in sorted(hazardmill.__all__):
        found: Any = getattr(hazardmill, name)
        yield f"hazardmill.{name}" + (signature(found) if callable(found) else "")
    for cls in WITH_METHODS:
        if names := sorted(attributes(cls)):
            yield f"{cls.__name__} has {', '.join(names)}"
        for name, found in sorted(vars(cls).items()):
            if name.startswith("_") or f"{cls.__name__}.{name}" in UNPROMISED:
                continue
            if isinstance(found, classmethod):
                found = getattr(cls, name)
            yield f"{cls.__name__}.{name}" + (signature(found) if callable(found) else "")
    for name in OF_A_STORE:
        found = vars(Store)[name]
        yield f"Store.{name}" + (signature(found) if callable(found) else "")
    for cls in WITH_FIELDS:
        names = [field.name for field in dataclasses.fields(cls)]
        names += [name for name, found in vars(cls).items() if isinstance(found, property) and name[0] != "_"]
        yield f"{cls.__name__}: {', '.join(names)}"


def attributes(cls: type) -> set[str]:
    """The public attributes that an instance gets in ``__init__``, or declares as fields."""
    if dataclasses.is_dataclass(cls):
        return {field.name for field in dataclasses.fields(cls)}
    if "__init__" not in vars(cls):
        return set()
    body = ast.parse(textwrap.dedent(inspect.getsource(vars(cls)["__init__"])))
    stored = (node for node in ast.walk(body) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return {
        node.attr
        for node in stored
        if isinstance(node.value, ast.Name) and node.value.id == "self" and not node.attr.startswith("_")
    }


def signature(found: Any) -> str:
    return str(inspect.signature(found)).replace("'", "")


def test_what_is_promised_is_as_it_was() -> None:
    assert list(promised()) == PROMISED.read_text().splitlines()


def test_the_package_offers_its_names_before_they_are_imported() -> None:
    assert set(hazardmill.__all__) <= set(dir(hazardmill))
    assert [name for name in hazardmill.__all__ if not hasattr(hazardmill, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'Run'"):
        hazardmill.Run  # type: ignore[attr-defined]  # noqa: B018


def test_types_are_given_for_the_same_names(project: Path) -> None:
    stub = ast.parse((project / "hazardmill" / "__init__.pyi").read_text())
    imported = [alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    (listed,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
    assert sorted([*imported, "__version__"]) == sorted(hazardmill.__all__)
    assert sorted(ast.literal_eval(listed)) == sorted(hazardmill.__all__)
