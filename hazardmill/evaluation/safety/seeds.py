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
    """
    seeds: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: [row[name] for name in ("task_id", "model", "agent", "run", "sample")]):
        if row["safe"] is not False:
            continue
        script = script_id(row["task_id"], row["plan"])
        if confirmed is not None and not confirmed.get(script, False):
            continue
        seed = seeds.setdefault(
            row["task_id"],
            {
                **{name: row[name] for name in ("task_id", "instruction", "source", "licence", "attribution")},
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
