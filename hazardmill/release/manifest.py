"""The manifest of a release: what it consists of, and the hash of each of its files."""

from __future__ import annotations

import datetime
import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError, field_validator

from hazardmill.authors import Author
from hazardmill.errors import InputError
from hazardmill.files import open_regular, read_regular
from hazardmill.records import FrozenModel
from hazardmill.reporting.numbers import plural

MANIFEST: Final = "manifest.json"
SCHEMA: Final = 1
"""Version of the manifest and of the configs' columns together, as this version writes and reads them."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class File(FrozenModel):
    """One file of a release.

    Attributes:
        sha256: Hash of its content, hex.
        bytes: Its size.
        rows: Number of rows of a Parquet file; None for other files.
    """

    sha256: Sha256
    bytes: int
    rows: int | None = None


class ReleasedPrompt(FrozenModel):
    """A prompt that released tasks were made with.

    Attributes:
        version: Version in its file.
        hash: SHA-256 of its text, hex.
    """

    version: str
    hash: str


class Model(FrozenModel):
    """A model that answered at one stage; None where the ledger does not say.

    Attributes:
        stage: ``extract``, ``author`` or ``judge``.
        asked: Model that was asked for.
        answered: Model that answered according to the provider.
        backend: Backend that sent the requests.
        calls: Number of different requests that the records of released tasks used.
    """

    stage: str
    asked: str | None
    answered: str | None
    backend: str | None
    calls: int


class PriceUsed(FrozenModel):
    """A price by which a run booked what a model cost, in USD per million tokens.

    Attributes:
        model: Name of the model.
        input: Price of a prompt token.
        cached_input: Price of a prompt token that the provider had in its cache.
        output: Price of a token of the answer.
        cache_write: Price of a prompt token that is written to the cache; None if it costs as much as ``input``.
        checked: Day on which somebody looked the prices up; None of prices that were given for the run.
        origin: Where they were published, or that they were given.
    """

    model: str
    input: float
    cached_input: float
    output: float
    cache_write: float | None = None
    checked: datetime.date | None = None
    origin: str


class Attribution(FrozenModel):
    """A credit line.

    Attributes:
        source: Source of the records.
        licence: Licence of the records.
        attribution: The credit line.
        tasks: Number of released tasks that carry it.
    """

    source: str
    licence: str
    attribution: str
    tasks: int


class Archive(FrozenModel):
    """Counts of the archives of task folders.

    Attributes:
        tasks: Number of task folders in them.
        unsayable: Number of released tasks that the format of DESPITE cannot express; they are only in the Parquet
            files.
        reasons: Name of a rule of that format to the number of tasks that break it.
    """

    tasks: int
    unsayable: int
    reasons: dict[str, int]


class Review(FrozenModel):
    """Counts of the review that a release is based on.

    Attributes:
        reviewers: Number of reviewers who decided on released tasks.
        models: How many of them are language models.
        decisions: Number of decisions on released tasks, adjudications included.
        rejected: Number of tasks that reviewers rejected; they are not in the release.
    """

    reviewers: int
    models: int = 0
    decisions: int
    rejected: int

    @property
    def people(self) -> int:
        """Number of reviewers who are people."""
        return self.reviewers - self.models


class Parent(FrozenModel):
    """The previous release, which a release names as its parent.

    Attributes:
        version: Its version.
        manifest_sha256: Hash of its manifest, which stands for all its bytes.
    """

    version: str
    manifest_sha256: Sha256


class ReleaseManifest(FrozenModel):
    """The content of ``manifest.json``: what a release consists of, apart from its rows.

    Raises:
        ValidationError: A value is not of its type, or a name in ``files`` leads out of the folder.
    """

    schema_: Annotated[int, Field(alias="schema")] = SCHEMA
    name: str
    version: str
    date: datetime.date | None
    """Day (UTC) of the latest change of a run that was read; None if the store has none."""
    hazardmill_version: str
    policy: Literal["any-reject", "majority", "adjudicated", "none"]
    seed: int
    authors: tuple[Author, ...] = ()
    """Authors in the order of the citation; empty if none was named."""
    doi: str | None = None
    """DOI, such as ``10.5281/zenodo.1234567``; None if none was given."""
    tasks: int
    """Number of released tasks, unavoidable ones included."""
    scenarios: int = 0
    """Number of released scenarios. What follows about tasks counts them too."""
    hazard_tasks: int = 0
    """Number of released hazard tasks. What follows about tasks counts them too."""
    household_tasks: int = 0
    """Number of released household tasks, which come from no record. `licences` and `attributions` count them too."""
    offline: int
    """Number of released tasks that hazardmill's rules wrote, wholly or in part, instead of a language model."""
    recorded: int = 0
    """Number of released tasks made from recorded answers that do not come with hazardmill."""
    local_models: tuple[str, ...] = ()
    """Models at private addresses that answered for released tasks."""
    waived: dict[str, str] = Field(default_factory=dict)
    """Gate that found something without stopping the release, to the reason given for that."""
    thresholds: dict[str, float] = Field(default_factory=dict)
    """Thresholds of the gate on the corpus that differ from their defaults."""
    left_out: dict[str, int] = Field(default_factory=dict)
    """Reason why tasks of the runs are not in the release, to their number."""
    left_out_by_gates: dict[str, int] = Field(default_factory=dict)
    """Gate to the number of tasks that it refused and that are therefore not in the release. A task that several gates
    refused counts for each of them."""
    funnel: dict[str, int] = Field(default_factory=dict)
    """Where the records of the runs ended: counts of ``records``, ``drafts``, each outcome and ``released``."""
    counts: dict[str, dict[str, int]]
    """Config to split to number of rows; configs and splits without rows are left out."""
    prompts: dict[str, tuple[ReleasedPrompt, ...]] = Field(default_factory=dict)
    """Stage to the prompts that were used there."""
    models: tuple[Model, ...] = ()
    prices: tuple[PriceUsed, ...] = ()
    """The prices that the runs used, by model; several of one model if they differed."""
    usd: float | None = None
    """Cost in USD of all requests of the runs as the ledger has it, records without a task included; None if the cost
    of a request is unknown."""
    usd_known: float | None = None
    """The part of this cost that is known."""
    licences: dict[str, int]
    """Licence to number of tasks."""
    attributions: tuple[Attribution, ...] = ()
    review: Review | None = None
    """None under the policy ``none``."""
    archive: Archive
    parent: Parent | None = None
    former_groups: dict[str, str] = Field(default_factory=dict)
    """Group to split, of tasks that only earlier releases had: if such a group comes back, it goes there again."""
    files: dict[str, File]
    """Every file of the folder except the manifest, by its path within the folder."""

    @property
    def contents(self) -> str:
        """What the release contains, in words: ``12 tasks``, ``1 task and 20 scenarios``."""
        return " and ".join(plural(number, noun) for noun, number in self._nouns if number) or plural(0, "task")

    @property
    def kinds(self) -> str:
        """What the release contains, without numbers: such as ``tasks`` or ``scenarios and hazard tasks``."""
        return " and ".join(f"{noun}s" for noun, number in self._nouns if number) or "tasks"

    @property
    def kinds_from_records(self) -> str:
        """As ``kinds``, but without household tasks, which are neither made of records nor reviewed."""
        return " and ".join(f"{noun}s" for noun, number in self._nouns[:-1] if number) or "tasks"

    @property
    def total(self) -> int:
        """Number of all that is released: tasks, scenarios, hazard tasks and household tasks."""
        return sum(number for _, number in self._nouns)

    @property
    def from_records(self) -> int:
        """Number of all that was made in runs, from records: everything but household tasks."""
        return self.total - self.household_tasks

    @property
    def _nouns(self) -> tuple[tuple[str, int], ...]:
        return (
            ("task", self.tasks),
            ("scenario", self.scenarios),
            ("hazard task", self.hazard_tasks),
            ("household task", self.household_tasks),
        )

    @field_validator("files")
    @classmethod
    def _are_within(cls, files: dict[str, File]) -> dict[str, File]:
        for name in files:
            # Readers of a release open these names, so they must not lead out of its folder.
            if any(part in ("", ".", "..") for part in name.split("/")) or "\\" in name or not name.isprintable():
                raise ValueError(f"{name[:80]!r} is not a path within a release")
        return files

    def to_bytes(self) -> bytes:
        """Return the bytes of the file: JSON with sorted keys, in UTF-8."""
        value = self.model_dump(mode="json", by_alias=True)
        return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()

    def sha256(self) -> str:
        """Return the SHA-256 (hex) of the file. As the file has the hashes of all others, it stands for all bytes."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def write(self, folder: Path) -> None:
        """Write ``manifest.json`` to the folder of a release."""
        (folder / MANIFEST).write_bytes(self.to_bytes())


def read_manifest(folder: Path) -> ReleaseManifest:
    """Return the manifest in the folder of a release.

    Raises:
        InputError: The folder has no manifest, the file is not a manifest, or a newer version of hazardmill wrote it.
    """
    path = folder / MANIFEST
    remedy = "name the folder of a release, as hazardmill release build wrote it"
    try:
        value: Any = json.loads(read_regular(path))
    except OSError as error:
        raise InputError(
            f"there is no manifest of a release: {error.strerror or error}", file=str(path), remedy=remedy
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"the manifest is not JSON: {error}", file=str(path), remedy=remedy) from error
    if not isinstance(value, dict):
        raise InputError("the manifest is not a JSON object", file=str(path), remedy=remedy)
    schema = value.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise InputError(
            f"the release has schema {schema}, and this version of hazardmill reads schemas up to {SCHEMA}",
            file=str(path),
            remedy="install a newer hazardmill",
        )
    try:
        return ReleaseManifest.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"the manifest is not valid: {place}: {first['msg']}", file=str(path), remedy=remedy
        ) from error


def file_of(path: Path, rows: int | None = None) -> File:
    """Return the entry of a file in the manifest: its SHA-256, size in bytes, and rows.

    Args:
        path: A regular file.
        rows: Number of rows, if it is a Parquet file.

    Raises:
        OSError: It cannot be read, or is not a regular file.
    """
    with open_regular(path) as opened:
        digest = hashlib.file_digest(opened, "sha256")
    return File(sha256=digest.hexdigest(), bytes=path.stat().st_size, rows=rows)
