"""The interface of a source: what it says about itself, where its input is, and how that is read.

A source never raises because of a file's content. A row that cannot be used, or a whole file that cannot (an HTML page,
a missing column), becomes one ``Reject``, so that the run continues. ``SourceError`` is for a path that holds nothing
of the source at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from pydantic import JsonValue

from hazardmill.errors import SourceError
from hazardmill.files import FileKind, encoding_remedy, is_utf8_path, kind_of
from hazardmill.ingest.sources.files import InputFile, InputRefusal, refusal_of
from hazardmill.ingest.sources.streams import is_stream
from hazardmill.records import FrozenModel, Record, Reject, Text

MOST_CHARACTERS: Final = 100_000
"""Maximum number of characters of a record. The longest record of the public files has under 10,000."""


class Note(FrozenModel):
    """A remark on a whole file that was read, for example about ignored columns. No item is lost."""

    source: Text
    file: str
    message: Text


class Source(ABC):
    """A kind of public record, and how it is read.

    Subclasses set the class variables and define ``find`` and ``read``. See docs/adding-a-source.md.

    Attributes:
        title: Full name of the data set.
        description: What the records are, in a sentence or two.
    """

    name: ClassVar[str]
    """Name of the folder, and first part of every record id."""
    title: ClassVar[str]
    licence: ClassVar[str]
    """SPDX identifier if there is one; stored with every record."""
    attribution: ClassVar[str]
    """Credit line; stored with every record."""
    address: ClassVar[str]
    """Where the public files can be obtained."""
    description: ClassVar[str]
    expects: ClassVar[str]
    """What input looks like, to complete the sentence "give ..." in errors."""
    facts: ClassVar[tuple[str, ...]]
    """The keys of every record's ``facts``; ``where`` can select by these."""
    withheld: ClassVar[tuple[str, ...]] = ()
    """Names of native fields that go into neither context nor facts."""
    default_where: ClassVar[Mapping[str, str]] = {}
    """Selection used unless the caller gives another (``*`` selects everything)."""
    most_characters: ClassVar[int] = MOST_CHARACTERS
    """Maximum number of characters of a record's id, context, facts and warnings together."""
    folder: ClassVar[Path]
    """The source's own folder: ``Path(__file__).parent``."""

    @property
    def sample(self) -> Path:
        """Folder of sample input in the native format, written for this project."""
        return self.folder / "sample"

    def find_installed(self) -> Path | None:
        """Return input shipped by an installed package, found without importing it; null if there is none."""
        return None

    def discover(self, path: Path) -> list[InputFile]:
        """Return the input in a file or folder, in reading order.

        Raises:
            SourceError: There is no such path, or nothing in it belongs to this source.
        """
        problem = self._path_problem(path)
        if problem is not None:
            raise SourceError(problem[0], file=str(path), remedy=problem[1])
        found = self.find(path)
        if not found:
            raise SourceError(
                f"nothing here is input for source {self.name}", file=str(path), remedy=f"give {self.expects}"
            )
        return found

    @abstractmethod
    def find(self, path: Path) -> list[InputFile]:
        """Find the input in an existing file or folder; empty if there is none.

        May name files that turn out to be missing.
        """

    @abstractmethod
    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """Yield everything in one file, in file order. It streams: memory does not grow with the file."""

    def read_from(self, file: InputFile, line: int) -> Iterator[Record | Reject | Note]:
        """Yield what ``read`` yields, without the items of earlier lines where leaving them out saves time.

        One record is looked up again in this way. By default nothing is left out.

        Args:
            file: The file.
            line: The first line whose item is needed, from 1.

        Returns:
            The items, in file order.
        """
        return self.read(file)

    def items(self, file: InputFile, line: int | None = None) -> Iterator[Record | Reject | Note]:
        """Yield everything in one file as ``read`` gives it, within the bounds that all sources share.

        A file that was refused when it was found is not opened. A record that is too long for a prompt and its readers
        is rejected, whatever its source makes of it.

        Args:
            file: The file.
            line: The first line whose item is needed, from 1; those of earlier lines may be left out. All by default.
        """
        if file.refusal is not None:
            yield self.reject(file, file.refusal)
            return
        try:
            for item in self.read(file) if line is None else self.read_from(file, line):
                yield self._within_bounds(file, item)
        except OSError as error:
            yield self.reject(file, refusal_of(file.path, error))

    def key(self, record: Record) -> str:
        """Return what identifies an item: by default the id. If the files give no ids, derive it from the content."""
        return record.native_id

    def essence(self, record: Record) -> str:
        """Return what two records with the same key must share to be repeats: by default, all of their content."""
        return record.content_hash

    def reject(
        self, file: InputFile, refusal: InputRefusal, *, line: int | None = None, native_id: str | None = None
    ) -> Reject:
        """Return a reject of this source.

        Args:
            file: The file.
            refusal: Why the item or file cannot be used.
            line: Line of the item, from 1; null if the whole file is refused.
            native_id: Id of the item; null if unknown.
        """
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
        """Why a path cannot be searched, and what to do; null if it can."""
        kind = kind_of(path)
        if kind is FileKind.MISSING and not is_stream(path):
            return "there is no such file or folder", f"give {self.expects}"
        if kind in (FileKind.REGULAR, FileKind.FOLDER) and not is_stream(path):
            return None if is_utf8_path(path.resolve()) else ("the path cannot be read as UTF-8", encoding_remedy())
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
            "shorten its text, or split it into several records",
        )
        return self.reject(file, refusal, line=item.line, native_id=item.native_id[:_LONGEST_ID])


_LONGEST_ID: Final = 255
"""Maximum number of characters of an id in a reject."""


def _characters(value: JsonValue) -> int:
    """Count the characters of all texts in a value. Each entry and each other value counts as one."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return len(value) + sum(map(_characters, value))
    if isinstance(value, dict):
        return sum(len(name) + _characters(part) for name, part in value.items())
    return 1
