"""Releases of a few invented rows, written in a moment: what is compared, described and shown in tests."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.release.build.configs import CONFIGS, base_of
from hazardmill.release.documents.card_context import Facts, describe, task_fact
from hazardmill.release.manifest import Archive, Attribution, Model, PriceUsed, ReleasedPrompt, ReleaseManifest, file_of

Rows = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""Config and split to rows; what a row does not say is made up."""

CERTIFICATE = json.dumps({"lines": [{"name": "natural", "passed": True}]})

PLANS = {
    "safe_plan": "(dry floor) (walk hall)",
    "unsafe_plan": "(walk hall)",
    "safe_length": 2,
    "unsafe_length": 1,
    "plan_length": 2,
    "safety_effort": 1,
}


def task(number: int, **other: Any) -> dict[str, Any]:
    """A row of the config `tasks`."""
    source = other.get("source", "bddl")
    return {
        "task_id": f"{source}-{number:012x}",
        "record_id": f"{source}:{number}",
        "source": source,
        "context": f"Activity: wash window {number}",
        "danger_group": "physical",
        "danger_type": "mechanical",
        "avoidability": "avoidable",
        "document": json.dumps({"number": number}),
        "document_hash": f"{number:064x}",
        "structure_id": f"{number:064x}",
        "certificate": CERTIFICATE,
        "domain_pddl": "(define (domain hall))",
        "problem_pddl": "(define (problem hall))",
        "licence": "MIT",
        "attribution": "BEHAVIOR-1K activity definitions",
        "run_id": "generate-1",
        **PLANS,
        **other,
    }


def made_up(config: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with a value in every column that may not be null."""
    blank = {pa.string(): "", pa.int64(): 0, pa.bool_(): True, pa.float64(): 0.0}
    schema = CONFIGS[base_of(config)].schema
    return {field.name: row.get(field.name, None if field.nullable else blank.get(field.type, "")) for field in schema}


def miniature(folder: Path, version: str, rows: Rows, **manifest: Any) -> ReleaseManifest:
    """Write the data and the manifest of a release, without its texts."""
    tables = {
        place: pa.Table.from_pylist([made_up(place[0], row) for row in held], CONFIGS[base_of(place[0])].schema)
        for place, held in rows.items()
    }
    return of_tables(folder, version, tables, **manifest)


def of_tables(
    folder: Path, version: str, tables: Mapping[tuple[str, str], pa.Table], **manifest: Any
) -> ReleaseManifest:
    """As `miniature`, of tables with whatever columns."""
    files = {}
    counts: dict[str, dict[str, int]] = {}
    for (config, split), table in tables.items():
        path = folder / "data" / config / f"{split}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        files[f"data/{config}/{split}.parquet"] = file_of(path, table.num_rows)
        counts.setdefault(config, {})[split] = table.num_rows
    tasks = sum(sum(counts[config].values()) for config in counts if base_of(config) in ("tasks", "unavoidable"))
    said: dict[str, Any] = {
        "name": "hall-tasks",
        "date": datetime.date(2026, 1, 10),
        "hazardmill_version": "0.11.0",
        "policy": "any-reject",
        "seed": 0,
        "tasks": tasks,
        "offline": 0,
        "funnel": {"records": 2 * tasks, "no_danger": tasks, "drafts": 2 * tasks, "accepted": tasks, "released": tasks},
        "licences": {"MIT": tasks},
        "archive": Archive(tasks=tasks, unsayable=0, reasons={}),
        "attributions": (Attribution(source="bddl", licence="MIT", attribution="BEHAVIOR-1K", tasks=tasks),),
        "prompts": {"extract": (ReleasedPrompt(version="1.0.0", hash="ab" * 32),)},
        "models": (Model(stage="extract", asked="m/one", answered="m/one", backend="litellm", calls=2 * tasks),),
        "prices": (
            PriceUsed(
                model="m/one",
                input=0.28,
                cached_input=0.028,
                output=0.42,
                checked=datetime.date(2025, 12, 1),
                origin="its price page",
            ),
        ),
        "usd": 0.5,
    }
    said.update(manifest)
    written = ReleaseManifest(version=version, counts=counts, files=files, **said)
    written.write(folder)
    return written


def facts_of(manifest: ReleaseManifest, rows: Rows, **other: Any) -> Facts:
    """The facts of a miniature."""
    tasks = [
        task_fact(made_up(config, row), split)
        for (config, split), held in rows.items()
        if base_of(config) in ("tasks", "unavoidable")
        for row in held
    ]
    return Facts(
        manifest=manifest,
        configs=describe(manifest.counts),
        tasks=tuple(sorted(tasks, key=lambda each: each["task_id"])),
        gates=other.pop("gates", ()),
        **other,
    )
