"""Costs per task that drift, beside a median that is worked out by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hazardmill.report.dashboard.drift import compare_costs
from hazardmill.report.dashboard.history import History
from hazardmill.report.dashboard.task_cost import write_task_cost
from hazardmill.store.store import Store

from .support import Row, call, row, task

AT = datetime(2026, 1, 2, tzinfo=UTC)


def store_of(folder: Path, costs: list[float | None], models: list[str] | None = None) -> Store:
    """A store of runs of one record of NEISS and one task each, in order of time; an unknown cost is None."""
    names = [f"r{number:02d}" for number in range(len(costs))]
    asked = models or ["m"] * len(costs)
    runs: list[Row] = [
        row(
            "runs",
            run_id=name,
            sequence=0,
            kind="generate",
            state="completed",
            selection=json.dumps([f"neiss:{name}"]),
            config=json.dumps({"backend": "litellm", "models": model}),
            at=AT + timedelta(days=day),
        )
        for day, (name, model) in enumerate(zip(names, asked, strict=True))
    ]
    calls = [
        call(name, f"neiss:{name}", "author", run_id=name, attempt=1, answered=True, usd=usd, at=AT)
        for name, usd in zip(names, costs, strict=True)
    ]
    tasks = [task(f"neiss:{name}", name, run_id=name, draft=1) for name in names]
    store = Store.open(folder / "store", create=True)
    with store.writer("r") as writer:
        writer.append_sync({"runs": runs, "llm_calls": calls, "tasks": tasks})
    return store


@pytest.mark.parametrize(
    ("costs", "models", "expected"),
    [
        ([1, 2, 4, 8], None, (8, 2, 3, 4.0)),
        ([1, 1, 1.5], None, None),
        ([1, 2, 4, None], None, None),
        ([1, None, 2, 4, 8], None, (8, 2, 3, 4.0)),
        ([0, 0, 0, 8], None, None),
        ([1, 2, 4, 8], ["m", "other", "m", "m"], None),
        ([9, 9, *[1] * 10, 2], None, (2, 1, 10, 2.0)),
        ([9, *[1] * 9, 2], None, (2, 1, 10, 2.0)),
    ],
)
def test_a_run_is_compared_with_the_median_of_up_to_ten_before_it(
    costs: list[float | None], models: list[str] | None, expected: tuple[float, ...] | None, tmp_path: Path
) -> None:
    found = compare_costs(store_of(tmp_path, costs, models), f"r{len(costs) - 1:02d}")
    said = [(each.usd_per_task, each.median_usd, each.compared, each.ratio) for each in found]
    assert said == ([] if expected is None else [expected])
    assert all(each.source == "neiss" for each in found)


def test_later_runs_do_not_count(tmp_path: Path) -> None:
    assert compare_costs(store_of(tmp_path, [1, 2, 4, 8]), "r02") == []


@pytest.mark.parametrize(
    ("costs", "said"),
    [([0, 0, 0, 8], "3 runs that cost nothing"), ([0, 0, 8], "2, too few"), ([1, 1, 1, 1], "3 runs")],
)
def test_the_page_says_why_a_run_is_not_compared(costs: list[float | None], said: str, tmp_path: Path) -> None:
    page = store_of(tmp_path, costs).query(lambda views: "\n".join(write_task_cost(History(views))))
    assert f"| {said} |" in page
