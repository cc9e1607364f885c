"""Runs the tables in refusals.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import ACCEPTED, REFUSED, Accepted, Refused

from hazardmill.records import Record, Reject
from hazardmill.stages.ingest import ingest
from hazardmill.stages.sources import load_source


def laid_out(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case.source}: {case.case}")
def test_refuses_with_reason_place_and_remedy(case: Refused, tmp_path: Path) -> None:
    items = list(ingest(load_source(case.source), laid_out(tmp_path, case.files)))
    rejects = [item for item in items if isinstance(item, Reject)]
    assert tuple(reject.reason for reject in rejects) == case.reasons, rejects
    assert len([item for item in items if isinstance(item, Record)]) == case.records
    first = rejects[0]
    assert first.line == case.line
    for part in case.parts:
        assert part in first.message
    assert all(reject.file in case.files or reject.reason == "no_problem_file" for reject in rejects)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: f"{case.source}: {case.case}")
def test_accepts_with_warning(case: Accepted, tmp_path: Path) -> None:
    (record,) = ingest(load_source(case.source), laid_out(tmp_path, case.files))
    assert isinstance(record, Record)
    assert len(record.warnings) == len(case.warnings), record.warnings
    for part, warning in zip(case.warnings, record.warnings, strict=True):
        assert part in warning
    for part in case.context:
        assert part in record.context


def test_every_refusal_of_the_tables_is_documented(project: Path) -> None:
    for case in REFUSED:
        text = (project / "sources" / case.source / "SOURCE.md").read_text(encoding="utf-8")
        for reason in case.reasons:
            assert f"`{reason}`" in text, f"{reason} is not in sources/{case.source}/SOURCE.md"
