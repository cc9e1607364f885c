"""BDDL on the reference activities."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hazardmill.errors import SourceError
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import load_source
from hazardmill.records import Record

BDDL = load_source("bddl")


def test_all_reference_activities_are_read(reference: Path) -> None:
    run = ingest(BDDL, reference / "data" / "bddl")
    records = {item.native_id: item for item in run if isinstance(item, Record)}
    assert (run.counts.items, len(records)) == (50, 50)
    assert "baking_cookies_for_the_PTA_bake_sale" in records
    warned = {name: record.warnings for name, record in records.items() if record.warnings}
    assert set(warned) == {"cook_red_peppers", "wash_a_baseball_cap"}
    assert "stray '\\\\'" in warned["wash_a_baseball_cap"][0]
    assert "repeated in :init" in warned["cook_red_peppers"][0]
    for record in records.values():
        types = record.facts["object_types"]
        assert isinstance(types, list) and types and "agent" not in types
        assert ".n.0" not in record.context
        assert "?" not in record.context
        assert "_" not in record.context


def test_one_activity_in_words(reference: Path) -> None:
    folder = reference / "data" / "bddl" / "activity_definitions" / "adding_chemicals_to_hot_tub"
    for path in (folder, folder / "problem0.bddl"):
        (record,) = ingest(BDDL, path)
        assert isinstance(record, Record)
        assert record.context.splitlines() == [
            "Activity: adding chemicals to hot tub",
            "Objects: water; hot tub; chlorine; chlorine bottle; floor",
            "Rooms: garden",
            "Start: the hot tub is filled with water; the chlorine bottle is filled with chlorine; the chlorine bottle "
            "is on top of the floor; the hot tub is on top of the floor; the floor is in the garden; the robot is on "
            "top of the floor",
            "Goal: the hot tub contains chlorine and the hot tub is filled with water",
        ]
        assert (record.file, record.line) == ("adding_chemicals_to_hot_tub/problem0.bddl", None)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages with one called bddl, laid out as the published one, that nobody may import."""
    package = tmp_path / "site" / "bddl"
    activity = package / "activity_definitions" / "charging_a_bicycle_battery"
    activity.mkdir(parents=True)
    original = BDDL.sample / activity.name / "problem0.bddl"
    (activity / "problem0.bddl").write_bytes(original.read_bytes())
    (package / "__init__.py").write_text("raise RuntimeError('the package was imported')\n")
    (package / "generated_data").mkdir()
    (package / "generated_data" / "synsets.csv").write_text("synset,flammable\nfloor.n.01,1\n")
    return package.parent


def test_the_installed_package_is_found_and_not_imported(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))
    path = BDDL.find_installed()
    assert path == site / "bddl"
    (record,) = ingest(BDDL, path)
    assert isinstance(record, Record)
    assert (record.native_id, record.file) == (
        "charging_a_bicycle_battery",
        "charging_a_bicycle_battery/problem0.bddl",
    )
    assert "\nProperties: the floor is flammable\n" in record.context
    assert "bddl" not in sys.modules


def test_a_package_without_activities_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert BDDL.find_installed() is None
    (tmp_path / "bddl").mkdir()
    (tmp_path / "bddl" / "__init__.py").write_text("")
    assert BDDL.find_installed() is None


def test_looking_for_the_package_runs_none_of_its_code(site: Path, project: Path) -> None:
    code = (
        "import sys; from hazardmill.ingest.sources import load_source\n"
        f"sys.path.insert(0, {str(site)!r}); print(load_source('bddl').find_installed())\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('bddl', 'nltk', 'numpy', 'networkx')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str(site / "bddl"), "[]"]


def test_properties_are_read_again_when_the_table_changes(site: Path) -> None:
    table = site / "bddl" / "generated_data" / "synsets.csv"
    table.write_text("synset,slicer,breakable\nfloor.n.01,1,1\n")
    for path in (site / "bddl", site / "bddl" / "activity_definitions" / "charging_a_bicycle_battery"):
        (record,) = ingest(BDDL, path)
        assert isinstance(record, Record)
        assert "\nProperties: the floor is breakable and can cut\n" in record.context


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.one_of(st.binary(max_size=60), st.text('synetflamb01.,"\r\n', max_size=80).map(str.encode)))
@example(table=b"synset,flammable\r\n\rfloor.n.01,1")
@example(table=b"synset,flammable\nfloor.n.01\nfloor.n.01,1,2,3\n")
def test_no_table_of_properties_costs_an_activity(site: Path, table: bytes) -> None:
    (site / "bddl" / "generated_data" / "synsets.csv").write_bytes(table)
    assert [item.native_id for item in ingest(BDDL, site / "bddl") if isinstance(item, Record)] == [
        "charging_a_bicycle_battery"
    ]


def test_a_file_that_is_a_link_belongs_to_the_folder_it_is_in(tmp_path: Path) -> None:
    """Stores of large files keep the content elsewhere, under a name of their own."""
    original = BDDL.sample / "charging_a_bicycle_battery" / "problem0.bddl"
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "5f1c").write_bytes(original.read_bytes())
    activity = tmp_path / "set" / "charging_a_bicycle_battery"
    activity.mkdir(parents=True)
    (activity / "problem0.bddl").symlink_to(tmp_path / "store" / "5f1c")
    for path in (tmp_path / "set", activity, activity / "problem0.bddl"):
        (record,) = ingest(BDDL, path)
        assert isinstance(record, Record)
        assert (record.native_id, record.file) == (activity.name, f"{activity.name}/problem0.bddl")


def test_a_folder_of_other_folders_is_no_input(reference: Path) -> None:
    with pytest.raises(SourceError, match="nothing here is input for source bddl"):
        BDDL.discover(reference / "data" / "neiss")
