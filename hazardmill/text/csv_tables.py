"""Tables as CSV for people with spreadsheets: no cell is taken for a formula, and what comes back is read strictly."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters that a spreadsheet takes for a formula, and the apostrophe that is put before them."""


def write_csv(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as CSV with a header.

    Cells that a spreadsheet could take for a formula begin with an apostrophe, which ``read_csv`` removes. Lines end in
    CR LF.

    Args:
        columns: The header.
        rows: The cells of each row.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row] for row in rows)
    return text.getvalue()


def read_csv(
    path: Path, data: bytes, columns: Sequence[str], remedy: str
) -> Iterator[tuple[int, dict[str, str] | InputError]]:
    """Read the rows of a table.

    Args:
        path: The file, for messages.
        data: What it holds.
        columns: The header that it must have.
        remedy: What to do about a row or header that is wrong.

    Yields:
        The line of each row, from 1, with its cells by column; an error for a row that is wrong.

    Raises:
        InputError: The file is not UTF-8, or has another header.
    """
    try:
        # Spreadsheets put a byte order mark before UTF-8.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"the file is not text in UTF-8: {error}", file=str(path), remedy="save it as CSV in UTF-8"
        ) from error
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        header = next(rows, [])
        if tuple(header) != tuple(columns):
            raise InputError(f"the columns are not {', '.join(columns)}", file=str(path), line=1, remedy=remedy)
        line = rows.line_num + 1
        for cells in rows:
            if cells:
                yield line, _by_column(cells, columns, remedy)
            line = rows.line_num + 1
    except csv.Error as error:
        yield line, InputError(f"the file is not CSV from here on: {error}", remedy=remedy)


def _by_column(cells: Sequence[str], columns: Sequence[str], remedy: str) -> dict[str, str] | InputError:
    if len(cells) != len(columns):
        return InputError(f"the row has {len(cells)} cells instead of {len(columns)}", remedy=remedy)
    return {name: cell.removeprefix("'") for name, cell in zip(columns, cells, strict=True)}
