"""The manifest of a release: what it is made of, and the hash of each of its files."""

from __future__ import annotations

import datetime
import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError, field_validator

from hazardmill.errors import InputError
from hazardmill.files import open_regular, read_regular
from hazardmill.records import FrozenModel

MANIFEST: Final = "manifest.json"
SCHEMA: Final = 1
"""Of the manifest and the configs' columns together, as this version writes and reads them."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class File(FrozenModel):
    """One file of a release."""

    sha256: Sha256
    bytes: int
    rows: int | None = None
    """Rows of a Parquet file; null for other files."""


class ReleasedPrompt(FrozenModel):
    """A prompt that released tasks were made with."""

    version: str
    hash: str


class Model(FrozenModel):
    """Who answered at one stage, by whom was asked."""

    stage: str
    asked: str | None
    answered: str | None
    backend: str | None
    calls: int
    """Requests, each once, that the records of released tasks used."""


class PriceUsed(FrozenModel):
    """The price list's entry of a model, in USD per million tokens."""

    model: str
    input: float
    cached_input: float
    output: float
    cache_write: float | None = None
    checked: datetime.date
    origin: str


class Attribution(FrozenModel):
    """A credit line, with how many tasks come under it."""

    source: str
    licence: str
    attribution: str
    tasks: int


class Archive(FrozenModel):
    """The archives of task folders."""

    tasks: int
    """Task folders in them."""
    unsayable: int
    """Released tasks that a folder of DESPITE cannot say; they are in the Parquet files alone."""
    reasons: dict[str, int]
    """Rule that a task breaks to the tasks that break it."""


class Review(FrozenModel):
    """What reviewers had a say in."""

    reviewers: int
    models: int = 0
    """Reviewers that are language models, of all."""
    decisions: int
    """Decisions on released tasks, adjudications included."""
    rejected: int
    """Tasks that reviewers are against; they are left out."""

    @property
    def people(self) -> int:
        """Reviewers that are people."""
        return self.reviewers - self.models


class Parent(FrozenModel):
    """The release before this one."""

    version: str
    manifest_sha256: Sha256


class ReleaseManifest(FrozenModel):
    """Everything about a release but its rows."""

    schema_: Annotated[int, Field(alias="schema")] = SCHEMA
    name: str
    version: str
    date: datetime.date | None
    """The day of the latest change of a run in the store; null where it tells none."""
    hazardmill_version: str
    policy: Literal["any-reject", "majority", "adjudicated", "none"]
    seed: int
    tasks: int
    """Released tasks, unavoidable ones included."""
    offline: int
    """Released tasks with anything that our rules wrote, and no language model."""
    recorded: int = 0
    """Released tasks made of recorded answers that do not come with hazardmill."""
    local_models: tuple[str, ...] = ()
    """Models behind a private address that answered for released tasks."""
    waived: dict[str, str] = Field(default_factory=dict)
    """Gate that stopped nothing, though it found something or could not tell, to the reason given."""
    thresholds: dict[str, float] = Field(default_factory=dict)
    """Thresholds of the gate on the corpus that were set otherwise than they are by default."""
    left_out: dict[str, int] = Field(default_factory=dict)
    """Why to how many tasks of the runs are not in the release."""
    funnel: dict[str, int] = Field(default_factory=dict)
    """Where the records of the runs went: ``records``, ``drafts``, each outcome, ``released``."""
    counts: dict[str, dict[str, int]]
    """Config to split to rows; neither is there without rows."""
    prompts: dict[str, tuple[ReleasedPrompt, ...]] = Field(default_factory=dict)
    """By stage."""
    models: tuple[Model, ...] = ()
    prices: tuple[PriceUsed, ...] = ()
    usd: float | None = None
    """What all requests of the runs cost by the price list, lost records included; null where a part is unknown."""
    usd_known: float | None = None
    """The known part of it."""
    licences: dict[str, int]
    """Licence to tasks."""
    attributions: tuple[Attribution, ...] = ()
    review: Review | None = None
    """Null where nobody's opinion counts."""
    archive: Archive
    parent: Parent | None = None
    former_groups: dict[str, str] = Field(default_factory=dict)
    """Group of tasks that releases before had and this one has not, to its split: if it comes back, it goes there."""
    files: dict[str, File]
    """Every file of the folder but the manifest, by its path within it."""

    @field_validator("files")
    @classmethod
    def _are_within(cls, files: dict[str, File]) -> dict[str, File]:
        for name in files:
            # Whoever reads a release opens these names.
            if any(part in ("", ".", "..") for part in name.split("/")) or "\\" in name or not name.isprintable():
                raise ValueError(f"{name[:80]!r} is no file within a release")
        return files

    def to_bytes(self) -> bytes:
        """As it is written: JSON with sorted keys, UTF-8."""
        value = self.model_dump(mode="json", by_alias=True)
        return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()

    def sha256(self) -> str:
        """Hash of the file: it stands for all bytes of the release."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def write(self, folder: Path) -> None:
        """Write it into the folder of its release."""
        (folder / MANIFEST).write_bytes(self.to_bytes())


def read_manifest(folder: Path) -> ReleaseManifest:
    """The manifest in the folder of a release.

    Raises:
        InputError: There is none, or it is not one that this version reads.
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
        raise InputError(f"the manifest is no JSON: {error}", file=str(path), remedy=remedy) from error
    if not isinstance(value, dict):
        raise InputError("the manifest is no JSON object", file=str(path), remedy=remedy)
    schema = value.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise InputError(
            f"the release has schema {schema}, and this version of hazardmill reads {SCHEMA} at most",
            file=str(path),
            remedy="install a newer hazardmill",
        )
    try:
        return ReleaseManifest.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"the manifest is none: {place}: {first['msg']}", file=str(path), remedy=remedy) from error


def file_of(path: Path, rows: int | None = None) -> File:
    """The entry of a file."""
    with open_regular(path) as opened:
        digest = hashlib.file_digest(opened, "sha256")
    return File(sha256=digest.hexdigest(), bytes=path.stat().st_size, rows=rows)
