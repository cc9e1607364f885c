"""Small folders of releases that a hub can take: a card that datasets reads, Parquet, an archive, a figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.release.manifest import Archive, ReleaseManifest, file_of

COUNTS = {"tasks": {"train": 5, "test": 2}, "plans": {"train": 9}}


def pushable(
    folder: Path,
    version: str = "1.0.0",
    counts: Mapping[str, Mapping[str, int]] = COUNTS,
    more: Mapping[str, bytes] | None = None,
    **manifest: Any,
) -> Path:
    """Write a release of some rows, and of files beside them; its folder."""
    rows = {}
    for config, splits in counts.items():
        for split, count in splits.items():
            path = folder / "data" / config / f"{split}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            table = pa.table({"task_id": [f"{version}-{split}-{number}" for number in range(count)]})
            pq.write_table(table, path)
            rows[path] = count
    given = {"README.md": card(version, counts), "tasks.tar.zst": b"archive of " + version.encode(), **(more or {})}
    for name, content in given.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    files = {
        path.relative_to(folder).as_posix(): file_of(path, rows.get(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    values: dict[str, Any] = {
        "name": "soups",
        "version": version,
        "date": None,
        "hazardmill_version": "0.1.0",
        "policy": "none",
        "seed": 0,
        "tasks": 7,
        "offline": 0,
        "counts": {config: dict(splits) for config, splits in counts.items()},
        "licences": {"MIT": 7},
        "archive": Archive(tasks=7, unsayable=0, reasons={}),
        "files": files,
    }
    ReleaseManifest(**{**values, **manifest}).write(folder)
    return folder


def card(version: str, counts: Mapping[str, Mapping[str, int]]) -> bytes:
    """A card that says where the files of each config are."""
    lines = ["---", "license: mit", "configs:"]
    for config, splits in counts.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split in splits:
            lines += [f"  - split: {split}", f"    path: data/{config}/{split}.parquet"]
    return "\n".join([*lines, "---", f"# Soups {version}", ""]).encode()
