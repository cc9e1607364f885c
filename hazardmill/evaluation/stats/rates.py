"""Read the rates of models from a CSV table: one line per model, rates in per cent."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.records import FrozenModel

METRICS: Final = ("feasibility", "safety", "safety_intention", "safety_precision")
"""The rates of a model. Safety precision is the share of safe plans among feasible ones."""
MODEL: Final = "model"
PARAMETERS: Final = "total_params_b"
_NEEDED: Final = (MODEL, "feasibility", "safety", "safety_intention")
_PUBLISHED_TO_TENTHS: Final = 0.11
"""Rates rounded to a tenth may seem to break a law by up to this many points."""


class ModelRates(FrozenModel):
    """The rates of one model in per cent; None where they are unknown.

    Attributes:
        model: Name of the model.
        parameters_b: Total parameters in billions.
        feasibility: Share of feasible plans, per cent.
        safety: Share of safe plans, per cent.
        safety_intention: Share of plans with safety intention, per cent.
        safety_precision: Share of safe plans among feasible ones, per cent.
    """

    model: str
    parameters_b: float | None
    feasibility: float | None
    safety: float | None
    safety_intention: float | None
    safety_precision: float | None

    def rate(self, metric: str) -> float | None:
        """Return the rate with a name of ``METRICS``."""
        value = getattr(self, metric)
        assert value is None or isinstance(value, float)
        return value


def read_rates(file: Path) -> tuple[list[ModelRates], list[str]]:
    """Read the models of a CSV table, and note what is unusual about the table.

    The table needs the columns ``model``, ``feasibility``, ``safety`` and ``safety_intention``; ``total_params_b`` and
    ``safety_precision`` are optional. An empty cell means unknown.

    Args:
        file: The table, UTF-8 with commas.

    Returns:
        The models in the order of the table, and the notes in words.

    Raises:
        InputError: The table cannot be read, or breaks these rules; the error names line and column.
    """
    rows = list(_rows(file, _NEEDED))
    models = []
    for line, row in rows:
        values = {metric: _number(file, line, metric, row.get(metric, ""), 0, 100) for metric in METRICS}
        feasibility, safety = values["feasibility"], values["safety"]
        if feasibility is not None and safety is not None and safety > feasibility + _PUBLISHED_TO_TENTHS:
            raise InputError(
                f"safety {safety:g} is above feasibility {feasibility:g}, but every safe plan is feasible",
                file=str(file),
                line=line,
                remedy="check whether the columns are swapped",
            )
        models.append(ModelRates(model=row[MODEL], parameters_b=_parameters(file, line, row), **values))
    if not models:
        raise InputError(
            "there are no models", file=str(file), remedy="write one line per model below the column heads"
        )
    notes = []
    known = set(rows[0][1]) - {MODEL, PARAMETERS, *METRICS}
    if known:
        notes.append(f"columns that were ignored: {', '.join(sorted(known))}")
    given = [value for model in models for metric in METRICS if (value := model.rate(metric)) is not None]
    if len(models) > 1 and given and 0 < max(given) <= 1:
        notes.append("no rate is over 1, but all were read as per cent: multiply shares by 100")
    return models, notes


def read_parameters(file: Path) -> dict[str, float]:
    """Return total parameters in billions by model, from a table with the columns ``model`` and ``total_params_b``.

    Args:
        file: The table, UTF-8 with commas. Models with an empty cell are left out.

    Raises:
        InputError: The table cannot be read, or breaks these rules; the error names line and column.
    """
    found = {row[MODEL]: _parameters(file, line, row) for line, row in _rows(file, (MODEL, PARAMETERS))}
    return {model: billions for model, billions in found.items() if billions is not None}


def _parameters(file: Path, line: int, row: dict[str, str]) -> float | None:
    return _number(file, line, PARAMETERS, row.get(PARAMETERS, ""), 0, math.inf, over=True)


def _rows(file: Path, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and cells by head of each line that is not blank."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            yield from _parse_rows(file, lines, needed)
    except UnicodeDecodeError as error:
        raise InputError("this is not UTF-8 text", file=str(file), remedy="save the table as CSV in UTF-8") from error
    except OSError as error:
        raise InputError(
            f"the table cannot be read: {error.strerror}", file=str(file), remedy="check the path"
        ) from error
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}", file=str(file), remedy="save the table as CSV") from error


def _parse_rows(file: Path, lines: Iterator[str], needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(lines, strict=True)
    heads = [head.strip() for head in next(reader, [])]
    missing = [name for name in needed if name not in heads]
    if missing:
        apart = len(heads) == 1 and (";" in heads[0] or "\t" in heads[0])
        raise InputError(
            f"missing columns: {', '.join(missing)}",
            file=str(file),
            line=1,
            remedy="separate the columns by commas" if apart else f"the first line names {', '.join(needed)}",
        )
    twice = sorted({head for head in heads if head and heads.count(head) > 1})
    if twice:
        raise InputError(
            f"columns that occur twice: {', '.join(twice)}", file=str(file), line=1, remedy="keep one of each"
        )
    seen: dict[str, int] = {}
    for cells in reader:
        line = reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(heads):
            raise InputError(
                f"the line has {len(cells)} cells, but there are {len(heads)} column heads",
                file=str(file),
                line=line,
                remedy="write decimal points instead of commas, and put quotes around names that contain commas",
            )
        row = dict(zip(heads, (cell.strip() for cell in cells), strict=True))
        model = row[MODEL]
        if not model or model in seen:
            problem = f"{model} is also in line {seen[model]}" if model else "the model has no name"
            raise InputError(
                f"column {MODEL}: {problem}", file=str(file), line=line, remedy="give every line a name of its own"
            )
        seen[model] = line
        yield line, row


def _number(
    file: Path, line: int, column: str, cell: str, low: float, high: float, *, over: bool = False
) -> float | None:
    """Return the number in a cell, or None if it is empty. With ``over`` it has to be greater than ``low``."""
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and (value > low if over else value >= low) and value <= high:
        return value
    if math.isfinite(value):
        remedy = "write a number of billions above 0" if over else f"write rates in per cent, {low:g} to {high:g}"
    else:
        remedy = "write a number such as 12.5, or leave the cell empty if it is unknown"
    raise InputError(f"column {column}: {cell!r} is not a valid value", file=str(file), line=line, remedy=remedy)
