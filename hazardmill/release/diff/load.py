"""One side of a comparison: a release whose files are what its manifest says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from hazardmill.errors import InputError
from hazardmill.release.build.configs import SPLITS, base_of
from hazardmill.release.manifest import MANIFEST, ReleaseManifest
from hazardmill.release.read.integrity import read_whole

if TYPE_CHECKING:
    import pyarrow as pa

TASK_CONFIGS: Final = ("tasks", "unavoidable")
"""The configs that hold tasks themselves, whatever their licence; others hold what belongs to them."""


_DATA: Final = re.compile(r"data/[^/]+/[^/]+\.parquet")
_VERSION: Final = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,6}")


@dataclass(frozen=True)
class ComparedRelease:
    """A release to be compared: where it lies, and its manifest."""

    folder: Path
    manifest: ReleaseManifest

    @property
    def configs(self) -> tuple[str, ...]:
        """The configs that have files, in the order of their names."""
        return tuple(sorted({PurePosixPath(path).parts[1] for path in self._data()}))

    def files(self, config: str) -> list[tuple[str, Path]]:
        """Split and file of a config, in the order of the splits."""
        held = {PurePosixPath(path).stem: path for path in self._data() if PurePosixPath(path).parts[1] == config}
        order = [*SPLITS, *sorted(held.keys() - set(SPLITS))]
        return [(split, self.folder / held[split]) for split in order if split in held]

    def schema(self, config: str) -> pa.Schema:
        """The columns of a config, from its files.

        Raises:
            InputError: A file is no Parquet, or two files of the config have different columns.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        found: pa.Schema | None = None
        for _, path in self.files(config):
            try:
                schema = pq.read_schema(path)
            except (OSError, pa.ArrowException) as error:
                raise InputError(
                    f"not a Parquet file: {str(error).splitlines()[0]}", file=str(path), remedy="get the release again"
                ) from error
            if found is not None and not schema.equals(found):
                raise InputError(
                    "its columns are not those of the config's other splits", file=str(path), remedy="build it again"
                )
            found = schema
        assert found is not None  # A config is one because it has files.
        return found

    def _data(self) -> list[str]:
        paths = [PurePosixPath(path) for path in self.manifest.files]
        return [
            str(path)
            for path in paths
            if path.suffix == ".parquet" and len(path.parts) == 3 and path.parts[0] == "data"
        ]


def open_side(folder: Path) -> ComparedRelease:
    """The release in a folder, every file of it checked against the manifest.

    Raises:
        InputError: There is no release, or a file of it is missing or damaged.
    """
    manifest = read_whole(folder, alone=False)
    if not _VERSION.fullmatch(manifest.version):
        raise InputError(
            f"{manifest.version[:40]!r} is no version X.Y.Z",
            file=str(folder / MANIFEST),
            remedy="name a release of hazardmill",
        )
    return ComparedRelease(folder, manifest)


def task_files(side: ComparedRelease) -> Sequence[tuple[str, str, Path]]:
    """Config, split and file of everything that holds tasks."""
    return [
        (config, split, path)
        for config in side.configs
        if base_of(config) in TASK_CONFIGS
        for split, path in side.files(config)
    ]
