from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from hazardmill.errors import InputError
from hazardmill.release.manifest import MANIFEST, SCHEMA, Archive, File, ReleaseManifest, file_of, read_manifest


def manifest(**changed: object) -> ReleaseManifest:
    values = {
        "name": "hazards",
        "version": "1.2.3",
        "date": "2026-01-10",
        "hazardmill_version": "0",
        "policy": "none",
        "seed": 0,
        "tasks": 1,
        "offline": 0,
        "counts": {"tasks": {"train": 1}},
        "licences": {"MIT": 1},
        "archive": Archive(tasks=1, unsayable=0, reasons={}),
        "files": {"data/tasks/train.parquet": File(sha256="0" * 64, bytes=3, rows=1)},
    }
    return ReleaseManifest.model_validate({**values, **changed})


def test_it_reads_back_as_it_was_written_and_its_hash_is_that_of_the_file(tmp_path: Path) -> None:
    said = manifest()
    said.write(tmp_path)
    assert read_manifest(tmp_path) == said
    assert said.sha256() == hashlib.sha256((tmp_path / MANIFEST).read_bytes()).hexdigest()
    assert said.sha256() == file_of(tmp_path / MANIFEST).sha256
    assert json.loads((tmp_path / MANIFEST).read_bytes())["schema"] == SCHEMA


def test_the_hash_does_not_hang_on_the_order_in_which_it_was_made() -> None:
    one = manifest(licences={"MIT": 1, "CC0": 2}, counts={"tasks": {"train": 1}, "plans": {"train": 2}})
    other = manifest(licences={"CC0": 2, "MIT": 1}, counts={"plans": {"train": 2}, "tasks": {"train": 1}})
    assert one.sha256() == other.sha256() != manifest().sha256()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no manifest of a release"),
        ("{", "the manifest is not JSON"),
        ("[]", "the manifest is not a JSON object"),
        ("{}", "the manifest is not valid: name: Field required"),
        (
            json.dumps({"schema": SCHEMA + 1}),
            f"the release has schema {SCHEMA + 1}, and this version of hazardmill reads",
        ),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_manifest(tmp_path)
    assert caught.value.remedy and caught.value.file == str(tmp_path / MANIFEST)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", "a//b", "a\\b", "./a", "a/.."])
def test_a_file_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    value = json.loads(manifest().to_bytes())
    value["files"] = {path: {"sha256": "0" * 64, "bytes": 1, "rows": None}}
    (tmp_path / MANIFEST).write_text(json.dumps(value))
    with pytest.raises(InputError, match="is not a path within a release"):
        read_manifest(tmp_path)


def test_the_entry_of_a_file_has_its_hash_and_size(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert file_of(tmp_path / "a", 7) == File(sha256=hashlib.sha256(b"abc").hexdigest(), bytes=3, rows=7)
