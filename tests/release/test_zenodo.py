""".zenodo.json against the fields that Zenodo documents (https://developers.zenodo.org/#representation)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hazardmill.authors import Author
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.zenodo import write_zenodo, zenodo

from .miniature import facts_of, miniature, task

ROWS = {("tasks", "train"): [task(1)]}
PERSON = Author(name="Doe, Jane", affiliation="A University", orcid="0000-0002-1825-0097")
GROUP = Author(name="The Safety Group")

_LINE = {"type": "string", "minLength": 1}
DOCUMENTED = {
    "type": "object",
    "additionalProperties": False,
    "required": ["upload_type", "title", "creators", "description", "access_right", "license"],
    "properties": {
        "upload_type": {"const": "dataset"},
        "publication_date": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "title": _LINE,
        "creators": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    "name": _LINE,
                    "affiliation": _LINE,
                    "orcid": {"type": "string", "pattern": r"^(\d{4}-){3}\d{3}[\dX]$"},
                },
            },
        },
        "description": {"type": "string", "pattern": "^<p>.*</p>$"},
        "access_right": {"enum": ["open", "embargoed", "restricted", "closed"]},
        "license": {
            "enum": ["mit", "apache-2.0", "cc-by-4.0", "cc-by-sa-4.0", "cc0-1.0", "other-open", "other-closed"]
        },
        "doi": {"type": "string", "pattern": r"^10\.\d{4,9}/"},
        "keywords": {"type": "array", "items": _LINE},
        "notes": _LINE,
        "references": {"type": "array", "items": _LINE},
        "version": _LINE,
        "language": {"type": "string", "pattern": "^[a-z]{3}$"},
    },
}


def facts(folder: Path, **manifest: Any) -> Facts:
    return facts_of(miniature(folder, "1.2.0", ROWS, **manifest), ROWS)


def test_it_has_the_documented_fields(tmp_path: Path) -> None:
    it = facts(tmp_path, authors=(PERSON, GROUP), doi="10.5281/zenodo.1234567")
    assert write_zenodo(tmp_path, it) == [".zenodo.json"]
    written = json.loads((tmp_path / ".zenodo.json").read_text())
    jsonschema.validate(written, DOCUMENTED)
    assert written["creators"] == [
        {"name": "Doe, Jane", "affiliation": "A University", "orcid": "0000-0002-1825-0097"},
        {"name": "The Safety Group"},
    ]
    assert (written["doi"], written["version"], written["license"]) == ("10.5281/zenodo.1234567", "1.2.0", "mit")
    assert written["publication_date"] == "2026-01-10"
    assert written["references"] == ["BEHAVIOR-1K"]


def test_what_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    assert write_zenodo(tmp_path, facts(tmp_path, doi="10.5281/zenodo.1")) == []
    assert not (tmp_path / ".zenodo.json").exists()
    written = zenodo(facts(tmp_path, authors=(GROUP,), date=None, attributions=()))
    jsonschema.validate(written, DOCUMENTED)
    assert not {"doi", "publication_date", "references"} & written.keys()


@pytest.mark.parametrize(
    ("licences", "name"),
    [
        ({"CC-BY-SA-4.0": 1}, "cc-by-sa-4.0"),
        ({"CC-BY-SA-4.0": 1, "Public domain (of a government)": 1}, "other-open"),
        ({"Public domain (of a government)": 1}, "other-open"),
        ({"MIT": 1, "By agreement": 1}, "other-closed"),
    ],
)
def test_a_licence_is_always_named_as_zenodo_would_take_one_of_its_own(
    tmp_path: Path, licences: dict[str, int], name: str
) -> None:
    written = zenodo(facts(tmp_path, authors=(PERSON,), licences=licences))
    jsonschema.validate(written, DOCUMENTED)
    assert written["license"] == name
