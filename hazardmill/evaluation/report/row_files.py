"""Read rows of one kind, and their summaries, from several folders of results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pydantic import ConfigDict, ValidationError

from hazardmill.errors import InputError
from hazardmill.evaluation.results_files import SUMMARY
from hazardmill.evaluation.rows_file import RowsFile
from hazardmill.files import read_regular
from hazardmill.records import FrozenModel, Text


class RowsSummary(FrozenModel):
    """What the report needs from the summary of a run of one kind; other fields are ignored.

    Attributes:
        run: Name of the run.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    run: Text


Summary = TypeVar("Summary", bound=RowsSummary)


def read_row_files(
    folders: Iterable[Path], rows: RowsFile, summary: type[Summary], own_field: str
) -> tuple[pa.Table, list[Summary]]:
    """Read rows and summaries of one kind from all folders that have any.

    Args:
        folders: Folders of results; those without the file of rows are skipped.
        rows: The file of rows.
        summary: The model of a summary.
        own_field: A field that only summaries of this kind have; that of another evaluation may be in the same folder.

    Returns:
        All rows in one order, whatever that of the folders, and the summaries.

    Raises:
        InputError: A file cannot be read or is malformed, rows and summary are of different runs, or a run is in two
            folders.
    """
    tables: list[pa.Table] = []
    summaries: list[Summary] = []
    places: dict[str, Path] = {}
    for folder in folders:
        file = folder / rows.name
        if not file.is_file():
            continue
        table = rows.read(folder)
        runs = set(table["run"].unique().to_pylist())
        said = _read_summary(folder / SUMMARY, rows.command, summary, own_field)
        if said is not None:
            if runs and said.run not in runs:
                raise InputError(
                    f"this is the summary of run {said.run}, but {rows.name} beside it belongs to run {min(runs)}",
                    file=str(folder / SUMMARY),
                    remedy=f"run `{rows.command}` again: it writes both files",
                )
            runs.add(said.run)
            summaries.append(said)
        for run in sorted(runs):
            if run in places:
                raise InputError(
                    f"run {run} is also in {places[run]}", file=str(file), remedy="name each evaluation once"
                )
            places[run] = file
        tables.append(table)
    whole = pa.concat_tables(tables) if tables else rows.schema.empty_table()
    # Sums of floats depend on the order.
    return whole.sort_by([(name, "ascending") for name in rows.key]), summaries


def _read_summary(file: Path, command: str, summary: type[Summary], own_field: str) -> Summary | None:
    if not file.is_file():
        return None
    try:
        said: Any = json.loads(read_regular(file))
        return summary.model_validate(said) if own_field in said else None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (OSError, ValueError, TypeError, RecursionError) as error:
        wrong = repr(error)
    raise InputError(
        f"this is not a valid summary of `{command}`: {wrong}",
        file=str(file),
        remedy=f"run `{command}` again: it writes this file next to the rows",
    )
