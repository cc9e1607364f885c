from __future__ import annotations

import csv
import hashlib
from collections import Counter
from pathlib import Path

import pytest

from factories.generated import WRITERS, write_alfred, write_full, write_neiss, write_normbank
from hazardmill.ingest.ingest import ANYTHING, ingest
from hazardmill.ingest.sources import load_source

every_writer = pytest.mark.parametrize("name", WRITERS)


def content(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@every_writer
def test_what_is_promised_comes_out(name: str, tmp_path: Path) -> None:
    source = load_source(name)
    written = write_full(name, tmp_path, share=0.01)
    counts = ingest(source, written.path, where=dict.fromkeys(source.default_where, ANYTHING))
    for _ in counts:
        pass
    found = counts.counts
    assert (found.records, found.repeats, found.rejects, found.warned, found.unselected) == (
        written.records,
        written.repeats,
        written.rejects,
        written.warned,
        0,
    )
    if written.selected is not None:
        again = ingest(source, written.path)
        for _ in again:
            pass
        assert again.counts.records == written.selected


@every_writer
def test_the_seed_decides(name: str, tmp_path: Path) -> None:
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_full(name, tmp_path / folder, share=0.001, seed=seed)
    assert content(tmp_path / "a") == content(tmp_path / "b") != content(tmp_path / "c")


def test_a_neiss_year_has_the_shape_of_the_public_one(tmp_path: Path) -> None:
    data = write_neiss(tmp_path, 4_000).path.read_bytes()
    header, *lines = data.removesuffix(b"\n").split(b"\n")
    assert len(lines) == 4_001  # one row is split in two
    assert header.count(b"\t") == 24
    assert Counter(line.count(b"\t") + 1 for line in lines) == {25: 3_999, 22: 1, 4: 1}
    with pytest.raises(UnicodeDecodeError):
        data.decode()
    assert 120 < len(data) / 4_000 < 160  # 50 to 60 MB a year


def test_a_fifth_of_normbank_says_nothing_new(tmp_path: Path) -> None:
    with write_normbank(tmp_path, 5_000).path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5_000
    said = [(row["setting"], row["behavior"], row["norm"], row["constraints"]) for row in rows if row["behavior"]]
    assert 0.20 < 1 - len(set(said)) / len(said) < 0.22
    alone = [row["constraints_given"] for row in rows if " [AND] " not in row["constraints"]]
    assert set(alone) == {" [AND] "}
    assert all(row["constraints_given"].endswith(" [AND] ") for row in rows)


def test_alfred_files_get_the_size_that_is_asked_for(tmp_path: Path) -> None:
    home = write_alfred(tmp_path, 100, kilobytes=40).path
    sizes = sorted(path.stat().st_size for path in home.glob("train/*/*/traj_data.json"))
    assert 35_000 < sizes[len(sizes) // 2] < 45_000
    tests = list(home.glob("tests_*/*/traj_data.json"))
    assert len(tests) == 11
    assert all(b'"plan"' not in path.read_bytes() for path in tests)
