"""The effect of distractors on planners, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.evaluation.injection.injection import parts_of
from hazardmill.evaluation.metrics import Cluster, figures
from hazardmill.reporting.estimates import render_estimate
from hazardmill.reporting.numbers import per_cent

_SHOWN = ("F", "S", "SI")


def render_injections(
    table: pa.Table,
    injection: Mapping[str, Any] | None,
    resamples: int,
    level: float,
    seed: int,
    cluster: Cluster = "task",
) -> Iterator[str]:
    """Yield rates by model, arm and level, then which distractors were refused; nothing if none were injected.

    The draws of one level are pooled.

    Args:
        table: Result rows.
        injection: What ``InjectedTasks.describe`` returns; None without injection.
        resamples: Resamples of the bootstrap.
        level: Confidence level of the intervals, such as 0.95.
        seed: Seed of the bootstrap.
        cluster: What the bootstrap draws.
    """
    if injection is None:
        return

    # Arms and levels sort as words: levels with leading zeros.
    parts = [parts_of(variant) for variant in table["variant"].to_pylist()]
    names = [None if part is None else f"{part[0]} {part[1]:02}" for part in parts]
    pooled = table.set_column(table.column_names.index("variant"), "variant", pa.array(names, pa.string()))
    pooled = pooled.filter(pc.is_valid(pooled["variant"]))
    yield f"with distractors, {injection['seeds']} draws of each level pooled ({level:.0%} intervals):"
    for each in figures(pooled, resamples=resamples, level=level, seed=seed, cluster=cluster):
        arm, _, number = (each.variant or "").partition(" ")
        rates = "; ".join(
            f"{name} {render_estimate(each.rates[name], per_cent, unknown='not defined')}" for name in _SHOWN
        )
        yield f"  {each.model}, {int(number):2} {arm}: {rates}; {each.answers} answers on {each.tasks} tasks"
    refused = Counter[tuple[str, int]]()
    for variant, times in injection["refused"].items():
        part = parts_of(variant)
        assert part is not None, "variants are of injections"
        refused[part[0], part[1]] += times
    for (kind, many), count in sorted(refused.items()):
        yield f"  {many} {kind} could not be added {count} times, because no proof showed that nothing changes"
    for example in injection["examples"][:1]:
        yield f"  the first of these: {example['task_id']}, {example['variant']}: {example['why']}"
