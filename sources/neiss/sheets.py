"""The XML of a workbook's sheet and of its shared texts, taken apart as it comes.

openpyxl has a reader of rows too. It ends at the first cell that is no number, widens a row to whatever column a cell
claims, keeps a little of every row (a NEISS workbook has 600,000 formatted empty ones), and is three times slower.

A document type declaration, which no spreadsheet writes and which attacks by XML need, ends the reading.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterator
from typing import IO, Any, Final
from xml.parsers import expat

from hazardmill.ingest.sources import InputRefusal

from .rows import Row, field_count

_ESCAPE: Final = re.compile(r"_x00(09|0A|0D|5F)_", re.IGNORECASE)
_MOST_TEXTS: Final = 256 << 20
"""Maximum memory in bytes of the texts that cells share; one wide letter makes all letters of its text wide."""
_MOST_COLUMNS: Final = 1000
_MOST_ROWS: Final = 1 << 20
_MOST_UNFINISHED: Final = 4 << 20
"""Maximum bytes of one row or one text."""
_CHUNK: Final = 1 << 16
_MEND: Final = "save the workbook again, or give the same year as .tsv"


class Forbidden(Exception):
    """The XML contains something that no spreadsheet writes."""


class TooLarge(Exception):
    """A part of the workbook exceeds its limit."""


class _Reader:
    """Handles the XML of one part.

    Attributes:
        finished: Rows or texts, to be taken away between two chunks.
        count: How many were finished, empty rows among them.
        complete: Whether the rest of the part does not matter.
    """

    def __init__(self) -> None:
        self.finished: deque[Any] = deque()
        self.count = 0
        self.complete = False
        self._inside = False
        self._phonetic = False

    def _begin(self, root: str) -> None:
        """Derive the names of the elements from the root's, which may have a prefix."""
        prefix = root[: root.rfind(":") + 1]
        self._c, self._v, self._t, self._row, self._data, self._item, self._reading = (
            prefix + name for name in ("c", "v", "t", "row", "sheetData", "si", "rPh")
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def _end(self, name: str) -> None:
        raise NotImplementedError

    def _text(self, data: str) -> None:
        raise NotImplementedError


def parsed(stream: IO[bytes], reader: _Reader) -> Iterator[None]:
    """Feed a part to a reader, one chunk per step."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _forbid

    def first(name: str, attributes: dict[str, str]) -> None:
        reader._begin(name)
        parser.StartElementHandler = reader._start
        parser.EndElementHandler = reader._end
        parser.CharacterDataHandler = reader._text

    parser.StartElementHandler = first
    count = unfinished = 0
    while (chunk := stream.read(_CHUNK)) and not reader.complete:
        try:
            parser.Parse(chunk)
        except expat.ExpatError:
            if not reader.complete:
                raise
        unfinished = 0 if reader.count > count else unfinished + len(chunk)
        count = reader.count
        if unfinished > _MOST_UNFINISHED:
            raise TooLarge(f"a row or a text of the workbook exceeds {_MOST_UNFINISHED} bytes")
        yield
    if not reader.complete:
        parser.Parse(b"", True)
        yield


def _forbid(*_: object) -> None:
    raise Forbidden("a document type declaration")


class TextReader(_Reader):
    """The texts that cells share."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._size = 0

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == self._t:
            self._inside = not self._phonetic
        elif name == self._item:
            self._parts = []
        elif name == self._reading:
            self._phonetic = True

    def _text(self, data: str) -> None:
        if self._inside:
            self._parts.append(data)

    def _end(self, name: str) -> None:
        if name == self._t:
            self._inside = False
        elif name == self._reading:
            self._phonetic = False
        elif name == self._item:
            self.count += 1
            text = _unescaped("".join(self._parts))
            self._size += sys.getsizeof(text)
            if self._size > _MOST_TEXTS:
                raise TooLarge(f"the texts of the workbook take more than {_MOST_TEXTS} bytes of memory")
            self.finished.append(text)


class SheetReader(_Reader):
    """Reads the rows of a sheet; empty ones are skipped.

    Attributes:
        texts: The texts that cells share.
        number: Of the row that was read last.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.number = 0
        self._width = 0
        self._cells: dict[int, str] = {}
        self._refusal: InputRefusal | None = None
        self._attributes: dict[str, str] = {}
        self._column = -1
        self._value = ""
        self._columns: dict[str, int] = {}

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == self._c:
            self._attributes = attributes
            self._value = ""
            self._column += 1
        elif name == self._v or name == self._t:
            self._inside = not self._phonetic
        elif name == self._row:
            number = attributes.get("r", "")
            self.number = int(number) if number.isdecimal() and len(number) < 9 else self.number + 1
            self._cells = {}
            self._refusal = None
            self._column = -1
        elif name == self._reading:
            self._phonetic = True

    def _text(self, data: str) -> None:
        if self._inside:
            self._value += data

    def _end(self, name: str) -> None:
        if name == self._v or name == self._t:
            self._inside = False
        elif name == self._c:
            place = self._attributes.get("r")
            if place is not None:
                letters = place.rstrip("0123456789")
                column = self._columns.get(letters)
                self._column = self._new_column(letters) if column is None else column
            if self._value:
                self._cells[self._column] = self._meaning()
        elif name == self._row:
            self._end_row()
        elif name == self._reading:
            self._phonetic = False
        elif name == self._data:
            self.complete = True

    def _meaning(self) -> str:
        kind = self._attributes.get("t", "n")
        value = self._value
        if kind == "n":
            return value if value.isdecimal() else _plain_number(value)
        if kind == "s":
            if value.isdecimal() and len(value) < 9 and int(value) < len(self.texts):
                return self.texts[int(value)]
            self._refuse(f"cell {self._place} refers to text {value[:20]!r} of the workbook, which has none such")
        if kind == "b":
            # As a spreadsheet shows it, so that it is not taken for a code.
            return "FALSE" if value == "0" else "TRUE"
        return _unescaped(value)

    def _new_column(self, letters: str) -> int:
        if not (0 < len(letters) <= 3 and letters.isascii() and letters.isalpha()):
            self._refuse(f"a cell claims the place {self._place!r}")
            return self._column
        column = 0
        for letter in letters.upper():
            column = column * 26 + ord(letter) - ord("A") + 1
        self._columns[letters] = column - 1
        return column - 1

    @property
    def _place(self) -> str:
        return self._attributes.get("r", f"number {self._column + 1}")[:20]

    def _refuse(self, message: str) -> None:
        self._refusal = self._refusal or InputRefusal("cell_error", message, _MEND)

    def _end_row(self) -> None:
        self.count += 1
        if self.count > _MOST_ROWS:
            raise TooLarge(f"the sheet has more than {_MOST_ROWS} rows")
        cells = self._cells
        if not cells and self._refusal is None:
            return
        # The first row is the header. Blank cells at the end of a row are not in the file, so none is too short.
        width = self._width = self._width or max(cells, default=0) + 1
        # Every row is made as wide as the header, which may claim 18,278 columns with a single cell.
        if width > _MOST_COLUMNS:
            raise TooLarge(f"the header of the sheet has {width} columns, more than {_MOST_COLUMNS}")
        refusal = self._refusal
        if refusal is None and max(cells) >= width:
            refusal = field_count(max(cells) + 1, width)
        texts = [] if refusal else [cells.get(place, "") for place in range(width)]
        self.finished.append(Row(self.number, texts, refusal=refusal))


def _plain_number(value: str) -> str:
    """Return a whole number without ``.0`` and exponent: some programs write 201227717 as 2.01227717E8."""
    try:
        number = float(value)
    except ValueError:
        return value
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else value


def _unescaped(text: str) -> str:
    """A text with its line feeds, which workbooks write as ``_x000A_``, and with the underscores kept from being so."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text
