from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from formalism.soup import soup

from hazardmill.errors import InputError
from hazardmill.quality import duplicates
from hazardmill.quality.duplicates import Contradiction, Duplicate, DuplicatePool, PoolResult, labels_of
from hazardmill.quality.structure import structure_id

from .test_structure import SHRIKHANDE, changed, scrambled
from .test_text import edited

SERVED = {
    "robot_task": "Bring the bowl of soup from the kitchen to the table.",
    "setting": "a dining room with a long table",
    "cause_of_danger": "The soup is hot, and the bowl is carried past a child.",
    "danger_type": "thermal",
    "danger_group": "physical",
    "entity_in_danger": "human",
    "instantaneous_avoidability": "avoidable",
}
STAIRS = {
    **SERVED,
    "robot_task": "Vacuum the stairs before the guests arrive.",
    "setting": "an office building, second floor",
    "cause_of_danger": "The cable lies across the steps while people go up and down.",
}


def retold(**changes: str) -> dict[str, str]:
    return {**SERVED, "setting": "a dining room with a short table", **changes}


def named(name: str) -> Any:
    return json.loads(json.dumps(soup()).replace("bowl_at", f"{name}_at").replace("carry", f"take_{name}"))


def test_only_the_same_structure_with_near_text_is_a_duplicate() -> None:
    pool = DuplicatePool()
    assert pool.add("a", soup(), SERVED) is None
    assert pool.add("same structure, other text", named("vacuum"), STAIRS) is None
    assert pool.add("near text, other bound", soup(max_danger=1), retold()) is None
    twin = pool.add("both", named("cup"), retold())
    assert twin is not None and twin.task_id == "a" and 0.7 <= twin.similarity < 1
    assert len(pool) == 3


def test_the_first_in_record_order_keeps_it_and_a_duplicate_is_nobodys_twin() -> None:
    pool = DuplicatePool()
    first = {"robot_task": "a b c d e f g h i j"}
    second = {"robot_task": "a b c d e f g h x y"}
    third = {"robot_task": "a b c d e f u v x y"}
    assert pool.add("first", soup(), first) is None
    assert pool.add("second", soup(), second) == Duplicate("first", 0.8)
    # Nearer to the second than to the first, which alone was kept.
    assert pool.add("third", soup(), third) is None
    assert pool.add("fourth", soup(), {"robot_task": "a b c d e f g v i j"}) == Duplicate("first", 0.9)


@pytest.mark.full
def test_a_pool_comes_back_from_what_was_kept(run_rows: list[dict[str, Any]]) -> None:
    random = Random(12)
    given = []
    for row in run_rows:
        document, danger = json.loads(row["document"]), json.loads(row["danger"])
        text = {"robot_task": " ".join(danger[name] for name in ("robot_task", "setting", "cause_of_danger"))}
        given.append((row["task_id"], document, text))
        for number in range(3):
            other = changed(document, random) if number else None
            told = {"robot_task": edited(text["robot_task"], random.randint(1, 8), random)}
            given.append((f"{row['task_id']}-{number}", scrambled(other or document, random), told))
    whole = DuplicatePool()
    twins = [whole.add(*each) for each in given]
    assert sum(twin is not None for twin in twins) > 30
    half = len(given) // 2
    resumed = DuplicatePool()
    for each, twin in zip(given[:half], twins, strict=False):
        if twin is None:
            assert resumed.add(*each) is None
    assert [resumed.add(*each) for each in given[half:]] == twins[half:]


def test_all_renamed_and_retold_tasks_of_a_run_are_found(run_rows: list[dict[str, Any]]) -> None:
    random, pool = Random(13), DuplicatePool()
    tasks = [(row["task_id"], json.loads(row["document"]), json.loads(row["danger"])) for row in run_rows]
    assert all(pool.add(*each) is None for each in tasks)
    for task_id, document, danger in tasks:
        told = {**danger, "setting": edited(danger["setting"], 2, random)}
        twin = pool.add("again", scrambled(document, random), told)
        assert twin is not None and twin.task_id == task_id


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("danger_type", "mechanical"),
        ("danger_group", "psychosocial"),
        ("entity_in_danger", "robot"),
        ("instantaneous_avoidability", "unavoidable"),
    ],
)
def test_labels_of_near_twins_that_differ_are_reported(label: str, value: str) -> None:
    pool = DuplicatePool()
    pool.look("a", soup(), SERVED)
    found = pool.look("b", soup(max_danger=1), retold(**{label: value}))
    name = "avoidability" if label.startswith("inst") else label
    assert found.twin is None
    (said,) = found.contradictions
    assert said.basis == "text" and said.similarity is not None and said.similarity > 0.9
    assert (said.task_id, said.other, said.labels) == ("b", "a", ((name, value, SERVED[label]),))


def test_contradictions_of_duplicates_and_of_structures_alone() -> None:
    pool = DuplicatePool()
    pool.look("a", soup(), SERVED)
    both = pool.look("b", soup(), retold(danger_type="chemical"))
    assert both.twin is not None and [each.basis for each in both.contradictions] == ["both"]
    alone = pool.look("c", soup(), {**STAIRS, "danger_type": "mechanical"})
    assert alone.contradictions == (
        Contradiction("c", "a", "structure", None, (("danger_type", "mechanical", "thermal"),)),
    )
    # Of one structure the first is compared: c says nothing else than d, a does.
    (said,) = pool.look("d", soup(), {"robot_task": "Water the plants.", "danger_type": "mechanical"}).contradictions
    assert said.other == "a"


def test_of_earlier_tasks_with_the_same_labels_the_first_is_named() -> None:
    pool = DuplicatePool()
    for number, kind in enumerate(("thermal", "chemical", "thermal", "mechanical", "chemical")):
        pool.look(str(number), soup(max_danger=number), retold(danger_type=kind))
    found = pool.look("b", soup(max_danger=9), retold(danger_type="mechanical"))
    assert [each.other for each in found.contradictions] == ["0", "1"]
    assert found.near is not None and found.near[0] == "0"
    # A twin says more than a task that is only told alike.
    found = pool.look("c", soup(max_danger=2), retold(danger_type="mechanical"))
    assert [(each.other, each.basis) for each in found.contradictions] == [("0", "text"), ("1", "text"), ("2", "both")]


def test_a_label_that_is_not_known_contradicts_nothing() -> None:
    pool = DuplicatePool()
    pool.look("a", soup(), SERVED)
    found = pool.look("b", soup(), {name: SERVED[name] for name in ("robot_task", "setting", "cause_of_danger")})
    assert found.twin is not None and found.contradictions == ()
    assert labels_of(
        {"danger_type": None, "avoidability": "unavoidable", "instantaneous_avoidability": "avoidable"}
    ) == {"avoidability": "unavoidable"}


def test_tasks_without_words_are_no_duplicates() -> None:
    pool = DuplicatePool()
    assert pool.add("a", soup(), {}) is None
    assert pool.add("b", soup(), {"title": "..."}) is None


def test_a_task_without_a_structure_id_is_nobodys_duplicate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "structure_id", lambda document: structure_id(document, limit=500))
    pool = DuplicatePool()
    for name in ("a", "b"):
        found = pool.look(name, SHRIKHANDE, SERVED)
        assert found.structure is None and found.twin is None
    assert found.near == ("a", 1.0)
    assert pool.add("c", soup(), STAIRS) is None and pool.add("d", soup(), STAIRS) == Duplicate("c", 1.0)


def test_what_a_pool_says_of_a_task() -> None:
    pool = DuplicatePool()
    assert pool.look("a", soup(), SERVED) == PoolResult(structure_id(soup()), None, None, ())
    found = pool.look("b", soup(), SERVED)
    assert found == PoolResult(structure_id(soup()), ("a", 1.0), Duplicate("a", 1.0), ())
    with pytest.raises(InputError, match="threshold"):
        DuplicatePool(0.5)
