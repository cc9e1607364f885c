"""What a source is, how sources are found, and what all of them do with bytes.

A source is a folder ``sources/<name>/`` whose ``source.py`` defines ``SOURCE``, an instance of a ``Source``.
Nothing is registered anywhere: dropping in a folder adds a source (docs/adding-a-source.md).

A source never raises over what a file says. A row that cannot be used, and a whole file that cannot (an HTML
page, a missing column), is one ``Reject``, so that the rest of a run goes on. ``SourceError`` is for a path that
holds nothing of the source at all.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Final, NamedTuple

from hazardmill.errors import SourceError
from hazardmill.records import Frozen, Record, Reject, Text
from hazardmill.resources import SOURCES_VARIABLE, sources_folders

MAX_LINE: Final = 1 << 20
"""Bytes a line may have. The longest line of the public files has under 100 kB; the bound keeps memory bounded."""


class Note(Frozen):
    """A remark on a whole file that was read: columns ignored, for instance. No item is lost."""

    source: Text
    file: str
    message: Text


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read: where it lies, and its name within the input, which is what rejects and ids may use."""

    path: Path
    name: str


class Refusal(NamedTuple):
    """Why something cannot be used: a short stable code, a sentence, and what to do."""

    reason: str
    message: str
    remedy: str


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
    folder: ClassVar[Path]
    """The source's own folder: ``Path(__file__).parent``."""

    @property
    def sample(self) -> Path:
        """Folder of sample input in the native format, written for this project."""
        return self.folder / "sample"

    def installed(self) -> Path | None:
        """Input that an installed package brings, found without importing it; null if there is none."""
        return None

    def discover(self, path: Path) -> list[InputFile]:
        """What in a file or folder is input, in the order in which it is read.

        Raises:
            SourceError: There is no such path, or nothing in it belongs to this source.
        """
        if not path.exists():
            raise SourceError("there is no such file or folder", file=str(path), remedy=f"give {self.expects}")
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

    def key(self, record: Record) -> str:
        """What makes two items the same item; by default the id. Where a file gives none, what the item says."""
        return record.native_id

    def essence(self, record: Record) -> str:
        """What two records of one key must share to be repeats of each other; by default, all they say."""
        return record.content_hash

    def reject(
        self, file: InputFile, refusal: Refusal, *, line: int | None = None, native_id: str | None = None
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


# ── discovery ────────────────────────────────────────────────────────────────────────────────────────────────


def list_sources() -> tuple[Source, ...]:
    """All sources, by name.

    Raises:
        SourceError: A source's module does not load, or two folders carry the same name.
    """
    return tuple(_load(folder) for _, folder in sorted(_source_folders().items()))


def load_source(name: str) -> Source:
    """The source of this name.

    Raises:
        SourceError: There is none, or its module does not load.
    """
    folders = _source_folders()
    if name not in folders:
        known = ", ".join(sorted(folders)) or "none"
        raise SourceError(
            f"there is no source {name!r}",
            remedy=f"known sources: {known}; {SOURCES_VARIABLE} adds folders of your own",
        )
    return _load(folders[name])


def _source_folders() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for home in sources_folders():
        for module in sorted(home.glob("*/source.py")):
            folder = module.parent
            if folder.name in found:
                raise SourceError(
                    f"two sources are called {folder.name!r}: {found[folder.name]} and {folder}",
                    file=str(module),
                    remedy="rename one folder and the `name` in its source.py",
                )
            found[folder.name] = folder
    return found


@functools.cache
def _load(folder: Path) -> Source:
    file = folder / "source.py"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", folder.name):
        raise SourceError(
            f"{folder.name!r} cannot be the name of a source",
            file=str(file),
            remedy="use lower-case letters, digits and underscores, beginning with a letter",
        )
    # A package of its own, named after the place, so that source.py can import its neighbours relatively and
    # equal names in different folders never meet in sys.modules.
    package = f"_hazardmill_source_{folder.name}_{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
    root = ModuleType(package)
    root.__path__ = [str(folder)]
    sys.modules[package] = root
    try:
        module = importlib.import_module(f"{package}.source")
    except Exception as error:
        raise SourceError(
            f"the source does not load: {type(error).__name__}: {error}",
            file=str(file),
            remedy="run the module by itself to see the whole traceback",
        ) from error
    source = getattr(module, "SOURCE", None)
    if not isinstance(source, Source) or source.name != folder.name:
        raise SourceError(
            f"the module does not define SOURCE, a Source named {folder.name!r}",
            file=str(file),
            remedy="see docs/adding-a-source.md",
        )
    return source


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────

_ZIP: Final = b"PK\x03\x04"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""What workbooks up to Excel 97 begin with, and newer ones under a password."""
_WORKBOOKS: Final = frozenset((".xlsx", ".xlsm", ".xls"))
_PACKED: Final = {
    b"\x1f\x8b": "gzip",
    _ZIP: "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
# Comments are matched so that a page may begin with many: a comment that could be split otherwise would take for ever.
_HTML = re.compile(
    rb"\s*(?:<!--(?:(?!-->).)*-->\s*)*<(!doctype\s+html|html|head|body|\?xml)\b", re.IGNORECASE | re.DOTALL
)
_DOWNLOAD_AGAIN = "download the file again, from the address in the source's SOURCE.md"


def whole_file_problem(path: Path, *, workbooks: bool = False) -> Refusal | None:
    """Why a file that should be text is none: what downloads and repositories really leave behind.

    Args:
        path: The file.
        workbooks: The source reads Excel workbooks by itself: nothing is said against a file that is one by its name
            and its first bytes.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(2048)
    except FileNotFoundError:
        return Refusal("missing_file", f"there is no {path.name}", _DOWNLOAD_AGAIN)
    except OSError as error:
        return Refusal("unreadable", f"the file cannot be read: {error.strerror}", "check its permissions")
    if not size:
        return Refusal("empty_file", "the file is empty", _DOWNLOAD_AGAIN)
    if workbooks and path.suffix.lower() in _WORKBOOKS and head.startswith((_ZIP, _OLE)):
        return None
    for magic, kind in _PACKED.items():
        if head.startswith(magic):
            if not workbooks and path.suffix.lower() == ".xlsx":
                return Refusal(
                    "workbook",
                    "the file is an Excel workbook",
                    "save the sheet of data as text, or download the text file",
                )
            return Refusal(
                "packed", f"the file is still packed ({kind})", f"unpack it ({kind}) and give what is inside"
            )
    if head.startswith(b"version https://git-lfs"):
        return Refusal(
            "lfs_pointer", "the file is a Git LFS pointer, not the data", "run `git lfs pull` in its repository"
        )
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _HTML.match(text):
        return Refusal("html_page", "the file is a web page (an error or download page)", _DOWNLOAD_AGAIN)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in head:
        return Refusal("not_text", "the file is binary or UTF-16", "save it as UTF-8 text")
    return None


class Line(NamedTuple):
    """One physical line, its end removed. ``refusal`` says why its text cannot be used."""

    number: int
    text: str
    encoding: str = "utf-8"
    refusal: Refusal | None = None


def read_lines(path: Path, *, fallback: str | None = None) -> Iterator[Line]:
    r"""The lines of a text file, split at ``\n`` only (a ``\r`` before it goes).

    Lines are decoded one by one: a file in the fallback encoding is plain ASCII nearly everywhere, and so the
    odd lines are known. A byte order mark is kept, for the source to judge.

    Args:
        path: A file that ``whole_file_problem`` has nothing against.
        fallback: Encoding for lines that are not UTF-8; without it they are refused.
    """
    with path.open("rb") as stream:
        number = 0
        while data := stream.readline(MAX_LINE):
            number += 1
            if len(data) == MAX_LINE and not data.endswith(b"\n"):
                while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield Line(
                    number, "", refusal=Refusal("line_too_long", f"the line exceeds {MAX_LINE} bytes", _DOWNLOAD_AGAIN)
                )
                continue
            yield _decoded(number, data.removesuffix(b"\n").removesuffix(b"\r"), fallback)


def _decoded(number: int, data: bytes, fallback: str | None) -> Line:
    if b"\x00" in data:
        return Line(number, "", refusal=Refusal("nul_byte", "the line holds NUL bytes", _DOWNLOAD_AGAIN))
    try:
        return Line(number, data.decode())
    except UnicodeDecodeError as error:
        wrong = f"byte 0x{data[error.start]:02x} at position {error.start} is not UTF-8"
    if fallback is not None:
        try:
            return Line(number, data.decode(fallback), fallback)
        except UnicodeDecodeError:
            wrong += f", nor {fallback}"
    return Line(number, "", refusal=Refusal("encoding", wrong, "save the file as UTF-8"))


def read_text(path: Path, *, limit: int) -> str | Refusal:
    """The whole of a small UTF-8 file, or why it cannot be used; ``limit`` is in bytes."""
    problem = whole_file_problem(path)
    if problem is not None:
        return problem
    with path.open("rb") as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        return Refusal("too_large", f"the file exceeds {limit} bytes", "give the file as it was published")
    line = _decoded(1, data, None)
    return line.refusal or line.text
