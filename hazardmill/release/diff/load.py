"""Loading one side of a comparison: a release whose files agree with its manifest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from hazardmill.errors import InputError
from hazardmill.release.build.configs import SPLITS, WITH_TASKS, base_of
from hazardmill.release.manifest import MANIFEST, ReleaseManifest
from hazardmill.release.read.integrity import read_whole

if TYPE_CHECKING:
    import pyarrow as pa


_DATA: Final = re.compile(r"data/[^/]+/[^/]+\.parquet")
_VERSION: Final = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,6}")


@dataclass(frozen=True)
class ComparedRelease:
    """A release to compare.

    Unlike ``Release`` it may be of another version of hazardmill, so configs and columns are read from its
    files and not assumed.

    Attributes:
        folder: Its folder.
        manifest: Its manifest.
    """

    folder: Path
    manifest: ReleaseManifest

    @property
    def configs(self) -> tuple[str, ...]:
        """The configs that have files, sorted by name."""
        return tuple(sorted({PurePosixPath(path).parts[1] for path in self._data()}))

    def files(self, config: str) -> list[tuple[str, Path]]:
        """Return split and file of a config, in the order of the splits."""
        held = {PurePosixPath(path).stem: path for path in self._data() if PurePosixPath(path).parts[1] == config}
        order = [*SPLITS, *sorted(held.keys() - set(SPLITS))]
        return [(split, self.folder / held[split]) for split in order if split in held]

    def schema(self, config: str) -> pa.Schema:
        """Return the columns of a config, read from its files.

        Raises:
            InputError: A file is not Parquet, or two files of the config have different columns.
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
                    "its columns differ from those of the config's other splits",
                    file=str(path),
                    remedy="build it again",
                )
            found = schema
        assert found is not None  # Only a config with files is asked for.
        return found

    def _data(self) -> list[str]:
        paths = [PurePosixPath(path) for path in self.manifest.files]
        return [
            str(path)
            for path in paths
            if path.suffix == ".parquet" and len(path.parts) == 3 and path.parts[0] == "data"
        ]


def open_side(folder: Path) -> ComparedRelease:
    """Open the release in a folder for a comparison, and check every file against the manifest.

    Further files in the folder do no harm.

    Returns:
        The folder and its manifest; columns and rows are read from the files later.

    Raises:
        InputError: The folder has no release, a file is missing or damaged, or the version is not ``X.Y.Z``.
    """
    manifest = read_whole(folder, alone=False)
    if not _VERSION.fullmatch(manifest.version):
        raise InputError(
            f"the version {manifest.version[:40]!r} is not of the form X.Y.Z",
            file=str(folder / MANIFEST),
            remedy="name a release of hazardmill",
        )
    return ComparedRelease(folder, manifest)


def task_files(side: ComparedRelease) -> Sequence[tuple[str, str, Path]]:
    """List config, split and file of all files whose rows are tasks of any kind; rows of others belong to these."""
    return [
        (config, split, path)
        for config in side.configs
        if base_of(config) in WITH_TASKS
        for split, path in side.files(config)
    ]
