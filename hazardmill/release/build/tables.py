"""Writing the Parquet files of a release, one row group at a time; the same rows give the same bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.errors import HazardmillError, StoreError
from hazardmill.release.build.configs import CONFIGS, SPLITS, base_of, config_name
from hazardmill.release.manifest import File, file_of

Row = dict[str, Any]

GROUP_ROWS: Final = 512
"""Rows per row group, and so the maximum number of rows per file that wait in memory."""

_KEYS: Final = frozenset({"task_id", "record_id", "source", "danger_group", "danger_type", "kind", "draft", "split"})
"""Columns by which users select rows: only for these are minimum and maximum values worth their space."""

_LARGE: Final = frozenset(
    {
        "context",
        "document",
        "document_hash",
        "structure_id",
        "group",
        "domain_pddl",
        "problem_pddl",
        "code",
        "certificate",
        "proof",
        "twin",
        "twin_hash",
        "feedback",
        "answer",
        "prompt",
    }
)
"""Columns whose values hardly repeat: a dictionary would only be a second copy of them."""


class Tables:
    """The data files of a release, ``data/<config>/<split>.parquet``, which are written as rows arrive.

    Rows must be added in the order in which their file has them. A file is created with its first row group; there is
    none for a config and split without rows.

    Args:
        folder: Folder of the release.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: dict[tuple[str, str], list[Row]] = defaultdict(list)
        self._writers: dict[tuple[str, str], pq.ParquetWriter] = {}
        self._rows: Counter[tuple[str, str]] = Counter()
        self._bytes: Counter[tuple[str, str]] = Counter()

    def add(self, base: str, split: str, row: Row) -> None:
        """Add a row to a config.

        Args:
            base: Name of the config, without ``_by_sa``; the row's licence decides whether it goes there.
            split: One of ``SPLITS``.
            row: A value for every column of the config.

        Raises:
            StoreError: A file cannot be written.
            HazardmillError: Rows do not fit the columns of their config.
        """
        place = (config_name(base, row["licence"]), split)
        waiting = self._waiting[place]
        waiting.append(row)
        if len(waiting) >= GROUP_ROWS:
            self._write(base, place)

    def close(self) -> dict[str, File]:
        """Write the waiting rows and close all files.

        Returns:
            Path within the folder of the release to the file's entry in the manifest, sorted by config and split.
        """
        for place in list(self._waiting):
            self._write(base_of(place[0]), place)
        self.abandon()
        paths = {_path(*place): place for place in sorted(self._rows)}
        return {path: file_of(self._folder / path, self._rows[place]) for path, place in paths.items()}

    def abandon(self) -> None:
        """Close the files without the rows that still wait."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Number of rows written, by config and split; without those that have none."""
        return _by_config(self._rows)

    @property
    def sizes(self) -> dict[str, dict[str, int]]:
        """Size in memory of the rows written, in bytes, by config and split."""
        return _by_config(self._bytes)

    def _write(self, base: str, place: tuple[str, str]) -> None:
        waiting = self._waiting.pop(place, [])
        if not waiting:
            return
        schema = CONFIGS[base].schema
        try:
            data = pa.Table.from_pylist(waiting, schema=schema)
            if place not in self._writers:
                path = self._folder / _path(*place)
                path.parent.mkdir(parents=True, exist_ok=True)
                self._writers[place] = pq.ParquetWriter(path, schema, **_parquet_options(schema))
            self._writers[place].write_table(data, row_group_size=GROUP_ROWS)
        except OSError as error:
            raise StoreError(
                f"the release cannot be written: {error.strerror or error}",
                file=_path(*place),
                remedy="free some space on this disk, or name a folder that can be written",
            ) from error
        except pa.ArrowException as error:
            raise HazardmillError(f"rows of {place[0]} do not fit its columns: {error}") from error
        self._rows[place] += len(waiting)
        self._bytes[place] += data.nbytes


def _by_config(numbers: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for config, split in sorted(numbers, key=lambda place: (place[0], SPLITS.index(place[1]))):
        found.setdefault(config, {})[split] = numbers[config, split]
    return found


def _path(config: str, split: str) -> str:
    return f"data/{config}/{split}.parquet"


def _parquet_options(schema: pa.Schema) -> Mapping[str, Any]:
    return {
        "compression": "zstd",
        "write_page_checksum": True,
        "use_dictionary": [name for name in schema.names if name not in _LARGE],
        "write_statistics": [name for name in schema.names if name in _KEYS],
    }
