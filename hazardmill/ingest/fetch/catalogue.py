"""The files that a source's SOURCE.md offers: the section ``## Files``, read by people and by ``fetch``.

The section holds one fenced ``toml`` block (docs/adding-a-source.md)::

    [[files]]
    name = "neiss{year}.tsv"
    address = "https://example.org/{year}/neiss{year}.tsv"
    years = [2018, 2019]
    terms = "Public domain."

Values that the publisher does not give (size, sha256) are left out, and are then unknown.
"""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from hazardmill.errors import SourceError, UsageError
from hazardmill.ingest.sources import Source
from hazardmill.records import FrozenModel, Text

_SECTION: Final = re.compile(r"^## Files[ \t]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK: Final = re.compile(r"^```toml[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_YEAR: Final = "{year}"

# The name becomes a file in a user's folder: no separators, nothing hidden.
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]
# Addresses are shown and stored, so they must not contain a user name or password.
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/?#@]+/\S+$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class PublishedFile(FrozenModel):
    """One file as its publisher serves it.

    Attributes:
        name: Name of the local file.
        address: http or https address.
        terms: Licence or terms of use.
        size: Size in bytes; null if not published.
        sha256: SHA-256 (hex); null if not published.
    """

    name: FileName
    address: Address
    terms: Text
    size: Annotated[int, Field(gt=0)] | None = None
    sha256: Sha256 | None = None
    unpack: Text | None = None
    """The command that unpacks it; null if it is not packed."""


class _Entry(FrozenModel):
    """A ``[[files]]`` table: one file, or with ``years`` one file per year."""

    name: Text
    address: Text
    terms: Text
    size: int | None = None
    sha256: str | None = None
    unpack: Text | None = None
    years: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if self.years and (self.size is not None or self.sha256 is not None):
            raise ValueError("size and sha256 describe a single file: give that file its own entry, without years")
        if self.years and not (_YEAR in self.name and _YEAR in self.address):
            raise ValueError(f"an entry with years needs a name and an address that contain {_YEAR}")
        return self

    def files(self) -> list[PublishedFile]:
        fields = self.model_dump(exclude={"years", "name", "address"})
        return [
            PublishedFile(name=self.name.replace(_YEAR, year), address=self.address.replace(_YEAR, year), **fields)
            for year in (map(str, self.years) if self.years else [_YEAR])
        ]


class _Block(FrozenModel):
    files: tuple[_Entry, ...] = ()
    otherwise: Text | None = None


class PublishedFiles(FrozenModel):
    """The files that can be fetched, and how else to get the data.

    Attributes:
        otherwise: How to get the data without ``fetch``; always given if there are no files.
    """

    files: tuple[PublishedFile, ...] = ()
    otherwise: Text | None = None


def read_catalogue(source: Source) -> PublishedFiles | None:
    """Read the files that the source's SOURCE.md offers.

    Args:
        source: The source.

    Returns:
        The files; null if SOURCE.md is missing or has no section ``## Files``.

    Raises:
        SourceError: The section is malformed.
    """
    page = source.folder / "SOURCE.md"
    try:
        text = page.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"the page cannot be read: {error}", file=str(page), remedy="save it as UTF-8") from error
    section = _SECTION.search(text.replace("\r\n", "\n"))
    return None if section is None else _read(section[1], page)


def _read(section: str, page: Path) -> PublishedFiles:
    blocks = _BLOCK.findall(section)
    if len(blocks) != 1:
        raise _wrong(page, f"it holds {len(blocks)} fenced toml blocks, not one")
    try:
        block = _Block.model_validate_json(json.dumps(tomllib.loads(blocks[0]), default=str), strict=True)
        files = tuple(file for entry in block.files for file in entry.files())
    except tomllib.TOMLDecodeError as error:
        raise _wrong(page, f"its block is not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _wrong(page, f"{'.'.join(map(str, first['loc'])) or 'an entry'}: {first['msg']}") from error
    names = [file.name for file in files]
    # Next to NAME, a download keeps NAME.part and NAME.bad; some file systems ignore case.
    if len({name.lower() for name in names}) != len(names):
        raise _wrong(page, "two files have the same name")
    if unfit := next((name for name in names if name.lower().endswith((".part", ".bad"))), None):
        raise _wrong(page, f"{unfit} ends like the name of an unfinished download")
    if not files and block.otherwise is None:
        raise _wrong(page, "it lists no file, and does not say in `otherwise` how else to get the data")
    return PublishedFiles(files=files, otherwise=block.otherwise)


def _wrong(page: Path, what: str) -> SourceError:
    return SourceError(f"the section Files is wrong: {what}", file=str(page), remedy="see docs/adding-a-source.md")


def choose(source: Source, patterns: tuple[str, ...]) -> tuple[PublishedFile, ...]:
    """Return the files to fetch: those whose name matches or contains one of the patterns.

    Args:
        source: The source.
        patterns: Shell patterns or parts of names; empty if the source has only one file.

    Raises:
        UsageError: Nothing can be fetched, a pattern matches nothing, or there are several files and no pattern.
        SourceError: SOURCE.md is malformed.
    """
    offer = read_catalogue(source)
    if offer is None:
        raise UsageError(
            f"SOURCE.md of source {source.name} lists no files to fetch",
            remedy=f"get the data from {source.address} by hand, or add a section Files (docs/adding-a-source.md)",
        )
    if not offer.files:
        raise UsageError(f"source {source.name} has no file to fetch", remedy=offer.otherwise)
    names = [file.name for file in offer.files]
    if not patterns:
        if len(names) > 1:
            raise UsageError(
                f"source {source.name} has {len(names)} files: {names[0]} to {names[-1]}",
                remedy="choose with --file, by a part of the name or a pattern; --file '*' fetches all",
            )
        return offer.files
    wanted: set[str] = set()
    for pattern in patterns:
        matching = {name for name in names if pattern in name or fnmatch.fnmatchcase(name, pattern)}
        if not matching:
            raise UsageError(
                f"no file of source {source.name} matches {pattern!r}",
                remedy=f"choose from its files: {', '.join(names)}",
            )
        wanted |= matching
    return tuple(file for file in offer.files if file.name in wanted)
