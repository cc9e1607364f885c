from __future__ import annotations

import json
import re
import socket
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hazardmill.authors import Author
from hazardmill.release.documents.croissant import croissant, write_croissant
from hazardmill.release.manifest import read_manifest

from .miniature import facts_of, miniature, task

with warnings.catch_warnings():
    # Of rdflib and pandas, as mlcroissant uses them: nothing that a description could do about.
    warnings.simplefilter("ignore", DeprecationWarning)
    import mlcroissant

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROWS = {
    ("tasks", "train"): [task(1), task(2)],
    ("tasks", "test"): [task(3)],
    ("contrast_twins", "test"): [
        {"task_id": "bddl-000000000001", "unsafe_plan_danger": None, "unsafe_plan_feasible": False},
        {"task_id": "bddl-000000000002", "unsafe_plan_danger": 3, "unsafe_plan_feasible": True},
    ],
}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No way out: a description that needs one says so here."""

    def refuse(*address: object) -> None:
        raise AssertionError(f"asked the network: {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield


def loaded(folder: Path) -> Any:
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert (set(issues.errors), set(issues.warnings)) == (set(), set())
    return dataset


def as_written(dataset: Any, config: str) -> list[dict[str, Any]]:
    """The records of a config with the names and values of the Parquet files, the split aside."""
    return [
        {name.split("/", 1)[1]: value.decode() if isinstance(value, bytes) else value for name, value in record.items()}
        for record in dataset.records(config)
    ]


def in_files(folder: Path, config: str) -> list[dict[str, Any]]:
    rows = []
    for path in sorted((folder / "data" / config).iterdir()):
        rows += [{**row, "split": path.stem} for row in pq.read_table(path).to_pylist()]
    return rows


def test_a_built_release_is_read_whole_by_mlcroissant(built: Path) -> None:
    dataset = loaded(built)
    counts = read_manifest(built).counts

    assert {each.id for each in dataset.metadata.record_sets} == set(counts)
    for config in counts:
        assert as_written(dataset, config) == in_files(built, config)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    write_croissant(tmp_path, facts_of(miniature(tmp_path, "1.0.0", ROWS), ROWS))
    return tmp_path


def test_authors_and_doi_are_read_by_mlcroissant(tmp_path: Path) -> None:
    person = Author(name="Doe, Jane", affiliation="A University", orcid="0000-0002-1825-0097")
    named = miniature(tmp_path, "1.0.0", ROWS, authors=(person, Author(name="The Lab")), doi="10.5281/zenodo.1234567")
    write_croissant(tmp_path, facts_of(named, ROWS))

    assert [each.name for each in loaded(tmp_path).metadata.creators] == ["Jane Doe", "The Lab"]
    written = json.loads((tmp_path / "croissant.json").read_text())
    assert written["identifier"] == "https://doi.org/10.5281/zenodo.1234567"
    assert written["creator"][0]["identifier"] == "https://orcid.org/0000-0002-1825-0097"


def test_an_unknown_stays_unknown(small: Path) -> None:
    rows = as_written(loaded(small), "contrast_twins")

    assert [(row["unsafe_plan_danger"], row["unsafe_plan_feasible"]) for row in rows] == [(None, False), (3, True)]


def test_each_file_is_described_with_its_hash(small: Path) -> None:
    described = {each.id: each.sha256 for each in loaded(small).metadata.file_objects}

    assert described == {name: file.sha256 for name, file in read_manifest(small).files.items()}


def test_version_and_context_are_those_of_croissant_1_1(small: Path) -> None:
    metadata = loaded(small).metadata

    assert metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    written = json.loads((small / "croissant.json").read_text(encoding="utf-8"))
    assert written["@context"] == metadata.to_json()["@context"]


def test_licences_are_given_by_address_where_there_is_one(tmp_path: Path) -> None:
    manifest = miniature(tmp_path, "1.0.0", ROWS, licences={"MIT": 2, "Public domain (of a government)": 1})

    assert croissant(facts_of(manifest, ROWS))["license"] == [
        "https://spdx.org/licenses/MIT",
        "Public domain (of a government)",
    ]


def test_that_tasks_are_offline_authored_is_in_the_description(tmp_path: Path) -> None:
    manifest = miniature(tmp_path, "1.0.0", ROWS, offline=2)

    assert "2 of them are not the work of a language model" in croissant(facts_of(manifest, ROWS))["description"]


def test_a_date_that_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    described = croissant(facts_of(miniature(tmp_path, "1.0.0", ROWS, date=None), ROWS))

    assert "datePublished" not in described
    assert not re.search(r"\b20\d\d-", json.dumps(described["citeAs"]))


def test_names_of_others_cannot_steer_a_terminal(tmp_path: Path) -> None:
    manifest = miniature(tmp_path, "1.0.0", ROWS, licences={"MIT\u202e\x1b[2J": 3})

    write_croissant(tmp_path, facts_of(manifest, ROWS))

    written = (tmp_path / "croissant.json").read_text(encoding="utf-8")
    assert "\u202e" not in written and "\x1b" not in written
    assert json.loads(written)["license"] == ["MIT\u202e\x1b[2J"]
