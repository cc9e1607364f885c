from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.authors import Author
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.citation import bibtex, citation, write_citation
from hazardmill.release.manifest import Attribution

from .miniature import facts_of, miniature, task
from .test_markdown import HOSTILE

ROWS = {("tasks", "train"): [task(1)]}


def facts(folder: Path, **manifest: Any) -> Facts:
    return facts_of(miniature(folder, "1.2.0", ROWS, **manifest), ROWS)


def test_it_says_what_to_cite_and_the_sources(tmp_path: Path) -> None:
    written = yaml.safe_load(citation(facts(tmp_path)))

    assert (written["cff-version"], written["type"], written["version"]) == ("1.2.0", "dataset", "1.2.0")
    assert written["date-released"] == "2026-01-10"
    assert written["license"] == "MIT"
    assert written["references"] == [{"type": "data", "title": "BEHAVIOR-1K", "authors": [{"name": "bddl"}]}]


def test_of_several_licences_none_is_said_for_a_list_would_mean_a_choice(tmp_path: Path) -> None:
    assert "license" not in yaml.safe_load(citation(facts(tmp_path, licences={"MIT": 1, "CC-BY-SA-4.0": 1})))


def test_a_licence_without_identifier_is_not_said(tmp_path: Path) -> None:
    assert "license" not in yaml.safe_load(citation(facts(tmp_path, licences={"Public domain": 1})))


def test_a_date_that_is_not_known_is_left_out(tmp_path: Path) -> None:
    it = facts(tmp_path, date=None)

    assert "date-released" not in yaml.safe_load(citation(it))
    assert "year" not in bibtex(it)


def test_credit_lines_are_text_whatever_is_in_them(tmp_path: Path) -> None:
    it = facts(tmp_path)

    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(HOSTILE))
    def one_line_of_text(credit: str) -> None:
        line = Attribution(source=credit, licence="MIT", attribution=credit, tasks=1)
        own = replace(it, manifest=it.manifest.model_copy(update={"attributions": (line,)}))
        (reference,) = yaml.safe_load(citation(own))["references"]
        assert isinstance(reference["title"], str) and reference["title"].isprintable()
        assert reference["authors"] == [{"name": reference["title"]}]

    one_line_of_text()


PERSON = Author(name="van der Berg, Jan", affiliation="A & B University", orcid="0000-0002-1694-233X")
AUTHORS = (PERSON, Author(name="Plato,"), Author(name="The Lab and Company"))
DOI = "10.5281/zenodo.1234567"


def test_authors_and_doi_are_named_if_they_were_given(tmp_path: Path) -> None:
    written = yaml.safe_load(citation(facts(tmp_path, authors=AUTHORS, doi=DOI)))
    assert written["authors"] == [
        {
            "family-names": "van der Berg",
            "given-names": "Jan",
            "affiliation": "A & B University",
            "orcid": "https://orcid.org/0000-0002-1694-233X",
        },
        {"family-names": "Plato"},
        {"name": "The Lab and Company"},
    ]
    assert written["doi"] == DOI
    entry = bibtex(facts(tmp_path, authors=AUTHORS, doi=DOI))
    assert "  author = {van der Berg, Jan and {Plato} and {The Lab and Company}},\n" in entry
    assert f"  doi = {{{DOI}}},\n" in entry and entry.count("{") == entry.count("}")


def test_without_authors_and_doi_nothing_is_made_up(tmp_path: Path) -> None:
    written = yaml.safe_load(citation(facts(tmp_path)))
    assert written["authors"] == [{"name": "The hazardmill developers"}] and "doi" not in written
    assert "doi" not in bibtex(facts(tmp_path))


@pytest.mark.full
def test_cffconvert_finds_it_valid(tmp_path: Path) -> None:
    tool = Path(sys.prefix) / "cffconvert" / "bin" / "cffconvert"
    if not tool.is_file():
        pytest.fail("cffconvert is not there: make validators installs it in an environment of its own", pytrace=False)
    lines = tuple(
        Attribution(source=f"source-{place}", licence="MIT", attribution=text, tasks=1)
        for place, text in enumerate(HOSTILE)
    )
    write_citation(tmp_path, facts(tmp_path, attributions=lines, authors=AUTHORS, doi=DOI))

    ended = subprocess.run([tool, "--validate"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout.strip()) == (
        0,
        "Citation metadata are valid according to schema version 1.2.0.",
    )
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "CITATION.cff").write_text((tmp_path / "CITATION.cff").read_text().replace("type: dataset", "type: data"))
    assert subprocess.run([tool, "--validate"], cwd=broken, capture_output=True, check=False).returncode


def test_the_entry_for_a_bibliography_is_whole(tmp_path: Path) -> None:
    entry = bibtex(facts(tmp_path))

    assert entry.count("{") == entry.count("}")
    assert re.match(r"@misc\{halltasks_1_2_0,\n", entry)
    assert "year = {2026}" in entry and "note = {Version 1.2.0}" in entry
