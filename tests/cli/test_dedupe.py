from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from formalism.soup import soup
from quality.test_structure import cycles
from report.support import outcome, row
from report.support import task as task_row
from store.test_compact import after_a_compaction

from hazardmill.cli import ticker
from hazardmill.quality import dedupe, other_corpus
from hazardmill.store.store import Store

from .conftest import Hazardmill

STEPS = "Carry the {0} from the cellar up the narrow steps to the roof where the {1} is asleep."
TILES = "The cleaning robot leaves {0} on the tiles before visitors of the {1} come in at nine."


def danger(text: str, kind: str = "mechanical", entity: str = "human") -> str:
    return json.dumps(
        {
            "robot_task": text,
            "danger_type": kind,
            "danger_group": "physical",
            "entity_in_danger": entity,
            "instantaneous_avoidability": "avoidable",
        }
    )


def called(name: str, **changes: Any) -> str:
    return json.dumps(soup(**changes)).replace("bowl_at", f"{name}_at")


def stored(place: str, *rows: dict[str, Any], run_id: str = "r", day: int = 1) -> None:
    began = {"run_id": run_id, "at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)}
    outcomes = [
        outcome(each["record_id"], "accepted", run_id=run_id, ordinal=ordinal, task_id=each["task_id"])
        for ordinal, each in enumerate(rows)
    ]
    with Store(Path(place)).writer(run_id) as writer:
        writer.append_sync({"runs": [row("runs", sequence=0, kind="generate", state="completed", **began)]})
        # Committed the other way round: the records' order counts, not that of the rows.
        writer.append_sync({"tasks": [{**each, "run_id": run_id} for each in reversed(rows)], "outcomes": outcomes})


def ladder(number: int, document: str | None = None, **told: str) -> dict[str, Any]:
    text = STEPS.format("ladder", "cat")
    document = called(f"n{number}") if document is None else document
    return task_row(
        f"neiss:{number}",
        f"neiss-{number}",
        document=document,
        danger=danger(**{"text": text, **told}),
        avoidability="avoidable",
    )


def test_a_clean_store_is_exit_0(hazardmill: Hazardmill) -> None:
    other = ladder(2, json.dumps(soup(max_danger=1)), text=TILES.format("water", "library"))
    stored("s", ladder(1), other)
    ended = hazardmill("dedupe", "--store", "s")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines() == [
        "2 tasks of 2 structures; 0 with nearly an earlier one's text",
        "duplicates (same structure, near text): 0",
        "contradictory labels, near text: 0",
        "contradictory labels, near text and same structure: 0",
        "contradictory labels, only the same structure: 0",
    ]


def test_duplicates_point_to_the_first_in_record_order(hazardmill: Hazardmill) -> None:
    stored("s", ladder(2), ladder(1, text=STEPS.format("ladder", "dog")), ladder(3, json.dumps(soup(max_danger=1))))
    ended = hazardmill("dedupe", "--store", "s", "--json")
    assert ended.code == 1
    assert ended.json["duplicates"] == [{"task": "neiss-1", "twin": "neiss-2", "similarity": pytest.approx(17 / 18)}]
    assert (ended.json["tasks"], ended.json["structures"], ended.json["near_text"]) == (3, 2, 2)
    assert ended.json["against"] is None
    words = hazardmill("dedupe", "--store", "s").out
    assert "duplicates (same structure, near text): 1\n  neiss-1 of neiss-2, Rouge-L 0.94\n" in words


def test_earlier_runs_come_first_and_of_each_task_the_latest_counts(hazardmill: Hazardmill) -> None:
    stored("s", ladder(1), run_id="b", day=1)
    stored("s", ladder(2), ladder(3, called("n3", max_danger=1)), run_id="a", day=2)
    assert hazardmill("dedupe", "--store", "s", "--json").json["duplicates"][0]["twin"] == "neiss-1"
    # The latest row of neiss-1 is of a third run now, and no longer a twin.
    stored("s", ladder(1, called("n1", max_danger=2)), run_id="c", day=3)
    ended = hazardmill("dedupe", "--store", "s", "--json")
    assert (ended.code, ended.json["tasks"], ended.json["duplicates"]) == (0, 3, [])
    ended = hazardmill("dedupe", "--store", "s", "--run", "b", "--json")
    assert (ended.code, ended.json["tasks"]) == (0, 1)


def test_contradictions_by_text_fail_those_by_structure_alone_do_not(hazardmill: Hazardmill) -> None:
    alone = ladder(2, text=TILES.format("water", "library"), kind="chemical")
    stored("s", ladder(1), alone)
    ended = hazardmill("dedupe", "--store", "s", "--json")
    assert ended.code == 0
    assert ended.json["contradictions"] == [
        {
            "task": "neiss-2",
            "other": "neiss-1",
            "basis": "structure",
            "similarity": None,
            "labels": {"danger_type": ["chemical", "mechanical"]},
        }
    ]
    retold = ladder(3, called("n3", max_danger=1), kind="thermal", entity="robot")
    stored("t", ladder(1), alone, retold)
    ended = hazardmill("dedupe", "--store", "t")
    assert ended.code == 1
    assert (
        "contradictory labels, near text: 1\n"
        "  neiss-3 and neiss-1: danger_type thermal against mechanical; entity_in_danger robot against human\n"
    ) in ended.out


def test_what_was_proved_of_avoidability_counts_not_what_was_claimed(hazardmill: Hazardmill) -> None:
    stored("s", ladder(1), {**ladder(2, called("n", max_danger=1)), "avoidability": "unavoidable"})
    (said,) = hazardmill("dedupe", "--store", "s", "--json").json["contradictions"]
    assert said["labels"] == {"avoidability": ["unavoidable", "avoidable"]}


def test_unreadable_tasks_are_told_and_the_rest_goes_on(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dedupe, "_FETCHED", 2)
    stored("s", ladder(1), ladder(2, "{"), ladder(3, '{"format": 1}'), ladder(4, called("n", max_danger=1)))
    ended = hazardmill("dedupe", "--store", "s", "--json")
    assert ended.code == 1
    assert [each["task"] for each in ended.json["unreadable"]] == ["neiss-2", "neiss-3"]
    assert ended.json["tasks"] == 4 and ended.json["near_text"] == 1


@pytest.mark.parametrize("module", [dedupe, other_corpus])
def test_a_compaction_meanwhile_changes_nothing(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    for place in ("s", "t"):
        stored(place, ladder(1), ladder(2), run_id="a")
        stored(place, ladder(3), run_id="b", day=2)
    words = ("dedupe", "--store", "s", "--against", "t", "--json")
    whole = hazardmill(*words).json
    compacted = Store("s" if module is dedupe else "t")
    monkeypatch.setattr(module, "_first_of_all", after_a_compaction(compacted, module._first_of_all))
    assert hazardmill(*words).json == whole
    assert len(compacted.snapshot().manifests) == 1


def test_examples_are_limited_in_words_only(hazardmill: Hazardmill) -> None:
    stored("s", *(ladder(number) for number in range(6)))
    out = hazardmill("dedupe", "--store", "s", "--examples", 2).out
    assert out.count(" of neiss-0, Rouge-L 1.00") == 2 and "and 3 more: --json has all of them" in out
    assert len(hazardmill("dedupe", "--store", "s", "--examples", 2, "--json").json["duplicates"]) == 5


def test_another_corpus_is_searched_for_ngrams_and_structures(hazardmill: Hazardmill) -> None:
    stored(
        "s",
        ladder(1),
        ladder(2, json.dumps(cycles(5)), text=TILES.format("soap", "museum")),
        ladder(3, json.dumps(cycles(3)), text="Go."),
    )
    other = Path("other")
    other.mkdir()
    (other / "web.txt").write_text("Once more. " + STEPS.format("ladder", "cat") + " So it went on.")
    (other / "tasks.jsonl").write_text(json.dumps({"x": called("plate")}) + "\n" + json.dumps(cycles(4)) + "\n{\n")
    (other / "code.py").write_text("pass")
    ended = hazardmill("dedupe", "--store", "s", "--against", "other", "--json")
    assert ended.code == 1
    found = ended.json["against"]
    assert found["found"] == [
        {
            "task": "neiss-1",
            "ngrams": 11,
            "found": 11,
            "share": 1.0,
            "place": "web.txt",
            "structure": "tasks.jsonl:1",
            "structures": 1,
        }
    ]
    assert (found["n"], found["threshold"], found["overlapping"], found["same_structure"]) == (8, 0.7, 1, 1)
    assert (found["pieces"], found["documents"], found["skipped"], found["share_unknown"]) == (3, 2, 1, 1)
    assert [each["place"] for each in found["problems"]] == ["tasks.jsonl:3"]
    out = hazardmill("dedupe", "--store", "s", "--against", "other").out
    assert "against other: 3 pieces with 2 task documents, 1 files of other kinds skipped\n" in out
    assert "tasks with at least 70% of their 8-grams there: 1\n  neiss-1: 11 of 11 8-grams, most in web.txt\n" in out
    assert "tasks whose structure occurs there: 1\n  neiss-1: tasks.jsonl:1\n" in out
    assert "tasks without 8 words in a row, whose share is unknown: 1\n  neiss-3\n" in out


def test_a_corpus_that_has_nothing_of_ours_is_exit_0(hazardmill: Hazardmill) -> None:
    stored("s", ladder(1))
    Path("web.txt").write_text("Carry the ladder from the cellar, slowly.")
    ended = hazardmill("dedupe", "--store", "s", "--against", "web.txt", "--json")
    assert ended.code == 0 and ended.json["against"]["found"] == []


def test_another_store_is_a_corpus(hazardmill: Hazardmill) -> None:
    stored("s", ladder(1))
    stored("old", ladder(9, called("vase")), ladder(8, called("mug"), text=TILES.format("oil", "school")))
    (found,) = hazardmill("dedupe", "--store", "s", "--against", "old", "--json").json["against"]["found"]
    assert (found["place"], found["share"], found["structure"], found["structures"]) == ("neiss-9", 1.0, "neiss-8", 2)


def test_errors(hazardmill: Hazardmill) -> None:
    assert hazardmill("dedupe", "--store", "nowhere").code == 3
    Store.open(Path("empty"), create=True)
    ended = hazardmill("dedupe", "--store", "empty")
    assert ended.code == 3 and "there is no task here" in ended.err
    stored("s", ladder(1))
    ended = hazardmill("dedupe", "--store", "s", "--run", "x")
    assert ended.code == 2 and "there is no run x" in ended.err
    ended = hazardmill("dedupe", "--store", "s", "--against", "nowhere")
    assert ended.code == 3 and "there is no such folder" in ended.err
    Path("folder").mkdir()
    shutil.copy(__file__, "folder")
    ended = hazardmill("dedupe", "--store", "s", "--against", "folder")
    assert ended.code == 3 and "there is nothing to compare with" in ended.err and "Parquet" in ended.err
    Path("folder/x.json").write_text("{")
    assert "x.json is not JSON" in hazardmill("dedupe", "--store", "s", "--against", "folder").err
    ended = hazardmill("dedupe", "--store", "s", "--against", "./s")
    assert ended.code == 2 and "cannot be compared with itself" in ended.err


def test_it_says_how_far_it_is(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticker, "EVERY_S", -1.0)
    stored("s", ladder(1))
    Path("web.txt").write_text("text")
    ended = hazardmill("dedupe", "--store", "s", "--against", "web.txt", "--json")
    assert ended.err == "1 tasks compared\n1 pieces of web.txt read\n" and ended.json["tasks"] == 1


def test_a_run_on_the_samples_holds_no_duplicate(hazardmill: Hazardmill, neiss: Path) -> None:
    words = ("--source", "neiss", "--input", neiss, "--limit", 12, "--run-id", "r", "--store", "s", "--json")
    assert hazardmill("run", "generate", *words).code == 0
    ended = hazardmill("dedupe", "--store", "s", "--run", "r", "--json")
    assert ended.code == 0, ended.out
    assert ended.json["tasks"] == ended.json["structures"] > 5
    before = sorted(path.stat().st_mtime_ns for path in Path("s").rglob("*"))
    hazardmill("dedupe", "--store", "s")
    assert sorted(path.stat().st_mtime_ns for path in Path("s").rglob("*")) == before
