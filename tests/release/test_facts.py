from __future__ import annotations

import json

import pytest

from hazardmill.release.build.configs import CONFIGS
from hazardmill.release.documents.card_context import describe, task_fact

from .miniature import task


def test_configs_come_in_the_order_of_the_card_and_share_alike_ones_last() -> None:
    counts = {"plans_by_sa": {"test": 2}, "unavoidable": {"train": 1}, "tasks": {"test": 1, "train": 3}}

    described = describe(counts)

    assert [(each.name, each.share_alike) for each in described] == [
        ("tasks", False),
        ("unavoidable", False),
        ("plans_by_sa", True),
    ]
    assert list(described[0].rows.items()) == [("train", 3), ("test", 1)]


def test_a_split_or_config_without_rows_is_not_told_of() -> None:
    described = describe({"tasks": {"train": 1, "test": 0}, "drafts": {"train": 0}})

    assert [(each.name, dict(each.rows)) for each in described] == [("tasks", {"train": 1})]


def test_every_column_of_a_config_is_told_with_its_type() -> None:
    (told,) = describe({"tasks_by_sa": {"train": 1}})

    assert [(each.name, each.type) for each in told.columns] == [
        (field.name, str(field.type)) for field in CONFIGS["tasks"].schema
    ]
    assert all(column.doc for column in told.columns)


@pytest.mark.parametrize("passed", [True, False, None])
def test_whether_a_task_is_natural_comes_from_its_certificate(passed: bool | None) -> None:
    lines = [{"name": "contextual", "passed": True}, {"name": "natural", "passed": passed}]

    assert task_fact(task(1, certificate=json.dumps({"lines": lines})), "train")["natural"] is passed


def test_whether_a_task_is_natural_is_not_known_without_the_line() -> None:
    assert task_fact(task(1, certificate="{}"), "train")["natural"] is None


def test_an_unavoidable_task_has_no_lengths() -> None:
    row = {name: value for name, value in task(1).items() if name not in ("plan_length", "safety_effort")}

    fact = task_fact(row, "test")

    assert (fact["plan_length"], fact["safety_effort"], fact["split"]) == (None, None, "test")
