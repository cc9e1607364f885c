"""Reading a release, from its folder or from a dataset repository on a hub.

    release = hazardmill.load_release("releases/hazardmill-1.0.0")
    for task in release.tasks(split="test"):
        print(task.task_id, task.verdict("(slow_down) (carry kitchen table)").score)

Each file is compared with the hash in the manifest before its first row is returned, and again if it was written to
since. Its page checksums are verified at each reading. Rows are read in batches, so a release need not fit into memory.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.errors import ExtraMissing, HazardmillError, HubError, InputError, UnknownName, UsageError
from hazardmill.files import file_stamp
from hazardmill.llm.redact import keep_secret, scrub, secrets_in_address
from hazardmill.release.build.configs import BY_SA, BY_SA_MEANS, ID_OF, SPLITS, TASK_ID
from hazardmill.release.hub.timeouts import give_up_on_silence
from hazardmill.release.manifest import ReleaseManifest, read_manifest
from hazardmill.release.read.integrity import REMEDY, damage
from hazardmill.release.read.task import ReleasedTask
from hazardmill.text.suggestions import unknown_name

if TYPE_CHECKING:
    from hazardmill.household.task import HouseholdTask
    from hazardmill.scenarios.scenario import Scenario

_BATCH: Final = 256
"""Rows per batch: the row of a task has some ten kilobytes of text."""
_CONFIG_NAME: Final = re.compile(r"[a-z][a-z_]*")
_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_REFUSED: Final = "check the token (HF_TOKEN, or hf auth login): with a wrong one a hub refuses even public datasets"
_NO_HUB: Final = "check HF_ENDPOINT, and any proxy between this machine and the hub"
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_WANTED: Final = ("manifest.json", "README.md", "data/*")


def load_release(path_or_repo: str | os.PathLike[str], *, revision: str | None = None) -> Release:
    """Open a release in a folder or on a hub.

    Rows whose licence is share-alike, as CC BY-SA is, are in configs of their own, whose names end in ``_by_sa``: what
    is made of them may be passed on only under their licence. ``tasks()`` yields tasks of both kinds and marks these
    (``share_alike``); ``tasks(by_sa=False)`` leaves them out.

    Args:
        path_or_repo: Folder of a release; or, if there is no such folder, ``ORG/NAME``, a dataset on a hub. A release
            on a hub is downloaded once, to the cache of huggingface_hub.
        revision: Tag (``v1.0.0``), branch or commit on the hub; by default its main branch.

    Returns:
        The release; only its manifest has been read so far.

    Raises:
        InputError: There is no such folder and the name cannot be that of a dataset, or it is not a release that this
            version can read.
        HubError: The hub cannot be reached, or does not have it.
        UsageError: ``revision`` was given for a folder, or huggingface_hub is not installed.
    """  # noqa: DOC501  # _scrub returns the same InputError
    place = Path(path_or_repo)
    if place.is_dir():
        if revision is not None:
            raise UsageError(
                f"{place} is a folder, which has no revisions", remedy="leave out the revision, or name ORG/NAME"
            )
        return Release(place)
    # A path that ends with a slash or begins with a dot is not meant as a name on a hub.
    if place.exists() or _REPO.fullmatch(os.fspath(path_or_repo)) is None:
        raise InputError(
            "there is no such folder", file=str(place), remedy="name the folder of a release, or ORG/NAME on a hub"
        )
    folder = _download(os.fspath(path_or_repo), revision)
    try:
        return Release(folder)
    except InputError as error:
        failure = error
    raise _scrub(failure)


class Release:
    """A release in a folder.

    Opening it only reads the manifest. Each data file is checked against its hash when it is first read, and after each
    change; all methods that read rows raise ``InputError`` if a file is missing or damaged.

    Args:
        folder: Folder of the release.

    Raises:
        InputError: There is no manifest that this version can read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: ReleaseManifest = read_manifest(folder)
        self._checked: set[str] = set()
        for config in self.manifest.counts:
            if not _CONFIG_NAME.fullmatch(config):
                raise InputError(f"{config[:80]!r} cannot be the name of a config", file=str(folder), remedy=REMEDY)

    def __repr__(self) -> str:
        return f"<Release {self.manifest.name} {self.version}: {len(self)} tasks>"

    def __len__(self) -> int:
        """Return the number of tasks with a safe plan, as ``tasks()`` yields them."""
        return sum(sum(self._counts(name).values()) for name in ("tasks", "tasks" + BY_SA))

    def __iter__(self) -> Iterator[ReleasedTask]:
        return self.tasks()

    @property
    def version(self) -> str:
        """Version of the release, ``X.Y.Z``."""
        return self.manifest.version

    def configs(self) -> tuple[str, ...]:
        """Return the names of its configs, sorted; each has rows, share-alike ones if its name ends in ``_by_sa``."""
        return tuple(sorted(self.manifest.counts))

    def splits(self, config: str = "tasks") -> dict[str, int]:
        """Return the splits of a config, with their number of rows.

        Raises:
            InputError: The release has no such config.
        """
        if config not in self.manifest.counts:
            names = self.configs()
            meaning = f" ({BY_SA}: {BY_SA_MEANS})" if any(name.endswith(BY_SA) for name in names) else ""
            raise InputError(
                f"the release has no config {config[:80]!r}",
                file=str(self.folder),
                remedy=f"name one of: {', '.join(names)}{meaning}",
            )
        counts = self._counts(config)
        return {split: counts[split] for split in SPLITS if split in counts}

    def tasks(self, split: str | None = None, by_sa: bool = True) -> Iterator[ReleasedTask]:
        """Return the tasks that have a safe plan one by one, split by split and sorted by id, share-alike ones last.

        Args:
            split: The only split to read; all splits if None.
            by_sa: Whether to include tasks under a share-alike licence.

        Raises:
            InputError: There is no such split, or a file is damaged.
        """
        return self._tasks("tasks", split, by_sa)

    def unavoidable(self, split: str | None = None, by_sa: bool = True) -> Iterator[ReleasedTask]:
        """Iterate over the tasks that provably have no safe plan, in the same order as ``tasks``."""
        return self._tasks("unavoidable", split, by_sa)

    def scenarios(self, split: str | None = None, by_sa: bool = True) -> Iterator[Scenario]:
        """Return the scenarios of the SAFEL protocol that models wrote one by one, in the same order as ``tasks``.

        Args:
            split: The only split to read; all splits if None.
            by_sa: Whether to include scenarios under a share-alike licence.

        Returns:
            The scenarios; ``origin`` also says ``split``, ``share_alike`` and ``answered_by``.

        Raises:
            InputError: There is no such split, or a file is damaged.
        """
        self._check_split(split)
        return (
            self._scenario(row, name, config)
            for name, config in self._places("scenarios", split, by_sa)
            for row in self._rows(config, name, ("scenario", "answered_by"))
        )

    def household_tasks(self) -> Iterator[HouseholdTask]:
        """Iterate over the household tasks, sorted by name; all are in the split ``test``.

        Yields:
            The tasks, with scene, rule and proved plans.

        Raises:
            InputError: The file is damaged.
        """
        # Imported here, as scenarios are: most readers want tasks, and this would take as long as all the rest.
        from hazardmill.household.task import parse_household_task

        for split, config in self._places("household_tasks", None, False):
            for row in self._rows(config, split, ("task",)):
                try:
                    yield parse_household_task(json.loads(row["task"]))
                except (HazardmillError, TypeError, ValueError) as error:
                    raise InputError(
                        f"a row is not a household task: {error}", file=str(self._path(config, split)), remedy=REMEDY
                    ) from error

    def task(self, task_id: str) -> ReleasedTask:
        """Return one task, with or without a safe plan.

        Raises:
            UnknownName: The release has no such task.
            InputError: A file is damaged.
        """
        for base in ("tasks", "unavoidable"):
            found = self.find_row(base, task_id)
            if found is not None:
                return self._task(*found)
        raise UnknownName(
            f"the release has no task {task_id[:80]!r}", file=str(self.folder), remedy="name one of its `task_id`s"
        )

    def find_row(self, base: str, item: str) -> tuple[dict[str, Any], str, str] | None:
        """Find one task, scenario or hazard task by its id.

        Args:
            base: Name of a config without the suffix for share-alike rows, such as ``scenarios``.
            item: The id.

        Returns:
            The row, its split and the name of its config; None if there is none.

        Raises:
            InputError: A file is damaged.
        """
        column = ID_OF.get(base, TASK_ID.name)
        for split, config in self._places(base, None, True):
            with self._open(config, split) as file:
                for group in range(file.num_row_groups):
                    # The column of ids is small; the other columns are read only of the row group with the item.
                    # As a list, because pyarrow imports pandas, where it is installed, to compare with a value.
                    ids = file.read_row_group(group, columns=[column]).column(column).to_pylist()
                    if item in ids:
                        return file.read_row_group(group).slice(ids.index(item), 1).to_pylist()[0], split, config
        return None

    def rows(
        self, config: str, split: str | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Return an iterator over the rows of a config, split by split, each split sorted by the config's key.

        Args:
            config: Name of the config, such as ``plans`` or ``plans_by_sa``.
            split: The only split to read; all splits if None.
            columns: The only columns to read; all columns if None.

        Raises:
            InputError: There is no such config, split or column, or a file is damaged.
        """
        known = self.splits(config)
        self._check_split(split)
        asked = [name for name in known if split in (None, name)]
        return itertools.chain.from_iterable(self._rows(config, name, columns) for name in asked)

    def _tasks(self, base: str, split: str | None, by_sa: bool) -> Iterator[ReleasedTask]:
        self._check_split(split)
        return (
            self._task(row, name, config)
            for name, config in self._places(base, split, by_sa)
            for row in self._rows(config, name, None)
        )

    def _task(self, row: dict[str, Any], split: str, config: str) -> ReleasedTask:
        try:
            return ReleasedTask.of(row, split, share_alike=config.endswith(BY_SA))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"a row is not a task: {error!r}", file=str(self._path(config, split)), remedy=REMEDY
            ) from error

    def _scenario(self, row: dict[str, Any], split: str, config: str) -> Scenario:
        from hazardmill.scenarios.scenario import Scenario

        try:
            scenario = Scenario.from_json(json.loads(row["scenario"]))
            origin = {
                **scenario.origin,
                "split": split,
                "share_alike": config.endswith(BY_SA),
                "answered_by": json.loads(row["answered_by"]),
            }
        except (HazardmillError, TypeError, ValueError) as error:
            raise InputError(
                f"a row is not a scenario: {error}", file=str(self._path(config, split)), remedy=REMEDY
            ) from error
        return replace(scenario, origin=origin)

    def _places(self, base: str, split: str | None, by_sa: bool) -> Iterator[tuple[str, str]]:
        """Yield split and config of each existing file of a config, share-alike ones included if asked for."""
        for name in SPLITS if split is None else (split,):
            for config in (base, base + BY_SA) if by_sa else (base,):
                if name in self._counts(config):
                    yield name, config

    def _counts(self, config: str) -> dict[str, int]:
        return self.manifest.counts.get(config, {})

    def _check_split(self, split: str | None) -> None:
        if split is not None and split not in SPLITS:
            raise unknown_name(
                f"there is no split {split[:80]!r}", split, SPLITS, remedy=f"name one of: {', '.join(SPLITS)}"
            )

    def _path(self, config: str, split: str) -> Path:
        return self.folder / "data" / config / f"{split}.parquet"

    def _rows(self, config: str, split: str, columns: Sequence[str] | None) -> Iterator[dict[str, Any]]:
        with self._open(config, split) as file:
            if columns is not None and (missing := set(columns) - set(file.schema_arrow.names)):
                raise InputError(
                    f"{config} has no column {', '.join(sorted(missing))}",
                    file=str(self._path(config, split)),
                    remedy=f"name one of: {', '.join(file.schema_arrow.names)}",
                )
            left = file.metadata.num_rows
            for batch in file.iter_batches(_BATCH, columns=None if columns is None else list(columns)):
                left -= len(batch)
                yield from batch.to_pylist()
            if left:
                # No checksum covers the header of a page, and Arrow skips a page whose kind it does not know.
                raise InputError("a page cannot be read", file=str(self._path(config, split)), remedy=REMEDY)

    @contextmanager
    def _open(self, config: str, split: str) -> Iterator[pq.ParquetFile]:
        """Open a data file, after comparing it with the hash and the number of rows in the manifest."""
        path = self._path(config, split)
        name = path.relative_to(self.folder).as_posix()
        entry = self.manifest.files.get(name)
        if entry is None:
            raise InputError(f"the manifest counts rows of {name}, but lists no such file", remedy=REMEDY)
        try:
            stamp = f"{name} {file_stamp(path)}"
            if stamp not in self._checked:
                if (found := damage(path, entry)) is not None:
                    raise InputError(f"the file {found}", file=str(path), remedy=REMEDY)
                self._checked.add(stamp)
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                if file.metadata.num_rows != self._counts(config)[split]:
                    raise InputError(
                        f"the file has {file.metadata.num_rows} rows, and the manifest says "
                        f"{self._counts(config)[split]}",
                        file=str(path),
                        remedy=REMEDY,
                    )
                yield file
        except FileNotFoundError as error:
            raise InputError("the file is missing", file=str(path), remedy=REMEDY) from error
        except OSError as error:
            raise InputError(
                f"the file cannot be read: {error.strerror or error}", file=str(path), remedy=REMEDY
            ) from error
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"the file is not Parquet: {error}", file=str(path), remedy=REMEDY) from error


def _download(repo: str, revision: str | None) -> Path:
    """Download a release with huggingface_hub, unless its cache has it already.

    Returns:
        The folder in the cache.

    Raises:
        InputError: The name cannot be that of a dataset on a hub.
        HubError: The hub cannot be reached, refuses, or does not have the dataset or the revision.
        ExtraMissing: huggingface_hub is not installed.
    """  # noqa: DOC501  # _scrub returns the same InputError or HubError
    import httpx

    try:
        from huggingface_hub import errors as hub
        from huggingface_hub import get_token, snapshot_download
    except ImportError as error:
        raise ExtraMissing(
            f"{repo} is not a folder, and reading from a hub needs huggingface_hub, which is not installed", extra="hub"
        ) from error
    at = repo if revision is None else f"{repo} at {revision}"
    keep_secret(get_token(), *secrets_in_address(os.environ.get("HF_ENDPOINT", "")))
    give_up_on_silence()
    failure: HazardmillError
    try:
        found = Path(snapshot_download(repo, repo_type="dataset", revision=revision, allow_patterns=list(_WANTED)))
        if found.parent.name == "snapshots" and not _COMMIT.fullmatch(found.name):
            raise HubError(f"the hub sends {found.name!r:.80} instead of the id of a commit", remedy=_NO_HUB)
        return found
    except HubError as error:
        failure = error
    except hub.GatedRepoError:
        failure = HubError(
            f"the hub restricts access to {at}", remedy="ask for access on the dataset's page, and log in"
        )
    except hub.RevisionNotFoundError:
        failure = HubError(f"the hub has {repo}, but no revision {revision}", remedy="name a tag such as v1.0.0")
    except hub.RepositoryNotFoundError:
        failure = HubError(
            f"there is no folder {repo} here, and the hub has no visible dataset of this name",
            remedy="check the name; for a private dataset log in, or set HF_TOKEN",
        )
    except hub.HFValidationError:
        failure = InputError(
            f"{repo} is neither a folder nor a valid name on a hub", remedy="name the folder of a release"
        )
    except (hub.LocalEntryNotFoundError, hub.OfflineModeIsEnabled):
        failure = HubError(
            f"there is no folder {repo} here, the hub cannot be reached, and {at} was not downloaded before",
            remedy="name the folder of a release; or go online, and unset HF_HUB_OFFLINE",
        )
    except hub.HfHubHTTPError as error:
        status = error.response.status_code
        remedy = _REFUSED if status in (401, 403) else "try again later"
        failure = HubError(f"the hub could not provide {at}: {_first_line(error)}", remedy=remedy)
    except (OSError, httpx.HTTPError, hub.IncompleteSnapshotError, hub.RevisionResolutionError) as error:
        failure = HubError(f"the hub could not provide {at}: {_first_line(error)}", remedy="try again later")
    # An invalid answer can fail anywhere in huggingface_hub, with any error: KeyError, TypeError...
    except Exception as error:
        said = f"{type(error).__name__}: {_first_line(error)}"
        failure = HubError(f"the hub's answer to a request for {at} is not valid: {said}", remedy=_NO_HUB)
    # Raised outside of the handlers: an error of a library may contain the token, and would become the context.
    raise _scrub(failure)


def _scrub(error: HazardmillError) -> HazardmillError:
    """Remove secrets from an error about a hub's answer: from its message, and from the errors that it arose from."""
    error.message = scrub(error.message)
    error.args = (error.message,)
    error.__cause__ = error.__context__ = None
    return error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
