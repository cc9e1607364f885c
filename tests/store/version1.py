"""Stores as version 1 left them: its columns, its manifests, its journal."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.records import content_hash
from hazardmill.store import Store
from hazardmill.store.layout import Layout
from hazardmill.store.parts import hash_file
from hazardmill.store.schemas import TABLES

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
    for path in sorted((store.path / "manifests").glob("*.json")):
        body = json.loads(path.read_bytes())["body"]
        body = {key: body[key] for key in ("sequence", "segment", "parts", "committed")}
        body |= {"format": 1, "schema": 1}
        body["parts"] = [_part_1(store.path, part) for part in body["parts"]]
        path.write_text(json.dumps({"body": body, "sha256": content_hash(body)}, indent=1))
    for path in Layout(store.path).segments():
        lines = [line.partition(b" ")[2] for line in path.read_bytes().splitlines()]
        payloads = [json.loads(line) for line in lines]
        payloads[0] |= {"journal": 1, "schema": 1}
        for payload in payloads[1:]:
            payload["rows"] = [[name, _row_1(name, row)] for name, row in payload["rows"]]
        texts = [json.dumps(payload).encode() for payload in payloads]
        path.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts))


def versions(store: Store) -> dict[str, set[str]]:
    """The schema versions of the part files that lie there, by table."""
    found: dict[str, set[str]] = {}
    for path in (path for name in TABLES for path in (store.path / name).glob("*.parquet")):
        found.setdefault(path.parent.name, set()).add(pq.read_schema(path).metadata[b"hazardmill_schema"].decode())
    return found


def _row_1(table: str, row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if table not in COLUMNS or name in COLUMNS[table]}


def _part_1(root: Path, part: dict[str, object]) -> dict[str, object]:
    table = str(part["table"])
    path = root / table / str(part["file"])
    data: pa.Table = pq.read_table(path)
    data = data.select(COLUMNS.get(table, data.schema.names))
    metadata = {"hazardmill_table": table, "hazardmill_schema": "1"}
    pq.write_table(data.replace_schema_metadata(metadata), path, compression="zstd")
    known = {key: part[key] for key in ("table", "file", "rows")}
    return {**known, "size": path.stat().st_size, "sha256": hash_file(path)}


def relist(path: Path, **values: object) -> None:
    """Change a manifest as if it had been written so."""
    body = json.loads(path.read_bytes())["body"] | values
    path.write_text(json.dumps({"body": body, "sha256": content_hash(body)}))
