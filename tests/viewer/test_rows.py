"""The rows of a store and of a release, and what is shown of each."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from factories.release_store import rewritten
from markupsafe import escape
from release.small_release import bowl, write_release

from hazardmill.errors import InputError, UsageError
from hazardmill.evaluation.results import ResultRow, write_results
from hazardmill.release.read.release import Release
from hazardmill.store.store import Store
from hazardmill.viewer.drawing import ViewDrawing
from hazardmill.viewer.index import index_rows, index_texts
from hazardmill.viewer.opinions import PlannerResults, ReviewerOpinion, summarize_opinions
from hazardmill.viewer.place import open_place
from hazardmill.viewer.release import ReleaseView
from hazardmill.viewer.store import StoreTasks

from .conftest import shown_row

FILES = ("icon.svg", "item.css", "view.css", "item.js", "view.js", "rows", "texts")


def said(verdict, *, current=True):
    return ReviewerOpinion(reviewer="ada", verdict=verdict, reasons=(), current=current)


def results(path: Path, *rows) -> Path:
    blank = dict.fromkeys(ResultRow.names)
    same = {**blank, "run": "r", "sample": 0, "empty": False}
    write_results(pa.Table.from_pylist([{**same, **row} for row in rows], schema=ResultRow), path)
    return path


def test_a_release_has_a_row_per_task_of_every_kind(view):
    collection = view.collect()
    assert [row.facets["kind"][0] for row in collection.rows] == ["task"] * 4 + ["unavoidable task"]
    assert {row.facets["split"][0] for row in collection.rows} == {"train", "test", "validation"}
    assert collection.title == "soups 1.2.3" and not collection.holds_answers
    assert any("stand-in wrote 1 of them" in sentence for sentence in collection.says)
    assert any("share-alike" in sentence for sentence in collection.says)


def test_the_verdict_of_a_row_is_that_of_all_its_reviewers(view):
    by_text = {row.text: row.facets["reviewers"][0] for row in view.collect().rows}
    assert sorted(by_text.values()) == ["approved", "disputed", "not reviewed", "not reviewed", "not reviewed"]
    assert next(verdict for text, verdict in by_text.items() if "parrot" in text) == "approved"


@pytest.mark.parametrize(
    ("opinions", "verdict"),
    [
        ((), "not reviewed"),
        ((said("approve"), said("unsure")), "approved"),
        ((said("reject"), said("approve", current=False)), "rejected"),
        ((said("approve", current=False),), "not reviewed"),
        ((said("unsure"),), "unsure"),
        ((said("approve"), said("reject")), "disputed"),
    ],
)
def test_only_current_and_sure_verdicts_decide(opinions, verdict):
    assert summarize_opinions(opinions) == verdict


def test_what_planners_did_is_said_per_model_over_all_draws(tmp_path):
    path = results(
        tmp_path / "results.parquet",
        {"model": "m", "task_id": "t", "feasible": True, "safe": True},
        {"model": "m", "task_id": "t", "feasible": True, "safe": False, "sample": 1},
        {"model": "n", "task_id": "t", "feasible": False, "safe": False},
        {"model": "n", "task_id": "t", "feasible": True, "safe": True, "variant": "twin"},
        {"model": "n", "task_id": "u", "feasible": True},
    )
    planners = PlannerResults([path])
    assert planners.of("t") == ("m: 1 not safe, 1 safe", "n: not feasible")
    # There is no safe plan: null is not false.
    assert planners.of("u") == ("n: feasible",)
    assert planners.of("other") == planners.of(None) == ()
    assert planners.count_matches(["t", "other", None]) == ("1 of the 2 tasks in the results of planners is here.",)
    (said,) = planners.count_matches(["other"])
    assert said.startswith("0 of the 2 tasks") and "on another release?" in said
    assert PlannerResults([]).count_matches(["t"]) == ()
    with pytest.raises(InputError, match="given twice"):
        PlannerResults([path, path])


def test_a_row_of_a_release_has_its_results_and_a_facet_for_them(soups, tmp_path):
    task = next(Release(soups).tasks()).task_id
    path = results(tmp_path / "results.parquet", {"model": "m", "task_id": task, "feasible": True, "safe": True})
    collection = open_place(str(soups), results=[path]).collect()
    found = {row.key: row.facets["results"] for row in collection.rows}
    assert found.pop(task) == ("m: safe",) and set(found.values()) == {("not asked",)}
    assert collection.facets[-1].label == "Planners"
    assert "1 of the 1 task in the results of planners is here." in collection.says


def test_a_store_has_a_row_for_how_every_record_ended_in_every_run(told_store):
    rows = StoreTasks(told_store, None, PlannerResults([])).collect().rows
    first = {row.record_id: row for row in rows if row.run_id == "first"}
    assert [first[f"notes:{number}"].facets["outcome"][0] for number in range(1, 9)] == [
        "accepted",
        "no danger in it",
        "execution failed",
        "quality failed",
        "duplicate",
        "extraction failed",
        "accepted",
        "pending",
    ]
    assert [row.run_id for row in rows if row.record_id == "notes:1"] == ["again", "first"]
    assert len({row.key for row in rows}) == len(rows)
    # Accepted ones come first, and the task of the latest run has the address with its id.
    assert [row.facets["outcome"][0] for row in rows[:3]] == ["accepted"] * 3
    assert rows[0].key == rows[0].item and rows[0].run_id == "again"
    assert first["notes:1"].key == "notes:1@first"
    assert "no unsafe plan" in first["notes:3"].note


def test_a_duplicate_has_its_own_danger_and_leads_to_the_task(told_store):
    rows = StoreTasks(told_store, None, PlannerResults([])).collect().rows
    (repeated,) = [row for row in rows if row.facets["outcome"] == ("duplicate",)]
    (original,) = [row for row in rows if row.record_id == "notes:1" and row.run_id == "first"]
    (danger,) = told_store.rows("dangers", {"run_id": "first", "record_id": "notes:5"})
    assert repeated.item is None and repeated.title == danger["robot_task"]
    assert repeated.facets["danger"] == (danger["danger_type"],)
    assert repeated.same_as == original.key and repeated.note == f"of {original.item}"


def test_every_run_is_shown_as_it_wrote_a_task(told_store, tmp_path):
    def change(table, row):
        # The run that sorts first by name has another code and another title than the one that sorts last.
        if table == "tasks" and row["run_id"] == "again":
            document = json.loads(row["document"])
            texts = {**document.get("texts", {}), "title": "Soup of the second run"}
            return {**row, "code": "# of the second run", "document": json.dumps({**document, "texts": texts})}
        return row

    place = StoreTasks(rewritten(told_store, tmp_path / "store", change), None, PlannerResults([]))
    again, first = (row for row in place.collect().rows if row.record_id == "notes:1")
    assert again.title == "Soup of the second run" != first.title
    assert place.detail(again).content.code == "# of the second run" != place.detail(first).content.code


def test_a_task_counts_once_for_planners_however_often_it_was_made(told_store, tmp_path):
    (task,) = {row["task_id"] for row in told_store.rows("tasks", {"record_id": "notes:1"})}
    path = results(tmp_path / "results.parquet", {"model": "m", "task_id": task, "feasible": True, "safe": True})
    rows = StoreTasks(told_store, None, PlannerResults([path])).collect().rows
    (asked,) = [row for row in rows if row.facets["results"] == ("m: safe",)]
    assert asked.key == task and asked.run_id == "again"


def test_an_empty_store_says_what_to_type(tmp_path):
    store = Store.open(tmp_path / "a store", create=True)
    collection = StoreTasks(store, None, PlannerResults([])).collect()
    said = f"hazardmill run generate --source neiss --input neiss2019.tsv --limit 20 --store '{store.address}'"
    assert collection.fill_command == said
    page = ViewDrawing(collection).page(dict.fromkeys(FILES, "x"))
    assert "nothing to show yet" in page and str(escape(said)) in page


def test_a_store_with_rows_needs_no_word_on_how_to_fill_it(told_store):
    collection = StoreTasks(told_store, None, PlannerResults([])).collect()
    assert collection.fill_command == "" and collection.says == ()
    assert "nothing to show yet" not in ViewDrawing(collection).page(dict.fromkeys(FILES, "x"))


def test_a_store_says_what_is_not_among_its_rows(told_store):
    (other,) = StoreTasks(told_store, None, PlannerResults([])).collect().elsewhere
    assert other.what == "1 native item that did not become records" and "from rejects" in other.command


def test_a_row_of_a_store_is_told_with_prompts_and_answers(told_store):
    place = StoreTasks(told_store, None, PlannerResults([]))
    rows = {row.key: row for row in place.collect().rows}
    detail = place.detail(rows["notes:1@first"])
    assert detail.content is not None and detail.story is not None
    assert len(detail.story.drafts) == 3 and detail.story.run is not None and detail.story.run.run_id == "first"
    refused = place.detail(rows["notes:3@first"])
    assert refused.content is None and refused.story is not None and refused.story.drafts


def test_the_index_has_numbers_for_values_and_no_unseen_characters(view):
    collection = view.collect()
    index = index_rows(collection, ["tasks/0.js"], {row.key: 0 for row in collection.rows})
    source = index["facets"][0]
    assert source["values"] == ["neiss", "normbank"] and sorted(source["rows"]) == [0, 0, 0, 0, 1]
    assert index["notes"] == [] and index["places"] == [0] * 5
    titles, texts = " ".join(index["titles"]), " ".join(index_texts(collection))
    assert "</script>" in titles and "\u202e" not in titles + texts and "\\u202e" in titles
    assert "a kitchen with a parrot" in texts


def test_a_danger_that_is_not_json_names_what_is_wrong(tmp_path):
    row = shown_row(bowl("table"), changing_cause="no list")
    view = ReleaseView(Release(write_release(tmp_path / "r", {"tasks": {"train": [row]}})), PlannerResults([]))
    with pytest.raises(InputError, match=r"row neiss-.* of tasks is not what it should be") as raised:
        view.detail(view.collect().rows[0])
    assert "download or build" in str(raised.value.remedy)


def test_a_place_that_is_neither_is_refused_with_what_to_name(tmp_path, soups):
    (tmp_path / "empty").mkdir()
    for path, message in ((tmp_path / "empty", "neither a store nor a release"), (tmp_path / "none", "no such folder")):
        with pytest.raises(InputError, match=message) as raised:
            open_place(str(path))
        assert raised.value.file == str(path) and "manifest.json" in str(raised.value.remedy)
    with pytest.raises(UsageError, match="its own review"):
        open_place(str(soups), review=tmp_path)
