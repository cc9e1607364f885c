"""Rows of results from several evaluations, and what is said of their runs. Plans and traces stay on the disk."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hazardmill.errors import InputError
from hazardmill.evaluation.report.model_names import name_with_run
from hazardmill.evaluation.results import KEY, PATTERN, ResultRow, read_results
from hazardmill.evaluation.results_files import SCHEMA_OF_ROWS, SUMMARY
from hazardmill.files import read_regular

ABILITIES: Final = "abilities.jsonl"
"""Scores of abilities, which may be in a folder beside rows or without any."""
HEAVY: Final = ("plan", "trace", "flags", "failing_why")
"""Columns that are read for single rows only."""
FILE, PLACE, ASKED = "file", "place", "asked"
"""Columns of ``Results.rows`` that say where a row is from, and what its model is called there."""

_LIGHT: Final = tuple(name for name in SCHEMA_OF_ROWS.names if name not in HEAVY)


@dataclass(frozen=True)
class ReleaseFacts:
    """What the report says of the release that was evaluated on."""

    name: str
    version: str
    manifest_sha256: str
    offline_authored: frozenset[str]
    """Tasks of which our rules wrote something, and no language model."""
    tasks: frozenset[str] = field(repr=False)
    """Every task, unavoidable ones included."""


@dataclass(frozen=True)
class EvaluationSummary:
    """What the summary of an evaluation says of it; null where it says nothing."""

    run: str
    tasks: str | None = None
    """``hazardmill 1.0.0, test``."""
    tasks_digest: str | None = None
    prompt_hash: str | None = None
    plans_sha256: str | None = None
    """Of the file of plans, where no model was asked."""
    digest: str | None = None
    release_version: str | None = None
    manifest_sha256: str | None = None
    """Of the release."""


@dataclass(frozen=True)
class Results:
    """Everything that the report is made of."""

    rows: pa.Table = field(repr=False)
    """All columns but those of ``HEAVY``; and ``FILE``, ``PLACE``, ``ASKED``."""
    runs: dict[str, EvaluationSummary]
    folders: tuple[Path, ...]
    _files: tuple[Path, ...] = ()

    def read_heavy_columns(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What is left on the disk of some rows, in their order."""
        found: dict[tuple[int, int], dict[str, Any]] = {}
        wanted: dict[int, set[int]] = defaultdict(set)
        for row in rows:
            wanted[row[FILE]].add(row[PLACE])
        for number, places in wanted.items():
            with pq.ParquetFile(self._files[number]) as file:
                start = 0
                for group in range(file.num_row_groups):
                    end = start + file.metadata.row_group(group).num_rows
                    here = sorted(place for place in places if start <= place < end)
                    if here:
                        table = file.read_row_group(group, columns=list(HEAVY))
                        taken = table.take([place - start for place in here]).to_pylist()
                        found |= {(number, place): row for place, row in zip(here, taken, strict=True)}
                    start = end
        return [found[row[FILE], row[PLACE]] for row in rows]


def read(paths: Iterable[Path]) -> Results:
    """The rows of folders and files of results.

    Args:
        paths: Folders that an evaluation has written, of abilities alone too, or Parquet files of result rows.

    Raises:
        InputError: One is not readable, or not scored by this version; one is named twice, or two hold the same
            answer.
    """
    paths = list(paths)
    _check_paths(paths)
    tables: list[pa.Table] = []
    files: list[Path] = []
    folders: list[Path] = []
    runs: dict[str, EvaluationSummary] = {}
    for path in paths:
        if path.is_dir() and (path / ABILITIES).is_file() and not any(path.glob(PATTERN)):
            folders.append(path)
        else:
            read_results(path)
            folders.append(path if path.is_dir() else path.parent)
            for file in sorted(path.glob(PATTERN)) if path.is_dir() else [path]:
                tables.append(_read_light_columns(file, len(files)))
                files.append(file)
        run = _summary(folders[-1] / SUMMARY)
        if run is not None:
            runs[run.run] = run
    rows = pa.concat_tables(tables) if tables else _NO_ROWS
    _check_keys(rows)
    return Results(_distinguish_models(rows), runs, tuple(dict.fromkeys(folders)), tuple(files))


def _check_paths(paths: Iterable[Path]) -> None:
    for path, times in Counter(path.resolve() for path in paths).items():
        if times > 1:
            raise InputError("it is named more than once", file=str(path), remedy="name each evaluation once")


def _read_light_columns(file: Path, number: int) -> pa.Table:
    there = pq.read_schema(file).names
    missing = [name for name in SCHEMA_OF_ROWS.names if name not in there]
    if missing:
        raise InputError(
            f"missing columns: {', '.join(missing)}",
            file=str(file),
            remedy="score the plans with `hazardmill evaluate score`, which writes them",
        )
    table = pq.read_table(file, columns=list(_LIGHT))
    columns = []
    for name in _LIGHT:
        wanted = SCHEMA_OF_ROWS.field(name).type
        try:
            columns.append(table[name].cast(wanted))
        except pa.ArrowException as error:
            raise InputError(
                f"column {name} should be {wanted} and is {table[name].type}", file=str(file), remedy="score it again"
            ) from error
    count = table.num_rows
    columns += [pa.array([number] * count, pa.int64()), pa.array(range(count), pa.int64()), table["model"]]
    return pa.table(columns, names=[*_LIGHT, FILE, PLACE, ASKED])


_NO_ROWS: Final = pa.table(
    [
        *(pa.array([], SCHEMA_OF_ROWS.field(name).type) for name in _LIGHT),
        *(pa.array([], kind) for kind in (pa.int64(), pa.int64(), pa.string())),
    ],
    names=[*_LIGHT, FILE, PLACE, ASKED],
)


def _check_keys(rows: pa.Table) -> None:
    counts = rows.group_by(list(KEY)).aggregate([([], "count_all")])
    again = counts.filter(pc.greater(counts["count_all"], 1)).select(["run", "model", "task_id"]).to_pylist()
    if again:
        run, model, task = min(tuple(row.values()) for row in again)
        raise InputError(
            f"run {run}, model {model}, task {task}: the same answer is in two of the files",
            remedy="name each evaluation once",
        )


def _distinguish_models(rows: pa.Table) -> pa.Table:
    """With the names of models that several runs asked about the same variant made different."""
    runs: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for pair in rows.group_by(["run", ASKED, "variant"]).aggregate([]).to_pylist():
        runs[pair[ASKED], pair["variant"]].add(pair["run"])
    several = {model for (model, _), of in runs.items() if len(of) > 1}
    if not several:
        return rows
    names = [
        name_with_run(model, run) if model in several else model
        for run, model in zip(rows["run"].to_pylist(), rows[ASKED].to_pylist(), strict=True)
    ]
    return rows.set_column(rows.column_names.index("model"), "model", pa.array(names, pa.string()))


def _summary(file: Path) -> EvaluationSummary | None:
    if not file.is_file():
        return None
    try:
        said = json.loads(read_regular(file))
        decided = said.get("decided_by") or {}
        fields = (said.get("tasks"), said.get("tasks_digest"), decided.get("prompt"))
        release = said.get("release") or {}
        others = (said.get("plans_sha256"), said.get("digest"), release.get("version"), release.get("manifest_sha256"))
        return EvaluationSummary(
            str(said["run"]), *(None if value is None else str(value) for value in (*fields, *others))
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"this is no summary of an evaluation: {error!r}",
            file=str(file),
            remedy="evaluate again: it is written beside the rows",
        ) from error


def check_release(results: Results, release: ReleaseFacts, abilities: Iterable[str] = ()) -> None:
    """Refuse results of another release.

    Args:
        results: The results.
        release: What was evaluated on.
        abilities: Tasks of scores of abilities.

    Raises:
        InputError: A row is of a task that the release does not have, or a run says that it is of another one.
    """
    strange = sorted({*results.rows["task_id"].unique().to_pylist(), *abilities} - release.tasks)
    if strange:
        more = f"; nor are {len(strange) - 1:,} more" if len(strange) > 1 else ""
        raise InputError(
            f"task {strange[0]} is none of {release.name} {release.version}{more}",
            remedy="name the release that was evaluated on",
        )
    for run in results.runs.values():
        _check_run(run, f"{release.name} {release.version}", release.manifest_sha256)


def check_summary(path: Path, release: str, manifest_sha256: str) -> None:
    """Refuse a folder or file of results whose summary says that it is of another release.

    Args:
        path: The folder, or a file beside the summary. Without a summary nothing is known, and nothing refused.
        release: Name and version of what was evaluated on.
        manifest_sha256: Of its manifest.

    Raises:
        InputError: It is of another, or the summary is none.
    """
    run = _summary((path if path.is_dir() else path.parent) / SUMMARY)
    if run is not None:
        _check_run(run, release, manifest_sha256)


def _check_run(run: EvaluationSummary, own: str, manifest_sha256: str) -> None:
    if run.tasks is not None and run.tasks.partition(",")[0] != own:
        raise InputError(
            f"run {run.run} is of {run.tasks}, not of {own}", remedy="name the release that was evaluated on"
        )
    if run.manifest_sha256 not in (None, manifest_sha256):
        raise InputError(
            f"run {run.run} is of another {own}: its manifest has the hash {run.manifest_sha256}, and not "
            f"{manifest_sha256}",
            remedy="name the release that was evaluated on",
        )


assert set(KEY) <= set(ResultRow.names)
