"""A store with a run in it, ways to damage it, and what must hold after a rebuild."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hazardmill.records import content_hash
from hazardmill.store import Store
from hazardmill.store.files.chain import LAST, seal
from hazardmill.store.files.layout import Layout
from hazardmill.store.maintenance.rebuild import RebuildReport
from store.factories import NOON, call, outcome, row


class Stop(Exception):
    """Stands for a crash."""


def stop_at(point: str) -> Callable[[str], None]:
    def fault(reached: str) -> None:
        if reached == point:
            raise Stop(point)

    return fault


def record_group(number: int, run_id: str = "r1") -> dict[str, list[dict[str, object]]]:
    """All rows of one record that was accepted with its second draft."""
    key = {"run_id": run_id, "record_id": f"n:{number}"}
    return {
        "dangers": [row("dangers", **key, identities=json.dumps([f"extract {number}"]))],
        "drafts": [
            row("drafts", **key, draft=draft, accepted=draft == 2, identities=json.dumps([f"author {number} {draft}"]))
            for draft in (1, 2)
        ],
        "checks": [
            row("checks", **key, draft=draft, check_name=name, position=position)
            for draft in (1, 2)
            for position, name in enumerate(("answer", "jail", "judge"))
        ],
        "outcomes": [outcome(**key, drafts=2, task_id=f"t{number}")],
        "tasks": [row("tasks", **key, task_id=f"t{number}", document_hash=f"h{number}")],
    }


def calls(number: int, run_id: str = "r1") -> dict[str, list[dict[str, object]]]:
    names = [f"extract {number}", f"author {number} 1", f"author {number} 2"]
    return {"llm_calls": [call(name, run_id=run_id, at=NOON, answer=f"of {name}") for name in names]}


def start_row(records: int, run_id: str = "r1") -> dict[str, object]:
    selection = {f"n:{number}": "x" for number in range(records)}
    config = {"inputs": [{"source": "neiss", "path": "/in/neiss.tsv"}]}
    return row(
        "runs",
        run_id=run_id,
        sequence=0,
        kind="generate",
        state="running",
        selection=json.dumps(selection),
        config=json.dumps(config),
        at=NOON,
    )


def fill(store: Store) -> Store:
    """A run of six records, two a commit; the first commit has what was taken in, each later one its calls too."""
    with store.writer("r1") as writer:
        records = [row("records", record_id=f"n:{number}", content_hash="x") for number in range(6)]
        writer.append_sync({"records": records, "runs": [start_row(6)]})
        writer.roll()
        for number in range(6):
            writer.append_sync(calls(number))
            writer.append_sync(record_group(number))
            if number % 2:
                writer.roll()
    return store


def resume(store: Store, run_id: str = "r1") -> list[str]:
    """Make what is pending again, as a run does, from the ledger; says which records that were."""
    done = {r["record_id"] for r in store.rows("outcomes", {"run_id": run_id})}
    pending = [number for number in range(6) if f"n:{number}" not in done]
    with store.writer(run_id) as writer:
        for number in pending:
            writer.append_sync(record_group(number, run_id))
    return [f"n:{number}" for number in pending]


def part(store: Store, table: str, number: int) -> Path:
    return sorted((store.path / table).glob("*.parquet"), key=lambda path: path.name.split("-")[1])[number]


def manifest(store: Store, number: int) -> Path:
    return sorted((store.path / "manifests").glob("*.json"))[number]


def relink(store: Store) -> None:
    """Chain the manifests as they are now, as if they had been written so."""
    previous: dict[str, object] = {}
    for path in sorted((store.path / "manifests").glob("*.json")):
        body = {**json.loads(path.read_bytes())["body"], "format": 2 if previous else 1, "previous": previous}
        if not previous:
            del body["previous"]
        path.write_bytes(seal(body))
        previous = {"sequence": body["sequence"], "file": path.name, "sha256": content_hash(body)}
    (store.path / LAST).write_bytes(seal(previous))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def tree(store: Store) -> dict[str, bytes]:
    return {str(p.relative_to(store.path)): p.read_bytes() for p in sorted(store.path.rglob("*")) if p.is_file()}


def quarantined(store: Store) -> list[tuple[str, bytes]]:
    """Original name and content of each file in quarantine, by the JSON beside it."""
    found = []
    for path in sorted((store.path / "quarantine").glob("*")):
        beside = path.with_name(f"{path.name}.json")
        if beside.exists():
            note = json.loads(beside.read_bytes())
            assert set(note) == {"code", "file", "message", "action", "moves", "size", "at"}
            found.append((note["file"], path.read_bytes()))
    return found


def rebuild(store: Store) -> RebuildReport:
    """Rehearse, rebuild, and see that both said the same and that the store is well afterwards."""
    before = tree(store)
    rehearsed = Store(store.path).rebuild(dry_run=True)
    assert tree(store) == before
    done = Store(store.path).rebuild()
    for name in ("damages", "rows_lost", "retracted", "pending", "lost"):
        assert getattr(rehearsed, name) == getattr(done, name), name
    assert len(done.quarantined) == sum(damage.moves for damage in done.damages)
    assert Store(store.path).verify_files() == []
    assert (store.path / "store.duckdb").exists()
    again = Store(store.path).rebuild()
    assert (again.damages, again.retracted) == ((), {})
    return done


def journal_of(store: Store, groups: list[dict], run_id: str = "r1") -> Path:
    """A segment whose writer was killed."""
    writer = Store(store.path, fault=stop_at("part.staged")).writer(run_id)
    for group in groups:
        writer.append_sync(group)
    with pytest.raises(Stop):
        writer.roll()
    writer.close()
    shutil.rmtree(store.path / ".staging")
    (segment,) = Layout(store.path).segments()
    return segment


def spoil_line(path: Path, number: int, old: bytes = b"n:", new: bytes = b"N:") -> bytes:
    lines = path.read_bytes().split(b"\n")
    assert old in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(old, new, 1)
    path.write_bytes(b"\n".join(lines))
    return path.read_bytes()
