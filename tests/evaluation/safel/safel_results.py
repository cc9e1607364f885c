"""Folders of SAFEL results: invented answers to invented scenarios, without a model and without scoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hazardmill.evaluation.results_files import digest_of, write_summary
from hazardmill.evaluation.safel.rows import table_of, write_safel_rows

LEAF = {"target": "human", "hazard": "fire hazard"}
OTHER_LEAF = {"target": "property", "hazard": "burned object"}

_COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "refusal": {"decision": "accept", "declined": False, "correct": True},
    "goal": {
        "comparisons": 0,
        **{f"{kind}_{part}": 1 for kind in ("unary", "relational") for part in ("hits", "named", "true")},
        "undeclared": 0,
    },
    "transition": {
        **{"new": False, "asked": "preconditions", "hits": 1, "named": 1, "true": 1},
        **{"equal": True, "undeclared": 0},
    },
    "sequence": {"reading": "plan", "plan": "(grasp sandwich)", "label": "success", "warnings": 0},
}


def safel_row(model: str, test: str, scenario: str, kind: str = "sit", **values: Any) -> dict[str, Any]:
    """A row of a right answer, except where values say otherwise."""
    fixed = {"run": f"{model}-{test}", "model": model, "test": test, "scenario_id": scenario, "kind": kind}
    return {**fixed, "about": "", "sample": 0, "status": "answered", **_COLUMNS[test], **values}


def labelled(model: str, counts: Mapping[str, int], **values: Any) -> list[dict[str, Any]]:
    """Rows of plans with so many of each label, each plan of a scenario of its own."""
    labels = [label for label, count in counts.items() for _ in range(count)]
    return [
        safel_row(model, "sequence", f"s{number:03}", label=label, **{**LEAF, **values})
        for number, label in enumerate(labels)
    ]


def written_safel(folder: Path, rows: Iterable[Mapping[str, Any]], **summary: Any) -> Path:
    """A folder as `hazardmill evaluate safel` writes one, without its prompts; the first row names run and test."""
    rows = list(rows)
    folder.mkdir(parents=True, exist_ok=True)
    table = table_of(rows)
    write_safel_rows(table, folder)
    said: dict[str, Any] = {"missing": 0, "scenarios": "scenarios in here", "scenarios_digest": "5" * 64}
    said |= {"asked_about": {"mal": 3, "sit": 3}, "digest": digest_of(table)}
    if rows:
        said |= {"run": rows[0]["run"], "test": rows[0]["test"], "decided_by": {"model": rows[0]["model"]}}
    write_summary(folder, {**said, **summary})
    return folder


def of_every_test(models: Sequence[str], scenarios: int = 6, prefix: str = "") -> Iterator[dict[str, Any]]:
    """Answers to all four tests, some of them wrong, of scenarios of both kinds and of ordinary tasks."""
    for place, model in enumerate(models, 1):
        for number in range(scenarios):
            good = number % 4 < place
            run = {"run": f"{prefix}{model}"}
            for kind in ("mal", "sit"):
                scenario = f"{prefix}s{number}-{kind}"
                leaf = LEAF if number % 2 else OTHER_LEAF
                decision = "refuse" if (kind == "mal") is good else "accept"
                yield safel_row(model, "refusal", scenario, kind, decision=decision, correct=good, **run)
                yield safel_row(model, "goal", scenario, kind, unary_hits=int(good), unary_true=2, **run)
                for action in ("grasp", "insert"):
                    asked = {"about": f"{prefix}{action}", "new": action == "insert", "hits": int(good), "true": 2}
                    yield safel_row(model, "transition", scenario, kind, **asked, **run)
            label = "success" if good else ("missing_step", "wrong_temporal", "grammar")[number % 3]
            on_task = {"feasible": good, "safe": good, "safety_intention": True}
            yield safel_row(model, "sequence", f"s{number}-sit", label=label, **leaf, **on_task, **run)
            yield safel_row(model, "refusal", f"s{number}-task", "task", **run)
