"""What a source is: what it says of itself, where its input lies, and how that is read.

A source never raises over what a file says. A row that cannot be used, and a whole file that cannot (an HTML
page, a missing column), is one ``Reject``, so that the rest of a run goes on. ``SourceError`` is for a path that
holds nothing of the source at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from pydantic import JsonValue

from hazardmill.errors import SourceError
from hazardmill.files import FileKind, kind_of
from hazardmill.ingest.sources.files import InputFile, InputRefusal, refusal_of
from hazardmill.ingest.sources.streams import is_stream
from hazardmill.records import FrozenModel, Record, Reject, Text

MOST_CHARACTERS: Final = 100_000
"""Characters that a record may have. The longest record of the public files has under 10,000."""


class Note(FrozenModel):
    """A remark on a whole file that was read: columns ignored, for instance. No item is lost."""

    source: Text
    file: str
    message: Text


class Source(ABC):
    """A kind of public record and how it is read. Subclasses set the class variables and define two methods."""

    name: ClassVar[str]
    """Name of the folder, and first part of every record id."""
    title: ClassVar[str]
    licence: ClassVar[str]
    """SPDX identifier where there is one; travels with every record."""
    attribution: ClassVar[str]
    """Credit line; travels with every record."""
    address: ClassVar[str]
    """Where the public files are to be had."""
    description: ClassVar[str]
    expects: ClassVar[str]
    """What input looks like, to end the sentence "give ..." in errors."""
    facts: ClassVar[tuple[str, ...]]
    """The keys of every record's ``facts``; these are what ``where`` can select by."""
    withheld: ClassVar[tuple[str, ...]] = ()
    """Names of native fields that reach neither context nor facts."""
    default_where: ClassVar[Mapping[str, str]] = {}
    """Selection used unless the caller gives another (``*`` selects everything)."""
    most_characters: ClassVar[int] = MOST_CHARACTERS
    """Characters that a record's id, context, facts and warnings may have together."""
    folder: ClassVar[Path]
    """The source's own folder: ``Path(__file__).parent``."""

    @property
    def sample(self) -> Path:
        """Folder of sample input in the native format, written for this project."""
        return self.folder / "sample"

    def find_installed(self) -> Path | None:
        """Input that an installed package brings, found without importing it; null if there is none."""
        return None

    def discover(self, path: Path) -> list[InputFile]:
        """What in a file or folder is input, in the order in which it is read.

        Raises:
            SourceError: There is no such path, or nothing in it belongs to this source.
        """
        problem = self._path_problem(path)
        if problem is not None:
            raise SourceError(problem[0], file=str(path), remedy=problem[1])
        found = self.find(path)
        if not found:
            raise SourceError(
                f"nothing here is input of source {self.name}", file=str(path), remedy=f"give {self.expects}"
            )
        return found

    @abstractmethod
    def find(self, path: Path) -> list[InputFile]:
        """The input in an existing file or folder; empty if there is none. May name files that turn out missing."""

    @abstractmethod
    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """Everything in one file, in file order, streaming: memory does not grow with the file."""

    def items(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """Everything in one file as ``read`` gives it, within the bounds that all sources share.

        A file that was refused when it was found is not opened. A record that is too long for a prompt and for
        everybody who is to read it is refused, whatever its source makes of it.
        """
        if file.refusal is not None:
            yield self.reject(file, file.refusal)
            return
        try:
            for item in self.read(file):
                yield self._within_bounds(file, item)
        except OSError as error:
            yield self.reject(file, refusal_of(file.path, error))

    def key(self, record: Record) -> str:
        """What makes two items the same item; by default the id. Where a file gives none, what the item says."""
        return record.native_id

    def essence(self, record: Record) -> str:
        """What two records of one key must share to be repeats of each other; by default, all they say."""
        return record.content_hash

    def reject(
        self, file: InputFile, refusal: InputRefusal, *, line: int | None = None, native_id: str | None = None
    ) -> Reject:
        """A reject of this source; ``line`` is null where the whole file is refused."""
        return Reject(
            source=self.name,
            file=file.name,
            line=line,
            native_id=native_id,
            reason=refusal.reason,
            message=refusal.message,
            remedy=refusal.remedy,
        )

    def _path_problem(self, path: Path) -> tuple[str, str] | None:
        """Why nothing can be looked for at a path, and what to do; null if something can."""
        kind = kind_of(path)
        if kind is FileKind.MISSING and not is_stream(path):
            return "there is no such file or folder", f"give {self.expects}"
        if kind in (FileKind.REGULAR, FileKind.FOLDER) and not is_stream(path):
            name = str(path.resolve())
            readable = name == name.encode("utf-8", "replace").decode("utf-8")
            return None if readable else ("the name of the path is not UTF-8", "rename the file or folder")
        if is_stream(path):
            return "a stream cannot be read here", "read it into the store with: hazardmill ingest --source NAME -"
        return f"it is {kind}, not a file or folder", f"give {self.expects}"

    def _within_bounds(self, file: InputFile, item: Record | Reject | Note) -> Record | Reject | Note:
        if not isinstance(item, Record):
            return item
        characters = _characters([item.native_id, item.context, item.facts, [*item.warnings]])
        if characters <= self.most_characters:
            return item
        refusal = InputRefusal(
            "record_too_long",
            f"the record has {characters} characters, more than {self.most_characters}",
            "shorten what it says, or divide it into several records",
        )
        return self.reject(file, refusal, line=item.line, native_id=item.native_id[:_LONGEST_ID])


_LONGEST_ID: Final = 255
"""Characters of an id that a reject names."""


def _characters(value: JsonValue) -> int:
    """The characters of all texts in a value. Anything that is no text counts as one, and so does each entry."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return len(value) + sum(map(_characters, value))
    if isinstance(value, dict):
        return sum(len(name) + _characters(part) for name, part in value.items())
    return 1
