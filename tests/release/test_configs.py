from __future__ import annotations

import pytest

from hazardmill.ingest.sources import list_sources
from hazardmill.records import is_share_alike
from hazardmill.release.build.configs import CONFIGS, SHARE_ALIKE, base_of, config_name, default_config


@pytest.mark.parametrize("name", CONFIGS)
def test_every_row_says_its_rights_and_who_answered(name: str) -> None:
    config = CONFIGS[name]
    names = [column.name for column in config.columns]
    assert len(names) == len(set(names))
    assert {config.sort_by[0], "licence", "attribution", "model_answered"} <= set(names)
    assert set(config.sort_by) <= set(names)
    assert config.schema.names == names
    for column in config.columns:
        assert column.doc.endswith("."), column.name
    for required in (config.sort_by[0], "licence", "attribution"):
        assert not config.schema.field(required).nullable


def test_tasks_without_a_safe_plan_have_no_columns_for_one() -> None:
    tasks, unavoidable = ({column.name for column in CONFIGS[name].columns} for name in ("tasks", "unavoidable"))
    assert tasks - unavoidable == {"safe_plan", "safe_length", "plan_length", "safety_effort"}
    assert unavoidable - tasks == {"proof"}


@pytest.mark.parametrize(
    ("licence", "wanted"),
    [
        (SHARE_ALIKE, True),
        ("CC BY-SA 3.0", True),
        ("cc-by-nc-sa-4.0", True),
        ("ODbL ShareAlike", True),
        ("share alike", True),
        ("MIT", False),
        ("CC-BY-4.0", False),
        ("Public domain (work of the United States government)", False),
        ("Samples of SAP", False),
        ("", False),
    ],
)
def test_share_alike_is_told_by_the_licence(licence: str, wanted: bool) -> None:
    assert is_share_alike(licence) is wanted
    assert config_name("tasks", licence) == ("tasks_by_sa" if wanted else "tasks")
    assert base_of(config_name("plans", licence)) == "plans"


def test_of_the_shipped_sources_one_is_share_alike() -> None:
    assert [source.name for source in list_sources() if is_share_alike(source.licence)] == ["normbank"]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["tasks", "reviews", "scenarios"], "tasks"),
        (["reviews", "scenarios"], "scenarios"),
        (["reviews_by_sa", "scenarios_by_sa"], "scenarios_by_sa"),
        (["dangers", "unavoidable", "tasks_by_sa"], "unavoidable"),
        (["household_tasks"], "household_tasks"),
        (["reviews"], "reviews"),
        ([], None),
    ],
)
def test_tasks_or_else_scenarios_are_loaded_if_no_config_is_named(names: list[str], wanted: str | None) -> None:
    assert default_config(names) == wanted
