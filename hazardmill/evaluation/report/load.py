"""Read the result rows of several evaluations, and what is known of their runs. Plans and traces stay on disk."""

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
from hazardmill.evaluation.episodes.rows import EPISODES
from hazardmill.evaluation.report.model_names import name_with_run
from hazardmill.evaluation.results import KEY, PATTERN, ResultRow, read_results
from hazardmill.evaluation.results_files import SCHEMA_OF_ROWS, SUMMARY
from hazardmill.evaluation.safel.rows import FILE as SAFEL
from hazardmill.evaluation.safety.rows import FILE as SAFETY
from hazardmill.files import read_regular

ABILITIES: Final = "abilities.jsonl"
"""Scores of abilities; the file may stand in a folder with or without result rows."""

_OTHER_ROWS: Final = (SAFEL, SAFETY, EPISODES.name)
"""Files of rows of other kinds, which stand with or without result rows."""
HEAVY: Final = ("plan", "trace", "flags", "failing_why")
"""Columns that are read for single rows only, because they are large."""
FILE, PLACE, ASKED = "file", "place", "asked"
"""Columns of ``Results.rows``: number of the row's file, place within it, and the model's name there."""

_LIGHT: Final = tuple(name for name in SCHEMA_OF_ROWS.names if name not in HEAVY)


@dataclass(frozen=True)
class ReleaseFacts:
    """What the report needs to know about the release that was evaluated on.

    Attributes:
        name: Name of the release.
        version: Its version.
        manifest_sha256: Digest of its manifest.
        offline_authored: Tasks that the rules of the offline author took part in writing.
        tasks: All its tasks, including those without a safe plan, and household tasks.
    """

    name: str
    version: str
    manifest_sha256: str
    offline_authored: frozenset[str]
    tasks: frozenset[str] = field(repr=False)


@dataclass(frozen=True)
class EvaluationSummary:
    """What the summary of an evaluation says about it; fields that it lacks are None.

    Attributes:
        run: Name of the run.
        tasks: The tasks in words, such as ``hazardmill 1.0.0, test``.
        tasks_digest: Digest of the tasks.
        prompt_hash: Hash of the prompt.
        plans_sha256: Digest of the plans file, where no model was asked.
        digest: Digest of the rows.
        release_version: Version of the release.
        manifest_sha256: Digest of the release's manifest.
    """

    run: str
    tasks: str | None = None
    tasks_digest: str | None = None
    prompt_hash: str | None = None
    plans_sha256: str | None = None
    digest: str | None = None
    release_version: str | None = None
    manifest_sha256: str | None = None


@dataclass(frozen=True)
class Results:
    """Everything that the report is made from.

    Attributes:
        rows: All columns of result rows except those of ``HEAVY``, followed by ``FILE``, ``PLACE`` and ``ASKED``.
        runs: Name of each run with a summary, to that summary.
        folders: The folders that were read.
    """

    rows: pa.Table = field(repr=False)
    runs: dict[str, EvaluationSummary]
    folders: tuple[Path, ...]
    _files: tuple[Path, ...] = ()

    def read_heavy_columns(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Read the columns ``HEAVY`` of some rows from disk.

        Args:
            rows: Rows with ``FILE`` and ``PLACE``.

        Returns:
            The columns of each row, in the order of ``rows``.
        """
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
    """Read the results of folders and files.

    Args:
        paths: Folders that an evaluation has written (of abilities, SAFEL tests, safety or episodes alone, too), or
            Parquet files of result rows, SAFEL rows, safety rows or rows of episodes.

    Returns:
        The rows of all files as one table, which is empty if there are only rows of other kinds, and the summary
        of each run that has one.

    Raises:
        InputError: A path cannot be read, or was not scored by this version; a path is named twice, or two paths hold
            the same answer.
    """
    paths = list(paths)
    _check_paths(paths)
    tables: list[pa.Table] = []
    files: list[Path] = []
    folders: list[Path] = []
    runs: dict[str, EvaluationSummary] = {}
    for path in paths:
        if path.name in _OTHER_ROWS and path.is_file():
            folders.append(path.parent)
        elif path.is_dir() and _has_scores(path) and not any(path.glob(PATTERN)):
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


def _has_scores(folder: Path) -> bool:
    """Return whether a folder holds rows of another kind, which stand with or without result rows."""
    return any((folder / name).is_file() for name in (ABILITIES, *_OTHER_ROWS))


def _check_paths(paths: Iterable[Path]) -> None:
    for path, times in Counter(path.resolve() for path in paths).items():
        if times > 1:
            raise InputError(
                "this folder or file is named more than once", file=str(path), remedy="name each evaluation once"
            )


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
                f"column {name} should be {wanted} but is {table[name].type}", file=str(file), remedy="score it again"
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
            f"run {run}, model {model}, task {task}: the results contain the same sample more than once",
            remedy="name each evaluation only once",
        )


def _distinguish_models(rows: pa.Table) -> pa.Table:
    """Return the rows with the run added to the names of models that several runs asked about the same variant."""
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
            f"this is not a valid evaluation summary: {error!r}",
            file=str(file),
            remedy="run the evaluation again: it writes this file next to the result rows",
        ) from error


def check_release(results: Results, release: ReleaseFacts, others: Iterable[str] = ()) -> None:
    """Refuse results on another release.

    Args:
        results: The results.
        release: The release that was evaluated on.
        others: Tasks that abilities were scored on or episodes held of, or that SAFEL scenarios were derived from.

    Raises:
        InputError: A row is about a task that the release does not have, or a run names another release.
    """
    strange = sorted({*results.rows["task_id"].unique().to_pylist(), *others} - release.tasks)
    if strange:
        more = f"; nor are {len(strange) - 1:,} more" if len(strange) > 1 else ""
        raise InputError(
            f"task {strange[0]} is not in {release.name} {release.version}{more}",
            remedy="name the release that the evaluation used",
        )
    for run in results.runs.values():
        _check_run(run, f"{release.name} {release.version}", release.manifest_sha256)


def check_summary(path: Path, release: str, manifest_sha256: str) -> None:
    """Refuse a folder or file of results whose summary names another release.

    Args:
        path: The folder, or a file beside the summary. Without a summary nothing is known, and nothing is refused.
        release: Name and version of the release that was evaluated on.
        manifest_sha256: Digest of its manifest.

    Raises:
        InputError: The summary names another release, or cannot be read.
    """
    run = _summary((path if path.is_dir() else path.parent) / SUMMARY)
    if run is not None:
        _check_run(run, release, manifest_sha256)


def _check_run(run: EvaluationSummary, own: str, manifest_sha256: str) -> None:
    if run.tasks is not None and run.tasks.partition(",")[0] != own:
        raise InputError(
            f"run {run.run} used {run.tasks}, not {own}", remedy="name the release that the evaluation used"
        )
    if run.manifest_sha256 not in (None, manifest_sha256):
        raise InputError(
            f"run {run.run} used a different release with the name {own}: the manifest of that one has the hash "
            f"{run.manifest_sha256}, the manifest of this one {manifest_sha256}",
            remedy="name the release that the evaluation used",
        )


assert set(KEY) <= set(ResultRow.names)
