"""The rows of a NEISS file, none padded and none swallowed by its neighbour."""

from __future__ import annotations

import csv
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hazardmill.ingest.sources import InputRefusal, SourceLine

_MOST_LINES: Final = 5
"""Maximum number of lines of a quoted narrative before its closing quote counts as missing."""
_NO_TEXT: Final = "\t ,\r\x1a"


class Row(NamedTuple):
    """One row: its cells, or why they cannot be read."""

    line: int
    cells: list[str]
    encoding: str = "utf-8"
    refusal: InputRefusal | None = None


class SkippableRows(Iterator[Row]):
    """The rows after the header; blank lines are skipped."""

    def __init__(self, lines: Iterator[SourceLine], separator: str, width: int) -> None:
        self._lines, self._tabs, self._width = lines, separator == "\t", width
        taken = self._taken()
        self._rows = _tab_rows(taken, width) if self._tabs else _comma_rows(filter(_says_something, taken), width)
        self._line = 0
        """The last line that was taken: to judge a short row, those after it are looked at."""

    def __next__(self) -> Row:
        return next(self._rows)

    def skip_to(self, line: int) -> None:
        """Leave rows before a line out where none can reach over several lines, which is so between tabs.

        A few rows before the line are kept, by which the line may have to be judged.
        """
        first = line - _MOST_LINES
        if self._tabs and first > self._line:
            self._rows = _tab_rows(itertools.dropwhile(lambda each: each.number < first, self._lines), self._width)

    def _taken(self) -> Iterator[SourceLine]:
        for line in self._lines:
            self._line = line.number
            yield line


def _says_something(line: SourceLine) -> bool:
    return line.refusal is not None or bool(line.text.strip(_NO_TEXT))


# ── tabs: a quotation mark is a letter like any other ────────────────────────────────────────────────────────


def _tab_rows(lines: Iterable[SourceLine], width: int) -> Iterator[Row]:
    short: SourceLine | None = None
    for line in lines:
        text = line.text
        cells = text.split("\t")
        # Nearly every row: asking this first spares it the questions below.
        if len(cells) == width and short is None and line.refusal is None and text[0] not in _NO_TEXT:
            yield Row(line.number, cells, line.encoding)
            continue
        if not _says_something(line):
            continue
        if short is not None:
            if _completes(short, line, width):
                yield _refused(short, _split_record(short, line, width, "the rest of it is on the next line"))
                yield _refused(line, _split_record(short, line, width, "this line is the rest of it"))
                short = None
                continue
            yield _refused(short, field_count(short.text.count("\t") + 1, width))
            short = None
        if line.refusal is not None:
            yield _refused(line, line.refusal)
        elif len(cells) < width:
            short = line
        elif len(cells) > width:
            yield _refused(line, field_count(len(cells), width))
        else:
            yield Row(line.number, cells, line.encoding)
    if short is not None:
        yield _refused(short, field_count(short.text.count("\t") + 1, width))


def _completes(short: SourceLine, line: SourceLine, width: int) -> bool:
    first, second = short.text.count("\t"), line.text.count("\t")
    # Neither half is a row by itself: a remark before a good row does not make one record of the two.
    in_two = first + second + 1 == width and 0 < first < width - 1
    return in_two and line.refusal is None and line.number == short.number + 1


def _split_record(short: SourceLine, line: SourceLine, width: int, which: str) -> InputRefusal:
    first, second = short.text.count("\t") + 1, line.text.count("\t") + 1
    return InputRefusal(
        "split_record",
        f"a newline inside the narrative split a record of {width} fields into {first} on line {short.number} "
        f"and {second} on line {line.number}; {which}",
        "join the two lines with a blank",
    )


# ── commas: quoted cells, each line parsed by itself first ───────────────────────────────────────────────────


def _comma_rows(lines: Iterable[SourceLine], width: int) -> Iterator[Row]:
    source = iter(lines)
    ahead: deque[SourceLine] = deque()
    while (line := ahead.popleft() if ahead else next(source, None)) is not None:
        if line.refusal is not None:
            yield _refused(line, line.refusal)
            continue
        try:
            cells = _cells(line.text) or _continued(line, source, ahead, width)
        except csv.Error as error:
            yield _refused(line, InputRefusal("quoting", f"the row is not valid CSV: {error}", _FORGOTTEN_QUOTE.remedy))
            continue
        if cells is None:
            yield _refused(line, _FORGOTTEN_QUOTE)
        elif len(cells) == width:
            yield Row(line.number, cells, line.encoding)
        else:
            yield _refused(line, field_count(len(cells), width))


def _continued(
    line: SourceLine, source: Iterator[SourceLine], ahead: deque[SourceLine], width: int
) -> list[str] | None:
    """Return the cells of a row over several lines; null, consuming nothing, if its quote never closes."""
    text = line.text
    for taken in range(_MOST_LINES):
        if taken == len(ahead):
            following = next(source, None)
            if following is None:
                return None
            ahead.append(following)
        if ahead[taken].refusal is not None or _is_row(ahead[taken].text, width):
            return None
        text = f"{text}\n{ahead[taken].text}"
        cells = _cells(text)
        if cells is not None:
            for _ in range(taken + 1):
                ahead.popleft()
            return cells
    return None


def _is_row(text: str, width: int) -> bool:
    try:
        return len(_cells(text) or ()) == width
    except csv.Error:
        return False


def _cells(text: str) -> list[str] | None:
    """Return the cells in a text; null if a quoted cell continues after it."""
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            return None
        raise


_FORGOTTEN_QUOTE: Final = InputRefusal(
    "unterminated_quote",
    "a quotation mark opens a cell and is never closed; the rows after it are read on their own",
    'close the cell with a quotation mark, and double those inside it ("")',
)


def field_count(fields: int, width: int) -> InputRefusal:
    """Return the refusal of a row whose number of fields differs from the header's ``width``."""
    return InputRefusal(
        "field_count",
        f"the row has {fields} fields, the header {width}",
        "mend the row: a missing or surplus separator, or a newline inside a narrative",
    )


def _refused(line: SourceLine, refusal: InputRefusal) -> Row:
    return Row(line.number, [], line.encoding, refusal)
