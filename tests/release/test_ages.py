"""An age over 89 on its way from a file of injury reports: no model, no release and no page of the viewer sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from factories.release_store import run_offline
from factories.viewer_pages import unpack

from hazardmill.ages import ages_over_89
from hazardmill.ingest.sources import load_source
from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.release.read.exports import export
from hazardmill.release.read.release import load_release
from hazardmill.store.store import Store
from hazardmill.viewer.export import export_view
from hazardmill.viewer.opinions import PlannerResults
from hazardmill.viewer.release import ReleaseView

from .shown import texts_of

WRITTEN = ("94YOF", "94 Y/O M", "A 94-YEAR-OLD", "NINETY-FOUR YEAR OLD F", "94 YR OLD M")


@pytest.fixture(scope="module")
def aged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of the sample, each of a person of 94 years, whose age is written in several ways."""
    head, *lines = load_source("neiss").sample.joinpath("sample.tsv").read_text(encoding="utf-8").splitlines()
    age, narrative = (head.split("\t").index(name) for name in ("Age", "Narrative_1"))
    rows = [line.split("\t") for line in lines]
    kept = [row for row in rows if len(row) > narrative and re.match(r"\d+ ?YO[MF]", row[narrative])][:10]
    for place, row in enumerate(kept):
        row[age] = "94"
        row[narrative] = re.sub(r"^\d+ ?YO[MF]", WRITTEN[place % len(WRITTEN)], row[narrative])
    assert len(kept) == 10
    path = tmp_path_factory.mktemp("aged") / "neiss2024.tsv"
    path.write_text("\n".join([head, *("\t".join(row) for row in kept)]) + "\n", encoding="utf-8")
    assert len(list(ages_over_89(path.read_text()))) >= 10
    return path


@pytest.fixture(scope="module")
def store(aged: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return run_offline(tmp_path_factory.mktemp("store") / "store", files={"neiss": aged})


def told_in(text: str) -> list[str]:
    """Ages over 89 in a text, and the number 94 however it stands there, unless it is a part of a longer number."""
    # Hashes and ids have any digits; no text that people or models read has a 94 of its own here.
    return [found[0] for found in ages_over_89(text)] + re.findall(r"(?<![\w.:-])94(?![\w.:])", text)


def test_no_prompt_and_no_other_row_of_the_store_has_the_age(store: Store) -> None:
    prompts = [row["request"] for row in store.rows("llm_calls")]
    assert len(prompts) >= 20 and any("90+" in prompt for prompt in prompts)
    for table in ("records", "llm_calls", "dangers", "drafts", "checks", "tasks", "outcomes"):
        for row in store.rows(table):
            texts = {name: value for name, value in row.items() if isinstance(value, str) and told_in(value)}
            assert texts == {}, (table, texts)
    facts = [json.loads(row["facts"]) for row in store.rows("records")]
    assert {each["age_years"] for each in facts} == {90}


def test_no_file_of_the_release_no_export_and_no_page_has_the_age(store: Store, tmp_path: Path) -> None:
    options = Options(
        version="1.0.0",
        policy="none",
        allow_offline=True,
        with_answers=True,
        waive={"corpus": "a few reports"},
    )
    made = build(store, None, options, tmp_path / "release")
    release = load_release(made.folder)
    assert made.manifest.tasks >= 3 and made.manifest.left_out_by_gates == {}
    assert all("90+" in task.row["context"] for task in release.tasks())
    export(release, tmp_path / "dpo.jsonl", "dpo", allow_offline=True)
    export_view(ReleaseView(release, PlannerResults([])), tmp_path / "pages")
    packed = [path for name in ("tasks", "data") for path in (tmp_path / "pages" / name).glob("*.js")]
    pages = [str(unpack(path)) for path in packed]
    assert any("90+" in page for page in pages)
    for path in packed:
        path.unlink()
    files = [*texts_of(made.folder), *pages, *texts_of(tmp_path / "pages"), (tmp_path / "dpo.jsonl").read_text()]
    words = [re.sub(r"<(svg|style|script)\b.*?</\1>", "", text, flags=re.DOTALL) for text in files]
    assert [found for text in words for found in told_in(text)] == []
    assert "90+" in (made.folder / "README.md").read_text()


@pytest.mark.parametrize("written", WRITTEN)
def test_what_is_searched_for_would_be_found(written: str) -> None:
    assert told_in(f"{written} FELL OFF A CHAIR") != []
    assert told_in("90+YOF FELL OFF A CHAIR, AGE 90+, id 94ab, 12.94") == []
