from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.release.build.candidates import ReleaseCandidates, gather
from hazardmill.release.build.options import Options
from hazardmill.release.build.rows_tasks import draft_rows, task_row
from hazardmill.store.store import Store


@pytest.fixture
def found(model_store: Store, options: Options, tmp_path: Path) -> Iterator[ReleaseCandidates]:
    gathered = gather(model_store, None, options, tmp_path)
    yield gathered
    gathered.close()


def test_the_code_released_is_rendered_whatever_the_store_calls_code(found: ReleaseCandidates) -> None:
    for candidate in found.candidates:
        (row,) = found.whole([candidate.task_id])
        document = Document.from_json(json.loads(row["document"]))
        told = {"group": "g", "drafts": 1, "policy": "none", "votes": None}
        altered = {**row, "code": "raise SystemExit"}
        assert task_row(altered, candidate, document, **told)["code"] == task_code(document)


def test_what_models_wrote_is_given_away_with_answers_only(found: ReleaseCandidates) -> None:
    candidate = found.candidates[0]
    (row,) = found.whole([candidate.task_id])
    drafts = [{**draft, "answer": "said"} for draft in found.drafts(candidate)]
    assert all(draft["code"] for draft in drafts[-1:])
    for with_answers in (True, False):
        made = draft_rows(row, drafts, with_answers=with_answers)
        kept = [(each["answer"], each["code"]) for each in made]
        assert kept == [("said", draft["code"]) if with_answers else (None, None) for draft in drafts]


@pytest.mark.full
def test_every_code_of_a_release_is_that_of_its_document(built: Path) -> None:
    seen = 0
    for path in sorted(built.glob("data/*/*.parquet")):
        columns = set(pq.read_schema(path).names)
        if not {"code", "document"} <= columns:
            continue
        for row in pq.read_table(path, columns=["code", "document"]).to_pylist():
            if path.parent.name.startswith("drafts"):
                assert row["code"] is None
            else:
                document = replace(Document.from_json(json.loads(row["document"])), provenance={})
                assert row["code"] == task_code(document)
                seen += 1
    assert seen
