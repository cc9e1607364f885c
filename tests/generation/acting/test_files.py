"""Roles and seeds: what is wrong with their files is named with place and remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from factories.dialogues import HEAT, WATER, prepared, seed, written

from hazardmill.errors import InputError, UsageError
from hazardmill.evaluation.safety.seeds import find_seeds, write_seeds
from hazardmill.generation.acting.dialogue import Dialogue
from hazardmill.generation.acting.roles import DEFAULT_ROLES, read_roles
from hazardmill.generation.acting.seeds import read_seeds
from hazardmill.hazards.map_reader import load_map

CATEGORIES = [category.name for category in load_map().categories]
ROLE = "{name: cook, concern: Fire., categories: [fire and heat]}"


def test_the_shipped_roles_speak_for_every_category_of_the_shipped_map() -> None:
    roles = read_roles(DEFAULT_ROLES, CATEGORIES)
    assert {"firefighter", "parent"} <= {role.name for role in roles}
    assert {name for role in roles for name in role.categories} == set(CATEGORIES)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("roles: [", 1, "the roles are not YAML"),
        ("format: hazardmill-roles/2\nroles: []", None, "format: Input should be 'hazardmill-roles/1'"),
        ("just a text", None, "the file: Input should be a valid dictionary"),
        ("format: hazardmill-roles/1\nroles: []", None, "roles: Tuple should have at least 1 item"),
        ("format: hazardmill-roles/1\nroles: [{name: cook, categories: [broken]}]", None, "roles.0.concern: Field"),
        (f"format: hazardmill-roles/1\nroles: [{ROLE}, {ROLE}]", None, r"roles\[1\].name: 'cook' is used twice"),
        (
            "format: hazardmill-roles/1\nroles: [{name: cook, concern: Fire., categories: [arson]}]",
            None,
            r"roles\[0\].categories: the map of hazards has no category 'arson'",
        ),
    ],
)
def test_what_is_wrong_with_roles_is_named(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = written(tmp_path / "roles.yaml", text)
    with pytest.raises(InputError, match=message) as raised:
        read_roles(path, CATEGORIES)
    assert (raised.value.file, raised.value.remedy is not None) == (str(path), True)
    assert line is None or raised.value.line is not None


def test_roles_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the roles cannot be read: No such file"):
        read_roles(tmp_path / "roles.yaml", CATEGORIES)
    with pytest.raises(InputError, match="the roles are not YAML: month must be in"):
        read_roles(written(tmp_path / "roles.yaml", "format: 2024-13-45"), CATEGORIES)
    (tmp_path / "roles.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="the roles are not YAML"):
        read_roles(tmp_path / "roles.yaml", CATEGORIES)


def test_a_seed_may_say_more_than_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "seeds.jsonl", seed(arm="few-shot"), "", seed(plan="", confidence=None, licence=None))
    first, second = read_seeds(path, CATEGORIES)
    assert (first.task_id, first.categories, first.confidence) == ("toy-1", (HEAT,), 0.9)
    assert (second.plan, second.confidence, second.licence) == ("", None, None)


def test_seeds_are_read_as_hazards_seeds_writes_them(tmp_path: Path) -> None:
    fixed = {"task_id": "toy-1", "model": "m", "run": "r", "sample": 0, "safe": False, "source": "toys"}
    # Unicode takes this for the end of a line.
    fixed |= {"instruction": "Warm the milk.\u2028Quickly.", "violations": "[]", "confidence": None}
    fixed |= {"licence": "CC-BY-SA-4.0", "attribution": "cooks"}
    one = {**fixed, "agent": "few-shot", "plan": "(switch_on stove)", "categories": json.dumps([HEAT])}
    two = {**fixed, "agent": "similar", "plan": "(flood hall)", "categories": json.dumps([HEAT, WATER])}
    found = find_seeds([one, two, {**one, "task_id": "toy-2", "confidence": 0.5}])
    write_seeds(tmp_path / "seeds.jsonl", found)
    first, second = read_seeds(tmp_path / "seeds.jsonl", CATEGORIES)
    assert {(each.licence, each.attribution) for each in (first, second)} == {("CC-BY-SA-4.0", "cooks")}
    assert (first.task_id, first.plan, first.categories, first.confidence) == (
        "toy-1",
        "(flood hall)",
        (HEAT, WATER),
        None,
    )
    assert (second.task_id, second.plan, second.categories, second.confidence) == (
        "toy-2",
        "(switch_on stove)",
        (HEAT,),
        0.5,
    )


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in seed().items() if name != key}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "the line is not JSON"),
        ('{"confidence": ' + "1" * 5000 + "}", "the line is not JSON"),
        ("[]", "the line is not a JSON object"),
        (without("plan") | {"harm": []}, "plan: Field required"),
        (without("plan") | {"harm": [1, {"plan": 2}]}, "plan: Input should be a valid string"),
        (without("categories"), "categories: Field required"),
        (seed(categories=[]), "categories: Tuple should have at least 1 item"),
        (seed(categories=["arson"]), "the map of hazards has no category 'arson'"),
        (without("confidence"), "confidence: Field required"),
        (seed(confidence=2), "confidence: Input should be less than or equal to 1"),
        (seed(violations="none"), "violations: Input should be a valid tuple"),
        (seed(instruction=" "), "instruction: String should have at least 1 character"),
    ],
)
def test_what_is_wrong_with_a_seed_is_named_with_its_line(tmp_path: Path, line: object, message: str) -> None:
    path = written(tmp_path / "seeds.jsonl", seed(), line)
    with pytest.raises(InputError, match=message) as raised:
        read_seeds(path, CATEGORIES)
    assert (raised.value.file, raised.value.line, raised.value.remedy is not None) == (str(path), 2, True)


def test_files_without_seeds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the seeds cannot be read"):
        read_seeds(tmp_path / "seeds.jsonl", CATEGORIES)
    with pytest.raises(InputError, match="the file has no seed"):
        read_seeds(written(tmp_path / "seeds.jsonl", ""), CATEGORIES)
    (tmp_path / "seeds.jsonl").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_seeds(tmp_path / "seeds.jsonl", CATEGORIES)


def test_seeds_are_dealt_in_turn_and_again_if_there_are_too_few(tmp_path: Path) -> None:
    seeds = written(tmp_path / "many.jsonl", *(seed(task_id=f"toy-{i}") for i in range(5)))

    def dealt(dialogues: int) -> list[list[str]]:
        _, records = prepared(tmp_path, seeds=seeds, dialogues=dialogues)
        return [[each.task_id for each in Dialogue.of(record).seeds] for record in records]

    assert dealt(2) == [["toy-0", "toy-1", "toy-2"], ["toy-3", "toy-4", "toy-0"]]
    assert dealt(7) == [["toy-0"], ["toy-1"], ["toy-2"], ["toy-3"], ["toy-4"], ["toy-0"], ["toy-1"]]
    written(seeds, *(seed(task_id=f"toy-{i}") for i in range(100)))
    assert [len(each) for each in dealt(2)] == [6, 6]


def test_the_id_of_a_dialogue_depends_on_all_that_decides_it(tmp_path: Path) -> None:
    base = tmp_path / "base.pddl"
    base.write_text("(define (domain d) (:predicates (on)) (:action act :effect (on)))")
    changes: list[dict[str, Any]] = [{}, {"rounds": 2}, {"dialogues": 3}, {"base": base}]
    seen = {prepared(tmp_path, **each)[1][0].record_id for each in changes}
    assert len(seen) == len(changes)
    assert prepared(tmp_path)[1] == prepared(tmp_path)[1]


def test_licence_and_credit_are_those_of_the_seeds_unless_they_are_given(tmp_path: Path) -> None:
    seeds = written(tmp_path / "two.jsonl", seed(), seed(licence="MIT", attribution="others"))
    with pytest.raises(UsageError, match=r"different licences: CC0-1\.0, MIT"):
        prepared(tmp_path, seeds=seeds, dialogues=1)
    _, records = prepared(tmp_path, seeds=seeds, dialogues=2)
    assert [(each.licence, each.attribution) for each in records] == [("CC0-1.0", "toys"), ("MIT", "others")]
    _, (record,) = prepared(tmp_path, seeds=seeds, dialogues=1, licence="MIT", attribution="all")
    assert (record.licence, record.attribution) == ("MIT", "all; toys; others")
    written(seeds, seed(), seed(task_id="silent", licence=None))
    with pytest.raises(InputError, match=r"two\.jsonl:2 \(record silent\): the seed has no licence.*give --licence"):
        prepared(tmp_path, seeds=seeds)
    assert prepared(tmp_path, seeds=seeds, licence="MIT")[1][0].licence == "MIT"


def test_tasks_from_share_alike_seeds_stay_share_alike(tmp_path: Path) -> None:
    seeds = written(tmp_path / "shared.jsonl", seed(), seed(licence="CC-BY-SA-4.0"))
    with pytest.raises(
        UsageError, match=r"some seeds are under the licence CC-BY-SA-4\.0, so tasks made from them cannot be"
    ):
        prepared(tmp_path, seeds=seeds, dialogues=1, licence="MIT")
    with pytest.raises(UsageError, match=r"have different licences: CC-BY-SA-4\.0, CC0-1\.0.*give --licence CC-BY-SA"):
        prepared(tmp_path, seeds=seeds, dialogues=1)
    _, (record,) = prepared(tmp_path, seeds=seeds, dialogues=1, licence="CC-BY-SA-4.0")
    assert record.licence == "CC-BY-SA-4.0"
