"""Text files as downloads, repositories and exports leave them: read line by line, or whole if small.

Whatever is wrong with a file is an ``InputRefusal``, never an error. A file is read up to the length it had when
opened, and if it changed meanwhile, that is reported at the end.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from hazardmill.files import open_regular
from hazardmill.ingest.sources.files import DOWNLOAD_AGAIN, InputRefusal, refusal_of

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_LINE: Final = 1 << 20
"""Maximum number of bytes of a line, to bound memory. The longest line of the public files has under 100 kB."""

MAX_FILE: Final = 8 << 30
"""Maximum number of bytes of a file of lines, to bound time. All years of NEISS together have under 3 GB."""

_HEAD: Final = 1 << 16
"""Number of bytes at the beginning of a file that show what it is."""

_ZIP: Final = b"PK\x03\x04"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of workbooks up to Excel 97, and of newer ones with a password."""
_WORKBOOKS: Final = frozenset((".xlsx", ".xlsm", ".xls"))
_PACKED: Final = {
    b"\x1f\x8b": "gzip",
    _ZIP: "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
# A comment matches in one way only: a page may begin with many, and backtracking over them would take for ever.
_HTML = re.compile(
    rb"\s*(?:<!--(?:(?!-->).)*-->\s*)*<(!doctype\s+html|html|head|body|\?xml)\b", re.IGNORECASE | re.DOTALL
)


def whole_file_problem(path: Path, *, workbooks: bool = False) -> InputRefusal | None:
    """Return why a file that should be text is not: it is missing, empty, packed, a web page, or UTF-16, for example.

    Args:
        path: The file.
        workbooks: Whether the source reads Excel workbooks itself. Then a file that is one by its name and first bytes
            is accepted.

    Returns:
        The refusal; null if nothing is wrong with the file as a whole.
    """
    try:
        with open_regular(path) as stream:
            size, head = os.fstat(stream.fileno()).st_size, stream.read(_HEAD)
    except OSError as error:
        return refusal_of(path, error)
    if size > MAX_FILE:
        return _too_large(size, MAX_FILE)
    if workbooks and path.suffix.lower() in _WORKBOOKS and head.startswith((_ZIP, _OLE)):
        return None
    return _head_problem(head, path.suffix, workbooks=workbooks)


def _head_problem(head: bytes, suffix: str, *, workbooks: bool = False) -> InputRefusal | None:
    if not head:
        return InputRefusal("empty_file", "the file is empty", DOWNLOAD_AGAIN)
    for magic, kind in _PACKED.items():
        if head.startswith(magic):
            if not workbooks and suffix.lower() == ".xlsx":
                return InputRefusal(
                    "workbook",
                    "the file is an Excel workbook",
                    "save the sheet of data as text, or download the text file",
                )
            return InputRefusal(
                "packed", f"the file is still packed ({kind})", f"unpack it ({kind}) and give the file inside"
            )
    if head.startswith(b"version https://git-lfs"):
        return InputRefusal(
            "lfs_pointer", "the file is a Git LFS pointer, not the data", "run `git lfs pull` in its repository"
        )
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _HTML.match(text):
        return InputRefusal("html_page", "the file is a web page (an error or download page)", DOWNLOAD_AGAIN)
    wide = _wide_encoding(head)
    if wide is not None:
        return InputRefusal("not_text", f"the file is in {wide}", "save it as UTF-8 text")
    return None


def _too_large(size: int, limit: int) -> InputRefusal:
    message = f"the file exceeds {limit} bytes: it has {size}"
    return InputRefusal("too_large", message, "give the file as it was published, or split it")


_MARKS: Final = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def _wide_encoding(head: bytes) -> str | None:
    """Detect UTF-16 or UTF-32 by the byte order mark, or by the pattern of NUL bytes in the whole head."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    # Characters of Latin scripts have one byte first or last, and NUL bytes elsewhere.
    for width, name in ((4, "UTF-32"), (2, "UTF-16")):
        whole = head[: len(head) // width * width]
        for place in (0, width - 1) if len(whole) > width else ():
            letters = whole[place::width]
            if letters.count(0) == 0 and whole.count(0) * 10 >= (len(whole) - len(letters)) * 9:
                return name
    return None


class SourceLine(NamedTuple):
    """One physical line without its end.

    Attributes:
        number: Number of the line, from 1.
        text: The text; empty if it is refused.
        encoding: How the line was decoded.
        refusal: Why the text cannot be used; null if it can.
    """

    number: int
    text: str
    encoding: str = "utf-8"
    refusal: InputRefusal | None = None


def read_lines(path: Path, *, fallback: str | None = None) -> Iterator[SourceLine]:
    r"""Yield the lines of a text file, split at ``\n`` only (a ``\r`` before it is removed).

    If the first line ends in a bare ``\r``, as on old Macintoshes, all three line ends are recognized.

    Lines are decoded one by one: a file in the fallback encoding is plain ASCII nearly everywhere, so the odd lines are
    known. A byte order mark is kept for the source to judge.

    Args:
        path: A file in which ``whole_file_problem`` finds nothing wrong.
        fallback: Encoding for lines that are not UTF-8; null to refuse them.

    Yields:
        The lines. A file that cannot be read, or that changed meanwhile, ends with a refused line.
    """
    number = 0
    try:
        with open_regular(path) as stream:
            before = os.fstat(stream.fileno())
            for number, data in enumerate(_lines(stream, before.st_size), 1):
                if data is None:
                    too_long = InputRefusal("line_too_long", f"the line exceeds {MAX_LINE} bytes", DOWNLOAD_AGAIN)
                    yield SourceLine(number, "", refusal=too_long)
                else:
                    yield _decode(number, data, fallback)
            if _has_changed(before, stream):
                yield SourceLine(number + 1, "", refusal=_CHANGED)
    except OSError as error:
        yield SourceLine(number + 1, "", refusal=refusal_of(path, error))


def _lines(stream: BinaryIO, size: int) -> Iterator[bytes | None]:
    """Yield the lines without their ends; null for a line that is too long, of which only a part is held in memory."""
    bounded = io.BufferedReader(_BoundedReader(stream, size), _HEAD)
    readline: Callable[[int], bytes] = bounded.readline
    if _ends_in_cr(bounded.peek()):
        # Every byte is a character of Latin-1, and is encoded as the same byte again.
        text = io.TextIOWrapper(bounded, encoding="latin-1", newline=None)
        readline = lambda limit: text.readline(limit).encode("latin-1")  # noqa: E731
    while data := readline(MAX_LINE):
        if len(data) == MAX_LINE and not data.endswith(b"\n"):
            while (rest := readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            yield None
        else:
            yield data.removesuffix(b"\n").removesuffix(b"\r")


class _BoundedReader(io.RawIOBase):
    """The first bytes of a stream, so that a file that keeps growing does not keep the reader busy."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self._stream.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)


_CHANGED: Final = InputRefusal(
    "changed", "the file changed while it was read", "read it again once nothing writes to it any more"
)


def _has_changed(before: os.stat_result, stream: BinaryIO) -> bool:
    after = os.fstat(stream.fileno())
    return (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)


def _ends_in_cr(head: bytes) -> bool:
    first = re.search(rb"\r+\n?|\n", head)
    return first is not None and not first[0].endswith(b"\n")


def _decode(number: int, data: bytes, fallback: str | None) -> SourceLine:
    if b"\x00" in data:
        return SourceLine(number, "", refusal=InputRefusal("nul_byte", "the line holds NUL bytes", DOWNLOAD_AGAIN))
    try:
        return SourceLine(number, data.decode())
    except UnicodeDecodeError as error:
        wrong = f"byte 0x{data[error.start]:02x} at position {error.start} is not UTF-8"
    if fallback is not None:
        try:
            return SourceLine(number, data.decode(fallback), fallback)
        except UnicodeDecodeError:
            wrong += f", nor {fallback}"
    return SourceLine(number, "", refusal=InputRefusal("encoding", wrong, "save the file as UTF-8"))


def read_text(path: Path, *, limit: int) -> str | InputRefusal:
    r"""Return the whole text of a small UTF-8 file, or why it cannot be used.

    If the first line ends in a bare ``\r``, all line ends become ``\n``.

    Args:
        path: The file.
        limit: Maximum size in bytes.
    """
    try:
        with open_regular(path) as stream:
            before = os.fstat(stream.fileno())
            if before.st_size > limit:
                return _too_large(before.st_size, limit)
            data = stream.read(before.st_size)
            if _has_changed(before, stream):
                return _CHANGED
    except OSError as error:
        return refusal_of(path, error)
    problem = _head_problem(data[:_HEAD], path.suffix)
    if problem is not None:
        return problem
    if _ends_in_cr(data):
        data = re.sub(rb"\r\n?", b"\n", data)
    line = _decode(1, data, None)
    return line.refusal or line.text
