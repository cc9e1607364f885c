"""Write the difficulty of a release's tasks as a config that can be added to the release.

``difficulty.parquet`` has every task; ``data/difficulty/`` and ``data/difficulty_by_sa/`` have the tasks whose
difficulty is known, as splits ``hard`` and ``easy``. Each row names its licence and whom to credit, and share-alike
rows are kept separate, as in the release itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill import __version__
from hazardmill.errors import InputError
from hazardmill.evaluation.difficulty.score import (
    HARD_AT_MOST,
    SPLITS,
    OwnDifficulty,
    difficulty_table,
    own_difficulty,
    panel_difficulty,
    write_splits,
)
from hazardmill.evaluation.report.load import check_summary
from hazardmill.evaluation.report.model_names import is_stand_in
from hazardmill.evaluation.results import KEY, read_results
from hazardmill.evaluation.results_files import begin_folder, check_out, digest_of, write_summary
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.records import content_hash
from hazardmill.release.build.config import RIGHTS
from hazardmill.release.build.configs import BY_SA

if TYPE_CHECKING:
    import pyarrow as pa

    from hazardmill.release.read.release import Release
    from hazardmill.release.read.task import ReleasedTask

CONFIG: Final = "difficulty"
FILE: Final = "difficulty.parquet"

_FURTHER: Final = {
    "source": "Source of the task.",
    "danger_group": "`physical` or `psychosocial`.",
    "danger_type": "Danger type.",
    "release_split": "Split of the release that the task is in: `train`, `validation` or `test`.",
    "licence": "Licence of the record that the task was made from.",
    "attribution": "Credit line that the licence asks for.",
    "model_answered": "Model that answered with the task.",
}
"""The columns behind those of the difficulty."""


def read_panel(paths: Sequence[Path], release: Release) -> pa.Table:
    """Read the result rows of several evaluations of one release.

    Args:
        paths: Folders or files of result rows.
        release: The release that was evaluated on.

    Returns:
        All rows in one table, with the columns of ``results.ResultRow``.

    Raises:
        InputError: Rows cannot be read, two paths hold the same answer, or some rows are about another release.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.concat_tables([read_results(path) for path in paths])
    for path in paths:
        check_summary(path, f"{release.manifest.name} {release.version}", release.manifest.sha256())
    counts = rows.group_by(list(KEY)).aggregate([([], "count_all")])
    again = counts.filter(pc.greater(counts["count_all"], 1)).to_pylist()
    if again:
        first = min((row["run"], row["model"], row["task_id"]) for row in again)
        raise InputError(
            f"run {first[0]}, model {first[1]}, task {first[2]}: the results contain the same sample more than once",
            remedy="name each evaluation only once",
        )
    known = {task_id for base in ("tasks", "unavoidable") for task_id in _ids(release, base)}
    strangers = sorted(set(rows["task_id"].to_pylist()) - known)
    if strangers:
        raise InputError(
            f"{len(strangers)} tasks in the results are not in the release, such as {strangers[0]}",
            file=str(release.folder),
            remedy="name the release that the evaluation used",
        )
    return rows


def panel_of(rows: pa.Table, named: Sequence[str] = ()) -> list[str]:
    """Return the models of the panel: the named ones, or else all models except the rule-based stand-ins.

    Args:
        rows: Result rows.
        named: Models that were named as the panel; none takes those that have rows.

    Raises:
        InputError: The panel would be empty.
    """
    models = list(dict.fromkeys(named)) or sorted(
        model for model in rows["model"].unique().to_pylist() if not is_stand_in(model)
    )
    if not models:
        raise InputError(
            "all results are from rule-based stand-ins, and difficulty is not measured with those alone",
            remedy="evaluate language models, or name the models to measure with: --panel",
        )
    return models


def write_difficulty(
    release: Release,
    rows: pa.Table,
    panel: Sequence[str],
    folder: Path,
    *,
    limit: int = DEFAULT_LIMIT,
    on_task: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Compute the difficulty of each task that has a safe plan, and write it.

    Args:
        release: The release.
        rows: Result rows on its tasks.
        panel: Models of the panel.
        folder: The folder to write; files of an earlier equal call are replaced.
        limit: Maximum number of expansions of exact search per task.
        on_task: Called after each task with the number of tasks done.

    Returns:
        The summary as written.

    Raises:
        InputError: A model of the panel has no row, or ``folder`` is a file.
        UsageError: ``folder`` holds something else.
    """
    decided = {
        "release": release.manifest.sha256(),
        "results": digest_of(rows.sort_by([(name, "ascending") for name in KEY])),
        "panel": sorted(panel),
        "limit": limit,
    }
    run = f"{CONFIG}-{content_hash(decided)[:12]}"
    check_out(folder, run)
    of_panel = panel_difficulty(rows, panel)
    own: dict[str, OwnDifficulty] = {}
    rights: dict[str, dict[str, Any]] = {}
    share_alike: set[str] = set()
    for done, task in enumerate(release.tasks(), 1):
        own[task.task_id] = own_difficulty(task.document, limit)
        rights[task.task_id] = _further_columns(task)
        if task.share_alike:
            share_alike.add(task.task_id)
        if on_task is not None:
            on_task(done)
    # Tasks without a safe plan have no score, and so no place in either split.
    table = _add_further_columns(difficulty_table([each for each in of_panel if each.task_id in own], own), rights)
    begin_folder(folder, run)
    splits = _write(table, share_alike, folder)
    return write_summary(
        folder,
        {
            "run": run,
            "release": f"{release.manifest.name} {release.version}",
            "panel": list(panel),
            "left_out": sorted(set(rows["model"].unique().to_pylist()) - set(panel)),
            "limit": limit,
            "tasks": table.num_rows,
            "splits": splits,
            "unknown": table["hard"].null_count,
            "own_unknown": table["expanded"].null_count,
            "decided_by": decided,
            "digest": digest_of(table),
        },
    )


def card_lines(summary: dict[str, Any]) -> list[str]:
    """Return the lines that make loaders find the difficulty of a release.

    They belong under ``configs:`` in the front matter of the release's README.md.

    Args:
        summary: The summary that ``write_difficulty`` returned.
    """
    lines = []
    for config, splits in summary["splits"].items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split in splits:
            lines += [f"  - split: {split}", f"    path: data/{config}/{split}.parquet"]
    return lines


def _ids(release: Release, base: str) -> set[str]:
    configs = [name for name in (base, base + BY_SA) if name in release.configs()]
    return {row["task_id"] for name in configs for row in release.rows(name, columns=["task_id"])}


def _further_columns(task: ReleasedTask) -> dict[str, Any]:
    return {
        "source": task.source,
        "danger_group": task.danger_group,
        "danger_type": task.danger_type,
        "release_split": task.split,
        **{name: task.row[name] for name in (*RIGHTS, "model_answered")},
    }


def _add_further_columns(table: pa.Table, further: dict[str, dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    rows = [further[task_id] for task_id in table["task_id"].to_pylist()]
    for name, doc in _FURTHER.items():
        column = pa.field(name, pa.string(), metadata={"doc": doc})
        table = table.append_column(column, pa.array([row[name] for row in rows], pa.string()))
    return table


def _write(table: pa.Table, share_alike: set[str], folder: Path) -> dict[str, dict[str, int]]:
    """Write both configs and the table of all tasks.

    Returns:
        Config to split to number of rows, without empty ones.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    alike = pc.is_in(table["task_id"], pa.array(sorted(share_alike), pa.string()))
    splits: dict[str, dict[str, int]] = {}
    for config, part in ((CONFIG, table.filter(pc.invert(alike))), (CONFIG + BY_SA, table.filter(alike))):
        place = folder / "data" / config
        for split in SPLITS:
            (place / f"{split}.parquet").unlink(missing_ok=True)
        known = part.filter(pc.is_valid(part["hard"]))
        if known.num_rows:
            metadata = {"hazardmill_config": config, "hazardmill_version": __version__}
            found = write_splits(known.replace_schema_metadata(metadata), place)
            splits[config] = {split: found[split] for split in SPLITS if found[split]}
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{FILE}.partial"
    said = {"hazardmill_difficulty": json.dumps({"hard_at_most": float(HARD_AT_MOST)})}
    pq.write_table(table.replace_schema_metadata(said), partial, compression="zstd")
    partial.replace(folder / FILE)
    return splits
