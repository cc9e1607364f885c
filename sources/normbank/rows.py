"""The rows of a comma-separated file, each with its line and none swallowed by its neighbour."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from hazardmill.ingest.sources import InputRefusal, SourceLine

MOST_LINES: Final = 20
"""Maximum number of further lines of a quoted cell before its closing quote counts as missing."""

_MEND_QUOTES: Final = 'quote a cell as a whole, close it with a quotation mark, and double those inside it ("")'
_FORGOTTEN_QUOTE: Final = InputRefusal(
    "unterminated_quote",
    "a quotation mark opens a cell and is never closed; the rows after it are read on their own",
    _MEND_QUOTES,
)


def read_rows(
    lines: Iterable[SourceLine], is_row: Callable[[list[str]], bool]
) -> Iterator[tuple[int, list[str] | InputRefusal]]:
    """Yield the rows in the lines: number of the first line, and the cells or why they cannot be read.

    Lines of blanks between rows are passed over, as pandas does.

    Args:
        lines: What follows the header.
        is_row: Whether cells are beyond doubt a row of their own. Such a line never belongs to a quoted cell that
            was opened before it.
    """
    source = iter(lines)
    ahead: deque[SourceLine] = deque()
    while (line := ahead.popleft() if ahead else next(source, None)) is not None:
        number, text, _, refusal = line
        if refusal is not None:
            yield number, refusal
            continue
        # Nearly every line has neither, and then cutting at commas is what a CSV reader would do, several times faster.
        if '"' not in text and "\r" not in text:
            cells = text.split(",")
            if len(cells) > 1 or text.strip():
                yield number, cells
        elif text.strip():
            yield number, _quoted(text, source, ahead, is_row)


def cut(text: str) -> list[str] | None:
    """Return the cells in a text; null if a quoted cell continues after it.

    Raises:
        csv.Error: Something other than a comma follows a closing quotation mark, or a cell exceeds csv's limit.
    """
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            return None
        raise


def _quoted(
    text: str, source: Iterator[SourceLine], ahead: deque[SourceLine], is_row: Callable[[list[str]], bool]
) -> list[str] | InputRefusal:
    try:
        cells = cut(text)
    except csv.Error as error:
        return InputRefusal("quoting", f"the row is not valid CSV: {error}", _MEND_QUOTES)
    return cells or _continued(text, source, ahead, is_row) or _FORGOTTEN_QUOTE


def _continued(
    text: str, source: Iterator[SourceLine], ahead: deque[SourceLine], is_row: Callable[[list[str]], bool]
) -> list[str] | None:
    """Return the cells of a row over several lines; null, consuming no line, if its quote never closes."""
    for taken in range(MOST_LINES):
        if taken == len(ahead):
            following = next(source, None)
            if following is None:
                return None
            ahead.append(following)
        if ahead[taken].refusal is not None:
            return None
        if _stands_alone(ahead[taken].text, is_row):
            return None
        text = f"{text}\n{ahead[taken].text}"
        try:
            cells = cut(text)
        except csv.Error:
            return None
        if cells is not None:
            for _ in range(taken + 1):
                ahead.popleft()
            return cells
    return None


def _stands_alone(text: str, is_row: Callable[[list[str]], bool]) -> bool:
    # A line that closes a cell opened before it has an odd number of quotation marks, since those inside are doubled.
    try:
        return text.count('"') % 2 == 0 and is_row(cut(text) or [])
    except csv.Error:
        return False
