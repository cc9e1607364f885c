from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hazardmill.errors import CorruptStore, StoreError
from hazardmill.records import content_hash
from hazardmill.store import Store
from hazardmill.store.files.chain import seal
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.parts import hash_file
from hazardmill.store.maintenance import verify as verify_module
from hazardmill.store.maintenance.findings import CODES
from store.damaging import relink
from store.factories import outcome, row


@pytest.fixture
def filled(store: Store) -> Store:
    """Three commits of one part each."""
    for number in range(3):
        with store.writer("r1") as writer:
            writer.append_sync({"outcomes": [outcome(f"n:{number}"), outcome(f"m:{number}")]})
    assert store.verify_files() == []
    return store


def codes(store: Store) -> list[tuple[str, str]]:
    findings = Store(store.path).verify_files()
    # Whatever is wrong, the finding says what to type.
    assert all(re.search("hazardmill (store|run) .*--store |pip install ", finding.remedy) for finding in findings)
    return [(finding.code, finding.file) for finding in findings]


def part(store: Store) -> Path:
    return sorted((store.path / "outcomes").glob("*.parquet"))[1]


def manifest(store: Store) -> Path:
    return sorted((store.path / "manifests").glob("*.json"))[1]


def relist(store: Store) -> None:
    """Make the second manifest list its part as it is now, as if it had been written so."""
    body = json.loads(manifest(store).read_bytes())["body"]
    (listed,) = body["parts"]
    listed |= {"sha256": hash_file(part(store)), "size": part(store).stat().st_size}
    manifest(store).write_bytes(seal(body))
    relink(store)


def test_a_changed_byte_in_a_part_is_found(filled: Store) -> None:
    path = part(filled)
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes(data)
    assert codes(filled) == [("part_changed", f"outcomes/{path.name}")]


def test_a_truncated_part_is_found(filled: Store) -> None:
    path = part(filled)
    path.write_bytes(path.read_bytes()[:-1])
    assert codes(filled) == [("part_changed", f"outcomes/{path.name}")]


def test_a_missing_part_is_found(filled: Store) -> None:
    path = part(filled)
    path.unlink()
    assert codes(filled) == [("part_missing", f"outcomes/{path.name}")]


def test_a_missing_manifest_is_found_with_the_part_it_listed(filled: Store) -> None:
    manifest(filled).unlink()
    assert codes(filled) == [
        ("manifest_missing", "manifests/0000000002-*.json"),
        ("part_unlisted", f"outcomes/{part(filled).name}"),
    ]


def test_a_changed_manifest_is_found_and_refused_by_readers(filled: Store) -> None:
    path = manifest(filled)
    path.write_text(path.read_text().replace('"rows": 2', '"rows": 3'))
    assert ("manifest_changed", f"manifests/{path.name}") in codes(filled)
    with pytest.raises(CorruptStore, match=path.name):
        Store(filled.path).rows("outcomes")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"body": 1, "sha256": 2}'])
def test_a_manifest_that_is_none_is_found(filled: Store, content: str) -> None:
    path = manifest(filled)
    path.write_text(content)
    assert ("manifest_changed", f"manifests/{path.name}") in codes(filled)


def test_a_part_nobody_listed_is_found_and_not_read(filled: Store) -> None:
    shutil.copy(part(filled), filled.path / "outcomes" / "stray.parquet")
    assert codes(filled) == [("part_unlisted", "outcomes/stray.parquet")]
    assert filled.count("outcomes") == 6


def test_a_wrong_row_count_is_found(filled: Store) -> None:
    path = part(filled)
    pq.write_table(pq.read_table(path).slice(0, 1), path)
    relist(filled)
    assert codes(filled) == [("part_rows", f"outcomes/{path.name}")]


def test_a_key_twice_in_a_part_is_found(filled: Store) -> None:
    path = part(filled)
    data = pq.read_table(path).slice(0, 1)
    pq.write_table(pa.concat_tables([data, data]), path)
    relist(filled)
    assert codes(filled) == [("part_keys", f"outcomes/{path.name}")]


def test_other_columns_than_the_schema_has_are_found(filled: Store) -> None:
    path = part(filled)
    pq.write_table(pq.read_table(path).drop_columns(["usd"]), path)
    relist(filled)
    assert codes(filled) == [("part_schema", f"outcomes/{path.name}")]


def test_what_is_no_parquet_is_found(filled: Store) -> None:
    path = part(filled)
    path.write_bytes(b"PAR1 not really")
    relist(filled)
    assert codes(filled) == [("part_unreadable", f"outcomes/{path.name}")]


def test_a_newer_part_and_manifest_are_found(filled: Store) -> None:
    path = part(filled)
    pq.write_table(pq.read_table(path).replace_schema_metadata({"hazardmill_schema": "99"}), path)
    relist(filled)
    assert codes(filled) == [("part_newer", f"outcomes/{path.name}")]
    wrapped = json.loads(manifest(filled).read_bytes())
    wrapped["body"]["schema"] = 99
    wrapped["sha256"] = content_hash(wrapped["body"])
    manifest(filled).write_text(json.dumps(wrapped))
    assert ("manifest_newer", f"manifests/{manifest(filled).name}") in codes(filled)


def test_a_segment_whose_writer_died_and_one_that_is_damaged_are_found(filled: Store) -> None:
    with filled.writer("r2") as writer:
        writer.append_sync({"outcomes": [outcome("n:9", run_id="r2")]})
        (segment,) = (filled.path / "journal").glob("*.jsonl")
        data = segment.read_bytes()
        assert codes(filled) == []
    left = segment.with_name("r9-0000000000000001-00000000.jsonl")
    left.write_bytes(data)
    assert codes(filled) == [("segment_left", f"journal/{left.name}")]
    left.write_bytes(data.replace(b"n:9", b"n:8"))
    assert codes(filled) == [("segment_corrupt", f"journal/{left.name}")]


def killed_at(store: Store, point: str) -> None:
    class Stop(Exception):
        pass

    def fault(reached: str) -> None:
        if reached == point:
            raise Stop

    with pytest.raises(Stop):
        Store(store.path, fault=fault).compact()


@pytest.mark.parametrize(
    ("point", "found"),
    [
        ("compact.part.staged", set()),
        ("compact.part.renamed", {"replaced_left"}),
        ("compact.manifest.renamed", {"replaced_left", "copy_missing"}),
        ("compact.part.removed", {"replaced_left"}),
        ("compact.manifest.removed", {"replaced_left"}),
    ],
)
def test_what_a_killed_compaction_left_is_found_and_the_next_recovery_mends_it(
    filled: Store, point: str, found: set[str]
) -> None:
    killed_at(filled, point)
    assert {code for code, _ in codes(filled)} == found
    filled.recover()
    assert codes(filled) == []
    assert filled.count("outcomes") == 6


def test_a_lost_manifest_of_a_compaction_is_found_by_its_copy(filled: Store) -> None:
    filled.compact()
    (path,) = (filled.path / "manifests").glob("*.json")
    path.unlink()
    assert codes(filled)[0] == ("manifest_missing", f"manifests/{path.name}")


def test_a_changed_copy_is_found(filled: Store) -> None:
    filled.compact()
    (path,) = (filled.path / "manifests" / "copies").glob("*.json")
    path.write_text("{}")
    assert codes(filled) == [("copy_missing", f"manifests/copies/{path.name}")]


def test_a_compacted_part_that_is_changed_is_found(filled: Store) -> None:
    filled.compact()
    (path,) = (filled.path / "outcomes").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-1])
    assert codes(filled) == [("part_changed", f"outcomes/{path.name}")]


def test_a_part_that_a_compaction_takes_away_meanwhile_is_no_finding(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def look(layout):
        seen = real_look(layout)
        looks.append(seen)
        return seen

    def compacted(layout, part):
        if len(looks) == 1:
            Store(filled.path).compact()
        return real(layout, part)

    real, real_look = verify_module.check_part, verify_module.look
    monkeypatch.setattr(verify_module, "look", look)
    monkeypatch.setattr(verify_module, "check_part", compacted)
    assert codes(filled) == []
    assert len(looks) == 3


def test_a_store_without_losses_is_written_on(filled: Store) -> None:
    shutil.copy(part(filled), filled.path / "outcomes" / "stray.parquet")
    (filled.path / "outcomes" / "r1-0000000000000001-00000000.parquet.partial").write_bytes(b"")
    for _ in range(2):
        with Store(filled.path).writer("r1") as writer:
            writer.append_sync({"outcomes": [outcome("n:9")]})
        assert Store(filled.path).recover() == []
        filled.compact()
    assert filled.count("outcomes") == 7


@pytest.mark.parametrize("number", range(3))
def test_after_a_lost_manifest_nobody_goes_on_as_if_nothing_had_been_done(filled: Store, number: int) -> None:
    rows = filled.rows("outcomes")
    sorted((filled.path / "manifests").glob("*.json"))[number].unlink()
    before = sorted(filled.path.rglob("*"))
    command = re.escape(f"hazardmill store rebuild --dry-run --store '{filled.path}'")
    for go_on in (lambda store: store.writer("r1"), lambda store: store.writer("r2"), Store.recover):
        with pytest.raises(CorruptStore, match=f"pay for the lost rows again.*{command}"):
            go_on(Store(filled.path))
    assert {path.suffix for path in set(filled.path.rglob("*")) - set(before)} <= {".lock"}
    Store(filled.path).rebuild()
    with Store(filled.path).writer("r1") as writer:
        writer.append_sync({"runs": [row("runs")]})
    assert Store(filled.path).rows("outcomes") == rows


@pytest.mark.parametrize("pattern", ["manifests/*.json", "manifests/**/*.json"])
def test_after_a_lost_manifest_of_a_compaction_nobody_goes_on_either(filled: Store, pattern: str) -> None:
    filled.compact()
    for path in filled.path.glob(pattern):
        path.unlink()
    with pytest.raises(CorruptStore, match="pay for the lost rows again"):
        Store(filled.path).writer("r1")


def test_a_segment_of_another_run_explains_parts_that_nobody_lists(filled: Store) -> None:
    def fault(point: str) -> None:
        if point == "part.renamed":
            raise KeyboardInterrupt

    dead = Store(filled.path, fault=fault).writer("r2")
    dead.append_sync({"outcomes": [outcome("n:9", run_id="r2")], "runs": [row("runs", run_id="r2")]})
    with pytest.raises(KeyboardInterrupt):
        dead.roll()
    dead.close()
    with Store(filled.path).writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:8")]})
    assert filled.count("outcomes") == 8
    (segment,) = (filled.path / "journal").glob("*.jsonl")
    segment.unlink()
    with pytest.raises(CorruptStore, match=r"r2-.*parquet: no manifest lists this part"):
        Store(filled.path).writer("r1")


@pytest.mark.parametrize("point", ["compact.part.renamed", "compact.manifest.renamed", "compact.part.removed"])
def test_what_a_killed_compaction_left_is_no_loss(filled: Store, point: str) -> None:
    killed_at(filled, point)
    with Store(filled.path).writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:9")]})
    assert filled.count("outcomes") == 7


def test_a_folder_in_the_place_of_a_manifest_is_found_and_named_by_everybody(filled: Store) -> None:
    folder = filled.path / "manifests" / "0000000099-z.json"
    folder.mkdir()
    assert codes(filled) == [("manifest_unreadable", f"manifests/{folder.name}")]
    uses = (
        Store.recover,
        Store.compact,
        Store.rebuild,
        Store.digest,
        lambda s: s.writer("r1"),
        lambda s: s.count("runs"),
    )
    for use in uses:
        with pytest.raises(StoreError, match=f"{folder.name}: cannot read the manifest.*move the folder out"):
            use(Store(filled.path))
    folder.rmdir()
    assert codes(filled) == []


def test_unlisted_parts_are_told_from_many_replaced_ones_without_comparing_each_with_each(tmp_path: Path) -> None:
    compared = []

    class Name(type(tmp_path)):  # type: ignore[misc]  # of the platform
        def __eq__(self, other: object) -> bool:
            compared.append(self)
            return super().__eq__(other)

        __hash__ = type(tmp_path).__hash__

    def paths() -> list[Path]:
        return [Name(tmp_path / "tasks" / f"r1-{number:016x}-00000000.parquet") for number in range(200)]

    seen = verify_module.StoreFiles({}, {"tasks": paths()}, [], paths()[1:], [], [], None)
    assert verify_module.find_unlisted(Layout(tmp_path), seen, set()) == paths()[:1]
    assert len(compared) < 2000


def test_what_helps_names_the_store(filled: Store) -> None:
    quoted = f"--store '{filled.path}'"
    part(filled).unlink()
    manifest(filled).write_text("{}")
    findings = filled.verify_files()
    assert findings and all(finding.remedy.endswith(quoted) for finding in findings)
    with pytest.raises(CorruptStore, match=re.escape(quoted)):
        Store(filled.path).count("outcomes")


def test_every_code_is_documented(project: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((project / "hazardmill" / "store").rglob("*.py"))]
    used = {code for text in texts for code in re.findall(r'(?:Finding|Damage)\(\s*"(\w+)"', text)}
    assert used == set(CODES)
    page = (project / "generated" / "README.md").read_text(encoding="utf-8")
    assert all(f"`{code}`" in page for code in CODES)
