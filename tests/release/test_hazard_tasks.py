"""Releases of hazard tasks: gates, rows, splits, texts, and what reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factories.dialogues import HEAT, WATER, acting_store, seed
from factories.release_store import rewritten
from review.support import APPROVE, answer, make_folder

from hazardmill.errors import ReleaseRefused
from hazardmill.evaluation.safety.seeds import find_seeds, write_seeds
from hazardmill.evaluation.safety.task_set import read_tasks
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.search.exact import solve
from hazardmill.generation.acting.proposals import name_task
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.release.build.build import build
from hazardmill.release.build.configs import HAZARD_TASKS
from hazardmill.release.build.options import Options
from hazardmill.release.diff.compare import diff_folders
from hazardmill.release.read.release import Release, load_release
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_pool
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.schemas import ReviewAnswer
from hazardmill.review.service import ReviewService
from hazardmill.scenarios.reading import read_domain, read_problem
from hazardmill.store.store import Store
from hazardmill.verification.hazard_task import verify_hazard_task

from .test_build import all_rows, files_of
from .test_datasets import LOADING, in_a_child

Row = dict[str, Any]
OPTIONS = Options(version="1.0.0", policy="none")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Sixteen hazard tasks, half of which have two categories. Nobody writes to it."""
    return acting_store(tmp_path_factory.mktemp("acting"))


@pytest.fixture(scope="module")
def built(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(store, None, OPTIONS, tmp_path_factory.mktemp("built") / "release").folder


@pytest.fixture(scope="module")
def release(built: Path) -> Release:
    return load_release(built)


def test_every_hazard_task_is_released_once(built: Path, store: Store, release: Release) -> None:
    stored = {row["hazard_task_id"]: row for row in store.rows("hazard_tasks")}
    rows = all_rows(built, "hazard_tasks")
    assert sorted(row["hazard_task_id"] for row in rows) == sorted(stored) and len(rows) == 16
    for row in rows:
        assert list(row) == [column.name for column in HAZARD_TASKS.columns]
        for name in ("instruction", "document", "reference", "categories", "role", "dialogue", "seeds", "licence"):
            assert row[name] == stored[row["hazard_task_id"]][name]
        assert (row["turn"], row["turns"]) in ((3, 4), (4, 4)) and "Warm the milk." in row["context"]
        assert json.loads(row["answered_by"]) == ["openai/toy"]
    assert (release.manifest.tasks, release.manifest.hazard_tasks) == (0, 16)
    assert release.manifest.contents == "16 hazard tasks"


def test_tasks_from_share_alike_seeds_are_in_a_config_of_their_own(tmp_path: Path) -> None:
    row = {**seed(), "model": "m", "run": "r", "sample": 0, "agent": "plans", "safe": False, "source": "toys"}
    row |= {name: json.dumps(row[name]) for name in ("categories", "violations")}
    write_seeds(tmp_path / "shared.jsonl", find_seeds([{**row, "licence": "CC-BY-SA-4.0"}]))
    store = acting_store(tmp_path, dialogues=2, seeds=tmp_path / "shared.jsonl", licence=None)
    folder = build(store, None, OPTIONS, tmp_path / "release").folder
    assert [*load_release(folder).configs()] == ["hazard_tasks_by_sa"]
    # Seeds from these tasks are share-alike again.
    assert {(task.licence, task.attribution) for task in read_tasks(str(folder))} == {("CC-BY-SA-4.0", "toys")}


def test_the_documents_of_a_row_prove_what_it_says(built: Path) -> None:
    for row in all_rows(built, "hazard_tasks")[::4]:
        problem = read_problem(read_domain(row["domain_pddl"]), row["problem_pddl"]).document()
        assert len(problem.objects) == len(json.loads(row["objects"]))
        found = solve(Document.from_json(json.loads(row["compiled"])))
        assert found.safe_text == f"{row['harmless_plan']} (finish)"
        assert found.unsafe_text == f"{row['harmful_plan']} (finish)"


def test_tasks_of_one_structure_are_in_one_split(built: Path, release: Release) -> None:
    splits: dict[str, set[str]] = {}
    for split in release.splits("hazard_tasks"):
        for row in release.rows("hazard_tasks", split):
            splits.setdefault(row["group"], set()).add(split)
    assert len(splits) == 16 and all(len(where) == 1 for where in splits.values())
    assert {split for where in splits.values() for split in where} == {"train", "validation", "test"}


def test_the_card_counts_categories_and_objects(built: Path, release: Release) -> None:
    card = (built / "README.md").read_text()
    for said in (
        "16 hazard tasks: an ordinary, harmless request",
        "Hazard tasks come from dialogues.",
        "Each hazard task was verified again before this release",
        "| Category of harm |",
        "egg (16), sink (16), stove (16)",
        'load_dataset("ORG/NAME", "hazard_tasks"',
        'release.rows("hazard_tasks", split=',
    ):
        assert said in card
    table = [line for line in card.splitlines() if line.startswith((f"| {HEAT}", f"| {WATER}"))]
    assert [line.rstrip(" |").rpartition(" ")[2] for line in table] == ["16", "8"]
    for wrong in ("SAFEL", "robot planning task", "made it in five steps", "None"):
        assert wrong not in card
    assert "16 hazard tasks that roles proposed" in " ".join((built / "CITATION.cff").read_text().split())
    assert "First release: 16 hazard tasks." in (built / "CHANGELOG.md").read_text()
    funnel = release.manifest.funnel
    assert (funnel["records"], funnel["accepted"], funnel["released"]) == (8, 8, 16)


def test_two_builds_give_the_same_bytes(built: Path, store: Store, tmp_path: Path) -> None:
    assert files_of(build(store, None, OPTIONS.model_copy(update={"jobs": 2}), tmp_path / "again").folder) == files_of(
        built
    )


@pytest.mark.full
def test_datasets_loads_the_config(built: Path, tmp_path: Path) -> None:
    (splits,) = in_a_child(LOADING, tmp_path, built, json.dumps(["hazard_tasks"])).values()
    assert sum(len(each["rows"]) for each in splits.values()) == 16
    assert splits["train"]["rows"][0]["reference"].startswith("(switch_on stove)")


def test_what_changed_between_releases_is_told(built: Path, store: Store, tmp_path: Path) -> None:
    changed = rewritten(store, tmp_path / "store", in_hazard_tasks(lambda row: {"harm": "None at all."}))
    other = build(changed, None, Options(version="1.1.0", policy="none", parent=built), tmp_path / "other").folder
    found = diff_folders(built, other)
    assert (found.added, found.removed, found.unchanged, len(found.changed)) == ((), (), 0, 16)
    assert diff_folders(built, built).unchanged == 16


def in_hazard_tasks(change: Callable[[Row], Row]) -> Callable[[str, Row], Row]:
    return lambda table, row: {**row, **change(row)} if table == "hazard_tasks" else row


def stored(store: Store) -> Row:
    (row, *_) = store.rows("hazard_tasks")
    return row


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"document": "{"}, "document", "cannot be read"),
        ({"instruction": "Do it."}, "document_hash", "its id would be"),
        ({"compiled": None}, "document", "cannot be read"),
        ({"objects": '["stove"]'}, "objects", "its document has the objects"),
        ({"record_id": "notes:1"}, "record_id", "is not of"),
        ({"reference": "(switch_on stove)"}, "reference", "does not reach the goal"),
        ({"steps": 9}, "steps", "has 3 steps"),
        ({"reference_categories": f'["{HEAT}"]'}, "reference_categories", "harm of no category"),
        ({"categories": "[]"}, "witnesses", "not one plan per category"),
        ({"witnesses": f'{{"{HEAT}": "(switch_on stove)"}}'}, "witnesses", "does no harm of"),
        ({"harmless_plan": None}, "harmless_plan", "exact search gives"),
        ({"harmful_plan": "(switch_on sink)"}, "harmful_plan", "exact search gives"),
        ({"harmless_plan": "(open it)", "is_searched": False}, "harmless_plan", "does some harm"),
        ({"harmful_plan": "(open it)", "is_searched": False}, "harmful_plan", "does no harm"),
        ({"hazard_task_id": "acting-1"}, "document_hash", "its id would be"),
    ],
)
def test_what_does_not_follow_from_its_documents_is_found(store: Store, changes: Row, field: str, message: str) -> None:
    row = stored(store)
    assert verify_hazard_task(row).findings == ()
    found = verify_hazard_task({**row, **changes}).findings
    assert any(field == each.where and message in each.message for each in found), found


@pytest.mark.parametrize("ending", ["x7", "-²", "-2"])
def test_only_numbers_may_follow_the_name_of_a_task(store: Store, ending: str) -> None:
    row = stored(store)
    found = verify_hazard_task({**row, "hazard_task_id": row["hazard_task_id"] + ending}).findings
    assert [each.where for each in found] == ([] if ending == "-2" else ["document_hash"])


def test_a_compiled_document_may_add_nothing_but_harm(store: Store) -> None:
    row = stored(store)
    easier, worse = json.loads(row["compiled"]), json.loads(row["compiled"])
    next(each for each in easier["actions"] if each["name"] == "switch_on")["precondition"] = True
    worse["dangers"][0]["increment"] = 2
    for changed in (easier, worse):
        compiled = canonical_json(Document.from_json(changed).to_json())
        found = verify_hazard_task({**row, "compiled": compiled, "is_searched": False}).findings
        assert ("compiled", "the compiled document is not that of its document") in [
            (each.where, each.message) for each in found
        ]


def test_a_release_of_a_changed_row_is_refused(store: Store, tmp_path: Path) -> None:
    row = stored(store)
    other = rewritten(store, tmp_path / "other", in_hazard_tasks(lambda it: {"steps": it["steps"] + 1}))
    with pytest.raises(ReleaseRefused) as raised:
        build(other, None, OPTIONS, tmp_path / "release")
    assert any(row["hazard_task_id"] in line and "has 3 steps" in line for line in raised.value.findings)


@pytest.mark.parametrize(
    ("gate", "table", "changes"),
    [
        ("licence", "hazard_tasks", {"licence": "unknown"}),
        ("attribution", "hazard_tasks", {"attribution": ""}),
        ("offline", "hazard_tasks", {"model_answered": OFFLINE_MODEL}),
        ("offline", "llm_calls", {"model_answered": OFFLINE_MODEL}),
        ("offline", "llm_calls", {"recording": "0" * 64}),
        ("local_model", "llm_calls", {"host": "127.0.0.1"}),
    ],
)
def test_gates_on_the_origin_hold_for_hazard_tasks(
    store: Store, tmp_path: Path, gate: str, table: str, changes: Row
) -> None:
    other = rewritten(store, tmp_path / "other", lambda name, row: {**row, **changes} if name == table else row)
    with pytest.raises(ReleaseRefused) as raised:
        build(other, None, OPTIONS, tmp_path / "release")
    assert {line.partition(":")[0] for line in raised.value.findings} == {gate}


REVIEWED = Options(version="1.0.0", policy="any-reject")


@pytest.fixture
def reviewed(store: Store, project: Path, tmp_path: Path) -> ReviewFolder:
    """A review in which two models decide on all tasks, and one rejects the first of them."""
    folder, pool = make_folder(tmp_path / "review", project), load_pool(store, keep=True)
    give_tasks(folder, pool, Wish(("model-a", "model-b"), calibration=0, repeats=0))
    against = ReviewAnswer(verdict="reject", reasons=("category",))
    for name, rejected in (("model-a", min(pool)), ("model-b", "")):
        answer(ReviewService(folder, pool), name, lambda slip, _, it=rejected: against if slip.item == it else APPROVE)
    return folder


def test_what_reviewers_approve_is_released_and_the_rest_is_counted(
    store: Store, reviewed: ReviewFolder, tmp_path: Path
) -> None:
    made = build(store, reviewed.path, REVIEWED, tmp_path / "release")
    manifest = made.manifest
    assert (manifest.hazard_tasks, manifest.left_out) == (15, {"rejected": 1})
    assert manifest.review is not None
    assert manifest.review.model_dump() == {"reviewers": 2, "models": 2, "decisions": 30, "rejected": 1}
    rejected = min(row["hazard_task_id"] for row in store.rows("hazard_tasks"))
    rows = all_rows(made.folder, "hazard_tasks")
    assert rejected not in {row["hazard_task_id"] for row in rows}
    assert {(row["review_policy"], row["reviewers"], row["approvals"]) for row in rows} == {("any-reject", 2, 2)}
    reviews = all_rows(made.folder, "reviews")
    assert {row["task_id"] for row in reviews} == {row["hazard_task_id"] for row in rows} and len(reviews) == 30
    card = (made.folder / "README.md").read_text()
    for said in (
        "**Reviewed by two language models**: no person has judged these hazard tasks.",
        "a hazard task is in this release if every reviewer who was asked approved of it",
        "30 decisions on released hazard tasks; 1 hazard task that they rejected is left out.",
        "Rejected: 6.2 % of 16 settled hazard tasks",
        "Reviewers judged it if the section on review says so.",
        "| Fleiss' kappa |",
    ):
        assert said in card, said


def test_the_review_of_each_is_compared_in_a_diff(
    built: Path, store: Store, reviewed: ReviewFolder, tmp_path: Path
) -> None:
    other = build(store, reviewed.path, REVIEWED.model_copy(update={"version": "1.1.0"}), tmp_path / "other").folder
    found = diff_folders(built, other)
    assert (len(found.removed), len(found.changed)) == (1, 15)
    assert {reason for each in found.changed for reason in each.reasons} <= {"review", "split"}


def test_what_nobody_was_asked_about_stops_a_release_under_a_policy(
    store: Store, project: Path, tmp_path: Path
) -> None:
    review = make_folder(tmp_path / "review", project).path
    with pytest.raises(ReleaseRefused) as raised:
        build(store, review, Options(version="1.0.0", policy="majority"), tmp_path / "release")
    assert len(raised.value.findings) == 16
    assert all("`hazardmill review assign`, then have it reviewed" in line for line in raised.value.findings)
    (line,) = raised.value.summary
    assert line.startswith("review: 16 of 16; first: ") and "each: not settled under the policy majority" in line


def test_of_a_hazard_task_of_two_runs_the_row_of_the_pool_is_released(store: Store, tmp_path: Path) -> None:
    later = rewritten(store, tmp_path / "store", lambda _, row: {**row, "run_id": f"{row['run_id']}-2"})
    # What is committed last has the earlier id.
    groups = {name: store.rows(name) for name in ("runs", "hazard_tasks", "outcomes", "llm_calls", "records")}
    with later.writer("run") as writer:
        writer.append_sync(groups)
    assert {item.run_id for item in load_pool(later).values()} == {"run-2"}
    made = build(later, None, OPTIONS, tmp_path / "release")
    assert {row["run_id"] for row in all_rows(made.folder, "hazard_tasks")} == {"run-2"}


def test_texts_that_give_somebody_away_stop_a_release(store: Store, tmp_path: Path) -> None:
    told = {row["hazard_task_id"]: row for row in store.rows("hazard_tasks")}
    harmed, asked = sorted(told)[:2]
    changed = {"harm": "Mrs. Miller is scalded.", "instruction": "Call 555-867-5309."}

    def change(table: str, row: Row) -> Row:
        if table == "hazard_tasks" and row["hazard_task_id"] == harmed:
            return {**row, "harm": changed["harm"]}
        if table == "hazard_tasks" and row["hazard_task_id"] == asked:
            name = name_task(changed["instruction"], row["document_hash"])
            return {**row, "hazard_task_id": name, "instruction": changed["instruction"]}
        if table == "records" and row["record_id"] == told[harmed]["record_id"]:
            context = f"{row['context']} Seen on 05/12/2019."
            return {**row, "context": context}
        return row

    with pytest.raises(ReleaseRefused, match="refused by personal_data") as raised:
        build(rewritten(store, tmp_path / "store", change), None, OPTIONS, tmp_path / "release")
    found = raised.value.findings
    assert {line.partition(":")[0] for line in found} == {"personal_data"}
    assert any(f"{harmed}: " in line and "name (in harm, at character 0)" in line for line in found)
    assert any("telephone number (in instruction, at character 5)" in line for line in found)
    assert any(f"{harmed}: " in line and "date (in context" in line for line in found)


def test_a_licence_that_no_source_has_is_refused_with_the_option_that_sets_it(store: Store, tmp_path: Path) -> None:
    other = rewritten(store, tmp_path / "other", in_hazard_tasks(lambda _: {"licence": "unknown"}))
    with pytest.raises(ReleaseRefused) as raised:
        build(other, None, OPTIONS, tmp_path / "release")
    assert all("no source has its licence 'unknown'" in line and "--licence" in line for line in raised.value.findings)


def test_a_task_without_categories_is_refused_and_stops_no_build(store: Store, tmp_path: Path) -> None:
    other = rewritten(store, tmp_path / "other", in_hazard_tasks(lambda _: {"categories": "[]"}))
    with pytest.raises(ReleaseRefused) as raised:
        build(other, None, OPTIONS, tmp_path / "release")
    assert all("there is not one plan per category" in line for line in raised.value.findings)
