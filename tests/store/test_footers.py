from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hazardmill.store.files import footers
from hazardmill.store.files.footers import Footer, open_part


def written(path: Path, groups: list[dict[str, list[str | None]]]) -> Path:
    """A part of these row groups."""
    schema = pa.schema([(name, pa.string()) for name in groups[0]])
    with pq.ParquetWriter(path, schema) as writer:
        for group in groups:
            writer.write_table(pa.table(group, schema))
    return path


def test_a_footer_tells_size_and_where_identifiers_lie(tmp_path: Path) -> None:
    groups: list[dict[str, list[str | None]]] = [
        {"run_id": ["r"], "record_id": ["n:2"], "code": ["z"]},
        {"run_id": ["r"], "record_id": [None], "code": ["a"]},
    ]
    whole = written(tmp_path / "whole", groups[:1])
    assert open_part(whole)[0] == Footer(whole.stat().st_size, {"run_id": ("r", "r"), "record_id": ("n:2", "n:2")})
    # Of a row group without any value nothing is said, and so nothing of the part.
    part = written(tmp_path / "part", groups)
    assert open_part(part)[0] == Footer(part.stat().st_size, {"run_id": ("r", "r")})
    both = written(tmp_path / "both", [groups[0], {**groups[0], "record_id": ["é"]}])
    assert open_part(both)[0].bounds["record_id"] == ("n:2", "é")


@pytest.mark.parametrize(
    ("condition", "may"),
    [
        ({}, True),
        ({"record_id": ["b"]}, True),
        ({"record_id": ["c"]}, True),
        ({"record_id": ["a"]}, False),
        ({"record_id": ["cc"]}, False),
        ({"record_id": ["a", "bb"]}, True),
        ({"record_id": []}, False),
        ({"record_id": [None]}, True),
        ({"identity": ["a"]}, True),
        ({"record_id": ["b"], "run_id": ["s"]}, False),
    ],
)
def test_a_part_is_ruled_out_by_its_bounds_alone(condition: dict[str, list[str | None]], may: bool) -> None:
    assert Footer(1, {"record_id": ("b", "c"), "run_id": ("r", "r")}).may_hold(condition) is may


def test_a_footer_is_read_once_unless_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "part", [{"run_id": ["r"]}])
    read, real = [], footers._summary
    monkeypatch.setattr(footers, "_summary", lambda *given: read.append(1) or real(*given))
    monkeypatch.chdir(tmp_path)
    assert open_part(path)[0] is open_part(Path("part"))[0]
    assert len(read) == 1
    written(path, [{"run_id": ["s"]}])
    os.utime(path, ns=(1, 1))
    assert open_part(path)[0].bounds == {"run_id": ("s", "s")}
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(pa.ArrowInvalid):
        open_part(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        open_part(path)


def test_no_more_footers_are_kept_than_have_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footers, "_known", {})
    monkeypatch.setattr(footers, "_KEPT", 2)
    for number in range(5):
        path = written(tmp_path / f"{number}", [{"run_id": [str(number)]}])
        assert open_part(path)[0].bounds == {"run_id": (str(number), str(number))}
        assert len(footers._known) <= 2
