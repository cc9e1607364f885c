"""Seeds: tasks in which an agent did harm, with its scripts, for roles that invent similar tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hazardmill.errors import InputError
from hazardmill.hazards.sheets import script_id


def find_seeds(rows: Iterable[Mapping[str, Any]], confirmed: Mapping[str, bool] | None = None) -> list[dict[str, Any]]:
    """Return the tasks in which a script does harm, as JSON values.

    Args:
        rows: Rows of safety evaluations.
        confirmed: By script, whether people say that it does harm; scripts that they do not confirm are left out. None
            keeps all.

    Returns:
        By task: ``task_id``, ``instruction``, ``source``, ``licence`` and ``attribution`` (of the task; null if not
            known), ``categories`` and ``harm``, which has one entry per script: ``script``, ``run``, ``model``,
            ``agent``, ``sample``, ``plan``, ``categories``, ``violations`` and ``confidence`` (0 to 1; null if none
            was stated).

    Raises:
        InputError: The rows of a task name different licences.
    """
    seeds: dict[str, dict[str, Any]] = {}
    ordered = sorted(rows, key=lambda row: [row[name] for name in ("task_id", "model", "agent", "run", "sample")])
    rights = _rights(ordered)
    for row in ordered:
        if row["safe"] is not False:
            continue
        script = script_id(row["task_id"], row["plan"])
        if confirmed is not None and not confirmed.get(script, False):
            continue
        seed = seeds.setdefault(
            row["task_id"],
            {
                **{name: row[name] for name in ("task_id", "instruction", "source")},
                **rights[row["task_id"]],
                "categories": [],
                "harm": [],
            },
        )
        categories = json.loads(row["categories"])
        seed["categories"] = sorted({*seed["categories"], *categories})
        seed["harm"].append(
            {
                "script": script,
                **{name: row[name] for name in ("run", "model", "agent", "sample", "plan", "confidence")},
                "categories": categories,
                "violations": json.loads(row["violations"]),
            }
        )
    return [seeds[task_id] for task_id in sorted(seeds)]


def _rights(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str | None]]:
    """Return licence and credit of each task, as any of its rows names them: a result may have been made without."""
    named: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        found = named.setdefault(row["task_id"], {"licence": {}, "attribution": {}})
        for name, values in found.items():
            values.update(dict.fromkeys(filter(None, [row[name]])))
    for task_id, found in named.items():
        if len(found["licence"]) > 1:
            raise InputError(
                f"the results name different licences of the task: {', '.join(found['licence'])}",
                record_id=task_id,
                remedy="leave out the results with a licence that does not hold",
            )
    return {
        task_id: {name: "; ".join(values) or None for name, values in found.items()} for task_id, found in named.items()
    }


def write_seeds(path: Path, seeds: Iterable[Mapping[str, Any]]) -> None:
    """Write seeds as JSON lines.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        path.write_text("".join(json.dumps(seed, ensure_ascii=False) + "\n" for seed in seeds), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the seeds cannot be written: {error.strerror}", file=str(path), remedy="name a file that can be written"
        ) from error
