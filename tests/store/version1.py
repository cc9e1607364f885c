"""Stores as earlier versions left them: their columns, manifests and journals."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.records import content_hash
from hazardmill.store import Store
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.parts import hash_file
from hazardmill.store.schemas import TABLES

Columns = Mapping[str, Sequence[str]]
_PROVENANCE = [
    "input_hash",
    "prompt_version",
    "prompt_hash",
    "model_asked",
    "model_answered",
    "backend",
    "jail_profile",
    "hazardmill_version",
]
COLUMNS = {
    "dangers": [
        *["run_id", "record_id", "source", "no_danger", "setting", "robot_role", "robot_task", "danger_group"],
        *["danger_type", "cause_of_danger", "entity_in_danger", "result_of_danger", "danger_action"],
        *["instantaneous_avoidability", "instantaneous_solution", "assumptions", "error", "identities", "paid"],
        *_PROVENANCE,
    ],
    "runs": ["run_id", "sequence", "kind", "state", "config", "selection", "counts", "at", "hazardmill_version"],
    "drafts": [
        *["run_id", "record_id", "source", "draft", "answer", "code", "document", "document_hash", "accepted"],
        *["failed_check", "failed_reason", "feedback", "identities", "paid", "usd", *_PROVENANCE],
    ],
    "tasks": [
        *["run_id", "task_id", "record_id", "source", "draft", "code", "document", "document_hash", "danger"],
        *["danger_group", "danger_type", "avoidability", "safe_plan", "unsafe_plan", "safe_length", "unsafe_length"],
        *["plan_length", "safety_effort", "certificate", "domain_pddl", "problem_pddl", "cross_check", "licence"],
        *["attribution", *_PROVENANCE],
    ],
    "llm_calls": [
        *["run_id", "identity", "attempt", "record_id", "stage", "draft", "sample", "host", "request", "answer"],
        *["answered", "finish_reason", "error", "error_message", "prompt_tokens", "cached_tokens"],
        *["completion_tokens", "usd", "usd_upper", "latency_s", "at", *_PROVENANCE],
    ],
}
"""The columns of version 1 of the tables that changed since, in order."""


def make_version_1(store: Store) -> None:
    """Make a store of closed segments one of version 1: parts, manifests, and what is left in the journal."""
    _make(store, 1, COLUMNS)


def make_version_2(store: Store) -> None:
    """The same of version 2, which lacked the structure of a task and what came with version 4."""
    came = {"drafts": {"round"}, "llm_calls": {"round", "recording", "recorded_for"}}
    older = {
        name: [column.name for column in TABLES[name].columns if column.name not in later]
        for name, later in came.items()
    }
    _make(store, 2, {"dangers": COLUMNS["dangers"], "tasks": COLUMNS["tasks"], **older})


def _make(store: Store, version: int, columns: Columns) -> None:
    for path in sorted((store.path / "manifests").glob("*.json")):
        body = json.loads(path.read_bytes())["body"]
        if version == 1:
            body = {key: body[key] for key in ("sequence", "segment", "parts", "committed")} | {"format": 1}
        body |= {"schema": version, "parts": [_part(store.path, part, version, columns) for part in body["parts"]]}
        path.write_text(json.dumps({"body": body, "sha256": content_hash(body)}, indent=1))
    for path in Layout(store.path).segments():
        lines = [line.partition(b" ")[2] for line in path.read_bytes().splitlines()]
        payloads = [json.loads(line) for line in lines]
        payloads[0] |= {"schema": version} | ({"journal": 1} if version == 1 else {})
        for payload in payloads[1:]:
            payload["rows"] = [[name, _row(name, row, columns)] for name, row in payload["rows"]]
        texts = [json.dumps(payload).encode() for payload in payloads]
        path.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts))


def versions(store: Store) -> dict[str, set[str]]:
    """The schema versions of the part files that lie there, by table."""
    found: dict[str, set[str]] = {}
    for path in (path for name in TABLES for path in (store.path / name).glob("*.parquet")):
        found.setdefault(path.parent.name, set()).add(pq.read_schema(path).metadata[b"hazardmill_schema"].decode())
    return found


def _row(table: str, row: dict[str, object], columns: Columns) -> dict[str, object]:
    return {name: value for name, value in row.items() if table not in columns or name in columns[table]}


def _part(root: Path, part: dict[str, object], version: int, columns: Columns) -> dict[str, object]:
    table = str(part["table"])
    path = root / table / str(part["file"])
    data: pa.Table = pq.read_table(path)
    data = data.select(columns.get(table, data.schema.names))
    metadata = {"hazardmill_table": table, "hazardmill_schema": str(version)}
    pq.write_table(data.replace_schema_metadata(metadata), path, compression="zstd")
    known = {key: part[key] for key in ("table", "file", "rows")} if version == 1 else {**part, "schema": version}
    return {**known, "size": path.stat().st_size, "sha256": hash_file(path)}


def relist(path: Path, **values: object) -> None:
    """Change a manifest as if it had been written so."""
    body = json.loads(path.read_bytes())["body"] | values
    path.write_text(json.dumps({"body": body, "sha256": content_hash(body)}))
