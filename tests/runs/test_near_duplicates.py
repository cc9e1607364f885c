from __future__ import annotations

import json
import shutil
from itertools import chain
from pathlib import Path

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import InputError
from hazardmill.generation.models import Models
from hazardmill.llm.requests import Request
from hazardmill.quality.duplicates import DuplicatePool
from hazardmill.resources import SOURCES_VARIABLE
from hazardmill.runs import near_duplicates
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.duplicates import texts_of
from hazardmill.runs.near_duplicates import NearDuplicate, alike_in, groups, structures_of, task_chunks
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.generation.support import APPROVED, FOUND, fenced
from tests.running import answering, worked

from .test_duplicates import CODE, OTHERWISE, TOLD_OTHERWISE

RUNS = {"first": (1, 4, 5), "second": (2, 3, 6)}
"""Divided so that no run meets a duplicate of its own, but for one that is so only across both."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, sources_home: Path) -> Path:
    """Two runs, each with tasks that repeat the other's; not to be written to."""
    folder = tmp_path_factory.mktemp("alike")
    store = Store.open(folder / "store", create=True)

    def number_of(request: Request) -> int:
        return int(str(request.record_id).partition(":")[2])

    backend = ScriptedBackend(
        extract=lambda request: TOLD_OTHERWISE if number_of(request) in OTHERWISE else FOUND,
        author=lambda request: fenced(CODE[number_of(request)]),
        judge=APPROVED,
    )
    models = Models(extract="toy", author="toy", judge="toy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SOURCES_VARIABLE, str(sources_home))
        for run_id, numbers in RUNS.items():
            path = folder / f"{run_id}.txt"
            path.write_text("".join(f"{number} hot soup {number}\n" for number in numbers))
            config = RunConfig(inputs=(RunInput(source="notes", path=path),), models=models)
            run, _ = Run.start(store, config, run_id, resources=answering(backend))
            worked(run)
    return store.path


@pytest.fixture
def filled(original: Path, tmp_path: Path) -> Store:
    return Store.open(shutil.copytree(original, tmp_path / "filled"))


def joined(store: Store, size: int) -> list[NearDuplicate]:
    structures: dict[str, str] = {}
    for chunk in task_chunks(store, size):
        structures |= structures_of(store, chunk)
    return [each for chunk in groups(structures, size) for each in alike_in(store, chunk)]


def by_pool(store: Store) -> dict[str, str]:
    """What the pool says that `hazardmill dedupe` asks."""
    rows = {row["task_id"]: row for row in sorted(store.rows("tasks"), key=lambda row: row["run_id"])}
    pool, twins = DuplicatePool(), {}
    for task_id in chain.from_iterable(task_chunks(store)):
        document = json.loads(rows[task_id]["document"])
        twin = pool.add(task_id, document, texts_of(document, json.loads(rows[task_id]["danger"])))
        if twin is not None:
            twins[task_id] = twin.task_id
    return twins


@pytest.mark.parametrize("size", [1, 2, 100])
def test_duplicates_over_all_runs_are_those_of_the_pool_however_they_are_divided(filled: Store, size: int) -> None:
    found = joined(filled, size)
    expected = by_pool(filled)
    assert {each.task_id: each.twin for each in found} == expected and len(expected) == 2
    assert all(each.similarity >= 0.7 for each in found)


def test_each_text_of_a_group_is_taken_apart_once(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def words(text: str) -> list[str]:
        taken.append(text)
        return text.split()

    monkeypatch.setattr(near_duplicates, "words", words)
    (chunk,) = task_chunks(filled)
    (grouped,) = groups(structures_of(filled, chunk))
    alike_in(filled, grouped)
    assert len(taken) == sum(map(len, grouped)) > 3


def test_structures_are_those_that_the_store_has(filled: Store) -> None:
    (chunk,) = task_chunks(filled)
    known = {row["task_id"]: row["structure_id"] for row in filled.rows("tasks")}
    assert structures_of(filled, chunk) == known and len(set(known.values())) == 2


def test_groups_are_of_one_structure_in_order_and_fill_a_chunk() -> None:
    structures = {"a": "x", "b": "y", "c": "x", "d": "z", "e": "y", "f": "x", "g": "v", "h": "v"}
    groups_of = [("a", "c", "f"), ("b", "e"), ("g", "h")]
    assert groups(structures, 100) == [tuple(groups_of)]
    assert groups(structures, 5) == [tuple(groups_of[:2]), (groups_of[2],)]
    assert groups(structures, 1) == [(group,) for group in groups_of]
    assert groups({"a": "x", "b": "y"}, 5) == groups({}, 5) == []


def test_a_task_that_is_gone_is_named(filled: Store) -> None:
    with pytest.raises(InputError, match="no longer contains the task notes-0"):
        structures_of(filled, ["notes-0"])
    with pytest.raises(InputError, match="no longer contains the task notes-0"):
        alike_in(filled, [["notes-0"]])


def test_a_document_that_is_none_is_named(filled: Store) -> None:
    row = filled.rows("tasks", {"run_id": "first"})[0]
    with filled.writer("first") as writer:
        writer.append_sync({"tasks": [{**row, "document": "{"}]})
    with pytest.raises(InputError, match=f"the document of task {row['task_id']} is invalid"):
        structures_of(filled, [row["task_id"]])
