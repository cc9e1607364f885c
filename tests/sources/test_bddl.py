"""BDDL on the reference activities."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.records import Record
from hazardmill.stages.ingest import ingest
from hazardmill.stages.sources import SourceError, load_source

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
        assert "agent" not in record.facts["object_types"]
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


def test_a_folder_of_other_folders_is_no_input(reference: Path) -> None:
    with pytest.raises(SourceError, match="nothing here is input of source bddl"):
        BDDL.discover(reference / "data" / "neiss")
