"""Standard output and standard error that fail in words: a full disk or an old encoding brings no traceback."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import sys
from typing import TYPE_CHECKING, Final, TextIO

from hazardmill.errors import StoreError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_UNDECODED: Final = re.compile(r"[\udc80-\udcff]+")
"""Bytes of a file's name that Python could not decode, as it keeps them in a text."""


class _Output(io.FileIO):
    """The descriptor of a stream; after a failure, whatever else is written to it is discarded."""

    def __init__(self, descriptor: int, name: str | None) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._name = name
        self._has_failed = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes, as ``FileIO`` does.

        Returns:
            How many bytes were written, or discarded.

        Raises:
            BrokenPipeError: Nobody reads the stream any more.
            StoreError: It cannot be written; not raised for a stream without a name.
        """
        # What is still in the buffer is written again when Python ends, and must not fail again.
        if not self._has_failed:
            try:
                return super().write(data)
            except BrokenPipeError:
                raise
            except OSError as error:
                self._has_failed = True
                if self._name is not None:
                    raise StoreError(
                        f"{self._name} cannot be written: {error.strerror or error}",
                        remedy="free some space there"
                        if error.errno in (errno.ENOSPC, errno.EDQUOT)
                        else "send it elsewhere",
                    ) from error
        return memoryview(data).nbytes


def guard_streams() -> None:
    """Replace the standard streams of this process by ones that do not end it with a traceback.

    Output that cannot be written is a ``StoreError``; messages that cannot be written to standard error are lost, and
    the exit code stays what it is. Characters that the encoding of a stream lacks are written as escapes, and names of
    files as by ``decode_names``. Streams that somebody else has replaced, such as a test, and those that are closed
    stay as they are.
    """
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        sys.stdout = _guarded(sys.stdout, "standard output")
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        sys.stderr = _guarded(sys.stderr, None)


def _guarded(stream: TextIO, name: str | None) -> TextIO:
    output = _Output(stream.fileno(), name)
    # ASCII is what Python takes the locale C to mean; click writes UTF-8 there, and so does everything else.
    encoding = "utf-8" if codecs.lookup(stream.encoding).name == "ascii" else stream.encoding
    by_line = bool(stream.line_buffering or getattr(stream, "write_through", False) or output.isatty())
    return _Text(io.BufferedWriter(output), encoding, "backslashreplace", line_buffering=by_line)


class _Text(io.TextIOWrapper):
    def write(self, text: str, /) -> int:
        return super().write(decode_names(text))


def decode_names(text: str) -> str:
    r"""Return a text in which names of files that Python took to be ASCII read as they do in UTF-8.

    In the locale C without UTF-8 mode, ``ü`` is ``\udcc3\udcbc`` to Python. Such a name opens the file, but nobody can
    use it once it is printed. In other locales the text is returned as it is, and so are bytes that are not UTF-8.

    Args:
        text: Any text, such as a message with a path in it.
    """
    if text.isascii() or codecs.lookup(sys.getfilesystemencoding()).name != "ascii":
        return text
    return _UNDECODED.sub(lambda found: os.fsencode(found[0]).decode("utf-8", "surrogateescape"), text)


def can_show_all() -> bool:
    """Return whether standard output can show every character, as UTF-8 can."""
    encoding = getattr(sys.stdout, "encoding", None)
    return encoding is None or codecs.lookup(encoding).name.startswith("utf")
