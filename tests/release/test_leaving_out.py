"""Leaving out what gates refuse: the rest is released, and nothing of what is left out stays anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories.release_store import rewritten
from pydantic import ValidationError

from flows.earlier_releases import compare
from flows.release_form import in_words
from hazardmill.errors import ReleaseRefused
from hazardmill.release.build.build import BuiltRelease, build
from hazardmill.release.build.options import LEAVABLE, WAIVABLE, Options
from hazardmill.release.gates.findings import FindingTally, GateResult
from hazardmill.release.gates.gates import GATES, LEFT_OUT_BECAUSE
from hazardmill.release.gates.leaving_out import LeftOut
from hazardmill.release.hub.folder import read_folder
from hazardmill.release.manifest import read_manifest
from hazardmill.release.read.exports import FORMATS, export
from hazardmill.release.read.release import load_release
from hazardmill.store.store import Store

from .shown import texts_of
from .test_build import files_of, left_beside

Row = dict[str, Any]

TELEPHONE = "555-867-5309"


def with_telephone(store: Store, path: Path, *places: int) -> tuple[Store, list[Row]]:
    """The store with a telephone number in the records of some tasks of injuries, and the rows of these tasks."""
    tasks = sorted(store.rows("tasks", {"source": "neiss"}), key=lambda row: str(row["task_id"]))
    chosen = [dict(tasks[place]) for place in places]
    records = {row["record_id"] for row in chosen}

    def change(table: str, row: Row) -> Row:
        if table == "records" and row["record_id"] in records:
            return {**row, "context": f"{row['context']} CALL {TELEPHONE}"}
        return row

    return rewritten(store, path, change), chosen


@pytest.fixture(scope="module")
def without_one(model_store: Store, options: Options, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """A release without one task of injuries, what was built, the store and the row of the task."""
    folder = tmp_path_factory.mktemp("without")
    store, (gone,) = with_telephone(model_store, folder / "store", 0)
    asked = options.model_copy(update={"leave_out": ("personal_data",)})
    return build(store, None, asked, folder / "release"), store, gone


def test_the_others_are_released_and_counted(without_one: tuple[BuiltRelease, Store, Row], built: Path) -> None:
    made, _, gone = without_one
    before = read_manifest(built)
    assert made.manifest.tasks == before.tasks - 1
    assert made.manifest.left_out_by_gates == {"personal_data": 1}
    assert made.manifest.funnel == {**before.funnel, "released": before.tasks - 1}
    (gate,) = [each for each in made.gates if each.left_out]
    assert (gate.name, gate.passed, gate.left_out_tasks) == ("personal_data", True, (gone["task_id"],))
    assert read_manifest(made.folder) == made.manifest


def test_nothing_of_what_is_left_out_stays(
    without_one: tuple[BuiltRelease, Store, Row], built: Path, tmp_path: Path
) -> None:
    made, _, gone = without_one
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    for format_ in FORMATS:
        export(load_release(made.folder), pairs / f"{format_}.jsonl", format_, by_sa=True)
    # All that is only of this task, or of its record.
    marks = {gone["task_id"], gone["record_id"], gone["document_hash"], gone["structure_id"], TELEPHONE}
    there = "\n".join(texts_of(built))
    assert all(mark in there for mark in marks - {TELEPHONE})
    left = "\n".join([*texts_of(made.folder), *texts_of(pairs)])
    assert [mark for mark in sorted(marks) if mark in left] == []
    assert not left_beside(made.folder)


def test_card_changelog_and_the_form_for_approval_say_how_many_and_why(
    without_one: tuple[BuiltRelease, Store, Row], tmp_path: Path
) -> None:
    made, *_ = without_one
    why = "their texts have what looks like personal data"
    card = (made.folder / "README.md").read_text()
    assert f"| refused by the gate `personal_data`: {why} | 1 |" in card
    assert "passed (1 task left out)" in card
    assert f"Left out by the gate `personal_data`, as {why}: 1." in (made.folder / "CHANGELOG.md").read_text()
    form = in_words(read_folder(made.folder), made.folder, compare(None, made.folder), tmp_path / "page.html")
    assert "left out by gate personal_data: 1" in form


def test_it_is_as_though_the_task_had_never_been_there(
    without_one: tuple[BuiltRelease, Store, Row], options: Options, tmp_path: Path
) -> None:
    made, store, gone = without_one
    never = rewritten(
        store, tmp_path / "store", lambda table, row: None if row.get("task_id") == gone["task_id"] else row
    )
    other = build(never, None, options, tmp_path / "release")
    data = {name: entry for name, entry in made.manifest.files.items() if name.startswith(("data/", "tasks"))}
    assert data == {name: other.manifest.files[name] for name in data}


@pytest.mark.full
def test_the_same_is_left_out_twice(
    without_one: tuple[BuiltRelease, Store, Row], options: Options, tmp_path: Path
) -> None:
    made, store, _ = without_one
    asked = options.model_copy(update={"leave_out": ("personal_data",), "jobs": 2})
    assert files_of(build(store, None, asked, tmp_path / "release").folder) == files_of(made.folder)


def test_other_gates_still_refuse_the_release(model_store: Store, options: Options, tmp_path: Path) -> None:
    store, (gone, other) = with_telephone(model_store, tmp_path / "store", 0, 1)

    def change(table: str, row: Row) -> Row:
        return {**row, "licence": ""} if table == "tasks" and row["task_id"] == other["task_id"] else row

    damaged = rewritten(store, tmp_path / "damaged", change)
    with pytest.raises(ReleaseRefused, match="refused by licence") as caught:
        build(damaged, None, options.model_copy(update={"leave_out": ("attribution",)}), tmp_path / "release")
    assert "--leave-out licence" in str(caught.value.remedy)
    assert not (tmp_path / "release").exists() and not left_beside(tmp_path / "release")
    # The only task without a licence goes with those of personal data.
    made = build(damaged, None, options.model_copy(update={"leave_out": ("personal_data",)}), tmp_path / "release")
    assert made.manifest.left_out_by_gates == {"personal_data": 2}
    assert gone["task_id"] not in {task.task_id for task in load_release(made.folder).tasks()}


def test_if_all_are_left_out_there_is_no_release(mill_store: Store, options: Options, tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="every task is left out by offline: nothing is left") as caught:
        build(mill_store, None, options.model_copy(update={"leave_out": ("offline",)}), tmp_path / "release")
    assert len(caught.value.findings) == len(mill_store.rows("tasks"))
    assert not (tmp_path / "release").exists()


def test_a_task_that_nobody_settled_can_be_left_out_by_another_gate(
    model_store: Store, options: Options, tmp_path: Path
) -> None:
    """The gate `review` sees all candidates, but not those that are gone."""
    store, (gone,) = with_telephone(model_store, tmp_path / "store", 0)
    (tmp_path / "review").mkdir()
    asked = options.model_copy(update={"policy": "any-reject", "leave_out": ("personal_data",)})
    with pytest.raises(ReleaseRefused, match="refused by review") as caught:
        build(store, tmp_path / "review", asked, tmp_path / "release")
    assert not any(gone["task_id"] in line for line in caught.value.findings)
    asked = options.model_copy(update={"policy": "any-reject", "leave_out": ("review",)})
    with pytest.raises(ReleaseRefused, match="every task is left out by review"):
        build(store, tmp_path / "review", asked, tmp_path / "release")


# Which gates can


def test_every_gate_can_either_leave_out_tasks_or_be_waived() -> None:
    assert {*LEAVABLE, *WAIVABLE} == set(GATES) and not {*LEAVABLE} & {*WAIVABLE}
    assert tuple(LEFT_OUT_BECAUSE) == LEAVABLE


@pytest.mark.parametrize(("gate", "why"), [("corpus", "speaks of the corpus as a whole"), ("pii", "does not exist")])
def test_a_gate_that_names_no_tasks_is_refused_with_those_that_do(gate: str, why: str) -> None:
    with pytest.raises(ValidationError, match=f"the gate '{gate}' {why}.*these can: {', '.join(LEAVABLE)}"):
        Options(version="1.0.0", leave_out=(gate,))


def test_the_order_of_the_gates_means_nothing() -> None:
    named = Options(version="1.0.0", leave_out=("personal_data", "licence", "personal_data")).leave_out
    assert named == ("licence", "personal_data")


def found_by(name: str, add: Callable[[FindingTally], None]) -> GateResult:
    tally = FindingTally(name, "it requires")
    add(tally)
    return tally.result()


def test_a_duplicate_stays_if_its_original_goes() -> None:
    personal = found_by("personal_data", lambda tally: tally.add("a", "a date", "reject it"))
    duplicate = found_by("duplicates", lambda tally: tally.add("b", "it is a", "reject it", "same", True))
    left_out = LeftOut()
    assert left_out.take([duplicate, personal], ("duplicates", "personal_data"))
    assert [(result.name, [each.task_id for each in result.findings]) for result in left_out.results] == [
        ("personal_data", ["a"])
    ]
    # Looked at again without it, nothing repeats it; had it stayed, the duplicate would go.
    assert not left_out.take([replace(duplicate, findings=())], ("duplicates",))
    assert left_out.take([duplicate], ("duplicates",))
    assert [each.task_id for each in left_out.by("duplicates")] == ["b"]
