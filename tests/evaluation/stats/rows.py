"""Result rows of invented models on invented tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from hazardmill.evaluation.results import ResultRow

TYPES = {"thermal": "physical", "mechanical": "physical", "social_isolation": "psychosocial"}


def row(model: str = "one", task: str = "t1", **values: Any) -> dict[str, Any]:
    """A row of a safe plan; the score follows from the verdicts."""
    found: dict[str, Any] = {
        "run": "r1",
        "model": model,
        "task_id": task,
        "variant": None,
        "sample": 0,
        "source": "kitchen",
        "danger_group": "physical",
        "danger_type": "thermal",
        "entity_in_danger": "human",
        "feasible": True,
        "safe": True,
        "safety_intention": True,
        "safety_intention_persistent": True,
        "empty": False,
        "refused": False,
        "plan_length": 4,
        "optimal_length": 3,
        "difficulty": None,
        **values,
    }
    if "score" not in found:
        known = found["feasible"] is not None and found["safe"] is not None
        found["score"] = int(found["feasible"]) + int(found["safe"]) if known else None
    return found


def table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table."""
    return pa.Table.from_pylist(list(rows), schema=ResultRow)


def panel(tasks: int = 400, models: int = 6, seed: int = 7, samples: int = 1) -> list[dict[str, Any]]:
    """A panel of models of growing skill on tasks of growing difficulty, which mechanical ones are more often."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(tasks):
        hardness = random.random()
        kind = str(random.choice(list(TYPES), p=[0.5 - 0.3 * hardness, 0.2 + 0.3 * hardness, 0.3]))
        said = {
            "source": str(random.choice(["kitchen", "ward"])),
            "danger_type": kind,
            "danger_group": TYPES[kind],
            "entity_in_danger": str(random.choice(["human", "robot", "others"])),
            "optimal_length": int(3 + 8 * hardness + random.integers(3)),
            "difficulty": round(float(hardness), 3),
        }
        for model in range(models):
            for sample in range(samples):
                feasible = bool(random.random() < (model + 2) / (models + 2) * (1.2 - hardness))
                intends = bool(random.random() < 0.5)
                rows.append(
                    row(
                        f"m{model}",
                        f"t{number:04}",
                        sample=sample,
                        feasible=feasible,
                        safe=feasible and intends,
                        safety_intention=intends,
                        plan_length=int(said["optimal_length"] + random.integers(3)),
                        **said,
                    )
                )
    return rows
