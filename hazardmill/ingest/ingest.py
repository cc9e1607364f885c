"""Ingest: converts native files to records, each id once. It only reads files, and writes nothing."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from hazardmill.errors import UsageError
from hazardmill.ingest.sources import InputFile, InputRefusal, Note, Source
from hazardmill.records import FrozenModel, Record, Reject, Text
from hazardmill.text.suggestions import unknown_name

ANYTHING: Final = "*"
"""The value of a selection that matches every record."""


class Repeat(FrozenModel):
    """An item that occurs again with the same content: counted, but kept once.

    Attributes:
        file: File of the repetition, relative to the input.
        line: Line of the repetition, from 1; null for formats without lines.
        first_file: File of the first occurrence.
        first_line: Line of the first occurrence.
    """

    source: Text
    native_id: Text
    file: str
    line: int | None
    first_file: str
    first_line: int | None


@dataclass
class IngestCounts:
    """Counts over the items read so far; each item is in exactly one of the first five.

    Attributes:
        records: Records yielded.
        rejects: Items that cannot be used.
        repeats: Items seen before with the same content.
        skipped: Records passed over because of ``skip``.
        notes: Remarks on whole files; they are not items.
        files: Files begun.
    """

    records: int = 0
    rejects: int = 0
    repeats: int = 0
    unselected: int = 0
    """Records that do not match ``where``."""
    skipped: int = 0
    notes: int = 0
    warned: int = 0
    """Records with at least one warning."""
    files: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Number of rejects by reason."""

    @property
    def items(self) -> int:
        """Number of native items read."""
        return self.records + self.rejects + self.repeats + self.unselected + self.skipped


class Ingestion:
    """One pass over an input, made by ``ingest``. Iterate it once; ``counts`` grows meanwhile.

    Attributes:
        source: The source that reads the input.
        where: The selection, including the source's default.
        counts: Counts over what was read so far.
    """

    def __init__(
        self, source: Source, path: Path, *, where: Mapping[str, str] | None, limit: int | None, skip: int
    ) -> None:
        if (limit is not None and limit < 1) or skip < 0:
            raise UsageError("limit must be at least 1 and skip at least 0", remedy="omit them to read everything")
        self.where = {**source.default_where, **(where or {})}
        check_selection(source, self.where)
        self.source = source
        self.counts = IngestCounts()
        self._path = path
        self._files = source.discover(path)
        self._limit = limit
        self._skip = skip
        self._seen = _Seen()

    def __iter__(self) -> Iterator[Record | Reject | Repeat | Note]:
        for index, file in enumerate(self._files):
            self.counts.files += 1
            for item in self.source.items(file):
                settled = self._settle(item, index)
                if settled is None:
                    continue
                yield settled
                if self.counts.records == self._limit:
                    return
        if not self.counts.records and self.counts.unselected + self.counts.skipped:
            yield self._count_reject(self._reject_empty())

    def _settle(self, item: Record | Reject | Note, index: int) -> Record | Reject | Repeat | Note | None:
        if isinstance(item, Note):
            self.counts.notes += 1
            return item
        if isinstance(item, Reject):
            return self._count_reject(item)
        # Detect repeats and conflicts before the selection, so that a selection never changes what is rejected.
        first = self._seen.meet(self.source.key(item), self.source.essence(item), index, item.line)
        if first is not None:
            return self._settle_repeat(item, first)
        if not meets(item.facts, self.where):
            self.counts.unselected += 1
            return None
        if self.counts.skipped < self._skip:
            self.counts.skipped += 1
            return None
        self.counts.records += 1
        self.counts.warned += bool(item.warnings)
        return item

    def _settle_repeat(self, item: Record, first: _First) -> Reject | Repeat:
        name = self._files[first.file].name
        if first.same:
            self.counts.repeats += 1
            return Repeat(
                source=item.source,
                native_id=item.native_id,
                file=item.file,
                line=item.line,
                first_file=name,
                first_line=first.line,
            )
        here, there = _place(item.file, item.line), _place(name, first.line)
        refusal = InputRefusal(
            "conflicting_repeat",
            f"{item.native_id} has different content at {here} and at {there}",
            "find out which of the two is right and remove the other; the first one was kept",
        )
        file = InputFile(Path(item.file), item.file)
        return self._count_reject(self.source.reject(file, refusal, line=item.line, native_id=item.native_id))

    def _count_reject(self, reject: Reject) -> Reject:
        self.counts.rejects += 1
        self.counts.reasons[reject.reason] += 1
        return reject

    def _reject_empty(self) -> Reject:
        if self.counts.skipped:
            refusal = InputRefusal(
                "range_beyond_end",
                f"only {self.counts.skipped} records were read, but {self._skip} were to be skipped",
                "skip fewer",
            )
        else:
            selection = ", ".join(f"{key}={value}" for key, value in sorted(self.where.items()))
            refusal = InputRefusal(
                "nothing_selected",
                f"none of {self.counts.unselected} records has {selection}",
                f"change the selection; {ANYTHING} selects everything",
            )
        return self.source.reject(InputFile(self._path, self._path.name), refusal)


def ingest(
    source: Source,
    path: Path,
    *,
    where: Mapping[str, str] | None = None,
    limit: int | None = None,
    skip: int = 0,
) -> Ingestion:
    """Read an input of a source.

    An item with the same key and the same content as an earlier one (by the source's ``key`` and ``essence``) is a
    ``Repeat``. With different content it is a ``Reject`` for ``conflicting_repeat``, and the first one stays. Memory
    holds one hash per key, but no records.

    Args:
        source: The source that reads the input.
        path: A file or folder.
        where: Values that the facts of a record must have, by name: as text; a list must contain it; ``*`` matches
            anything.
        limit: Maximum number of records. Reading ends with the last of them.
        skip: Number of records to pass over first, not counting repeats.

    Returns:
        An iterable of records in file order, with rejects, repeats and notes where they occur.

    Raises:
        SourceError: Nothing at ``path`` is input of the source.
        UsageError: ``where`` names an unknown fact, or ``limit`` or ``skip`` is out of range.
    """
    return Ingestion(source, path, where=where, limit=limit, skip=skip)


@dataclass(frozen=True, slots=True)
class _First:
    """Where a key occurred first, and whether the content was the same there."""

    file: int
    line: int | None
    same: bool


class _Seen:
    """The keys met so far, hashed: a year of NEISS has 400,000, at about 130 bytes each."""

    _LAYOUT = struct.Struct(">8sII")

    def __init__(self) -> None:
        self._places: dict[bytes, bytes] = {}

    def meet(self, key: str, essence: str, file: int, line: int | None) -> _First | None:
        """Note a key; null the first time."""
        packed = self._LAYOUT.pack(_short(essence, 8), file, line or 0)
        known = self._places.setdefault(_short(key, 16), packed)
        if known is packed:
            return None
        first_essence, first_file, first_line = self._LAYOUT.unpack(known)
        return _First(first_file, first_line or None, first_essence == packed[:8])


def _short(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=size).digest()


def check_selection(source: Source, where: Mapping[str, str]) -> None:
    """Refuse a selection by facts that the source's records do not have.

    Args:
        source: The source.
        where: The selection.

    Raises:
        UnknownName: Names the unknown facts.
    """  # noqa: DOC501  # the helper makes an UnknownName
    unknown = sorted(set(where) - set(source.facts))
    if unknown:
        raise unknown_name(
            f"source {source.name} has no fact {', '.join(unknown)} to select by",
            unknown[0],
            source.facts,
            remedy=f"select by its facts: {', '.join(source.facts)}",
        )


def meets(facts: Mapping[str, JsonValue], where: Mapping[str, str]) -> bool:
    """Return whether a record with these facts matches a selection.

    Args:
        facts: The facts of a record.
        where: Values that facts must have, by name.
    """
    return all(_has(facts.get(key), value) for key, value in where.items())


def _has(fact: JsonValue, value: str) -> bool:
    if value == ANYTHING:
        return True
    return any(_as_text(part) == value for part in (fact if isinstance(fact, list) else [fact]))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _place(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"
