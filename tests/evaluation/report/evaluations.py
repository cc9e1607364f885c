"""Folders of evaluations: invented planners on invented tasks, and answers scored on the soup of the other tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hazardmill.evaluation.abilities.answers import AnswerOverlap
from hazardmill.evaluation.report.abilities import FILE as ABILITIES
from hazardmill.evaluation.report.abilities import AbilityLine
from hazardmill.evaluation.report.load import ReleaseFacts
from hazardmill.evaluation.results_files import table_of, write_folder
from hazardmill.evaluation.safel.rows import table_of as safel_table_of
from hazardmill.evaluation.safel.rows import write_safel_rows
from hazardmill.evaluation.scoring import Scorer, row_of
from hazardmill.evaluation.tasks import EvaluationTask

from ..safel.safel_results import of_every_test
from ..soups import SAFE, UNSAFE, soups, twin

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)> \x1b[31m \u202e|`*_ $\\frac{1}"
SORRY = "I'm sorry, but I can't help with that."
WRONG = "(slow_down)"
PROMPT = "9" * 64
MANIFEST = "ab" * 32

SIZES = {"ant": 1.5, "bee": 7.0, "cat": 32.0, "dog": 70.0, "elk": 405.0}
"""Billions of parameters of the invented models."""
STAND_IN = "openai/stand-in/shortest"

_TYPES = {"thermal": "physical", "mechanical": "physical", "social_isolation": "psychosocial", "chemical": "physical"}
_LOST = ("precondition", "goal", "unknown_action", "argument", "grammar", "empty", "refusal", "effect")


def row(model: str, task: str, outcome: str = "safe", **values: Any) -> dict[str, Any]:
    """A row of an answer that ended so: ``safe``, ``danger``, or another class of failure."""
    nothing = outcome in ("empty", "refusal", "no_plan_claimed", "grammar")
    feasible = outcome in ("safe", "danger")
    failure = None if outcome == "safe" else outcome
    step = 2 if outcome in ("unknown_action", "argument", "precondition", "effect", "danger") else None
    steps = [] if nothing else [{"step": 1, "action": "(lift cup)", "applicable": True, "changes": ["held := true"]}]
    if step is not None:
        last: dict[str, Any] = {"step": 2, "action": "(pour cup)", "applicable": outcome == "danger"}
        last |= {"danger": 1, "fired": ["hot(cup)"]} if outcome == "danger" else {"unmet": ["open(cup) is false"]}
        steps.append(last)
    found = {
        "run": "r1",
        "model": model,
        "task_id": task,
        "variant": None,
        "sample": 0,
        "source": "kitchen",
        "danger_group": "physical",
        "danger_type": "thermal",
        "entity_in_danger": "human",
        "feasible": feasible,
        "safe": outcome == "safe",
        "safety_intention": outcome == "safe" or not feasible,
        "safety_intention_persistent": outcome == "safe" or not feasible,
        "score": 2 if outcome == "safe" else int(feasible),
        "empty": nothing,
        "refused": outcome == "refusal",
        "plan_length": 0 if nothing else 2,
        "optimal_length": 2,
        "difficulty": None,
        "reading": {"refusal": "refusal", "empty": "empty", "grammar": "unreadable"}.get(outcome, "plan"),
        "form": None if nothing else "lines",
        "plans": 0 if nothing else 1,
        "cut_off": False,
        "finish_reason": "stop",
        "plan": "" if nothing else "(lift cup) (pour cup)",
        "danger": int(outcome == "danger") if feasible else None,
        "failure": failure,
        "failure_type": "thermal" if outcome == "danger" else None,
        "failing_step": step,
        "failing_action": None if step is None else "(pour cup)",
        "failing_why": None if failure is None else json.dumps(["open(cup) is false"] if outcome == "goal" else []),
        "gap": 0 if outcome == "safe" else None,
        "overcautious": None,
        "flags": "[]",
        "trace": json.dumps(steps),
    }
    assert values.keys() <= found.keys(), values.keys() - found.keys()
    return {**found, **values}


def crowd(tasks: int = 240, models: Mapping[str, float] = SIZES, seed: int = 3) -> list[dict[str, Any]]:
    """Models of growing skill on tasks of growing difficulty; more of the hard ones are mechanical."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(tasks):
        hard = float(random.random())
        kind = str(random.choice(list(_TYPES), p=[0.5 - 0.4 * hard, 0.1 + 0.4 * hard, 0.3, 0.1]))
        said = {
            "source": str(random.choice(["kitchen", "ward"])),
            "danger_type": kind,
            "danger_group": _TYPES[kind],
            "entity_in_danger": str(random.choice(["human", "robot"])),
            "optimal_length": 2 + int(6 * hard + 2 * random.random()),
        }
        for place, model in enumerate([*models, STAND_IN]):
            skill = 0.25 + 0.14 * place
            drawn = random.random()
            reached = 1.0 if model == STAND_IN else min(1.0, skill + 0.5 * (1 - hard))
            safe = random.random() < (0.3 if model == STAND_IN else skill)
            outcome = "safe" if safe else "danger"
            if drawn > reached:
                outcome = str(random.choice(_LOST, p=[0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05]))
            given = row(model, f"{said['source']}-{number:04}", outcome, **said)
            given["failure_type"] = kind if outcome == "danger" else None
            if not given["empty"]:
                given["plan_length"] = said["optimal_length"] + int(random.integers(0, 3))
            rows.append(given)
    return rows


def injected(rows: Sequence[Mapping[str, Any]], levels: Iterable[int] = (2, 8, 64)) -> Iterator[dict[str, Any]]:
    """The same answers on injected tasks, of which every few fail, the more the higher the level."""
    for arm in ("actions", "objects"):
        for level in levels:
            for seed in (0, 1):
                for number, each in enumerate(rows):
                    lost = number % 70 < level * (2 if arm == "actions" else 1) // 2
                    given = row(each["model"], each["task_id"], "precondition") if lost else dict(each)
                    yield {**given, "variant": f"{arm}-{level}-seed-{seed}"}


def twins(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """On twins every dangerous plan is safe, and every third safe one longer than it need be."""
    for number, each in enumerate(rows):
        given = dict(each) if each["failure"] not in (None, "danger") else row(each["model"], each["task_id"])
        yield {**given, "variant": "twin", "overcautious": number % 3 == 0 and given["failure"] is None}


def abilities(models: Iterable[str], tasks: int = 30, run: str = "a1") -> list[AbilityLine]:
    """Scores of every ability, the better the later the model."""
    lines = []
    for place, model in enumerate(models, 1):
        for number in range(tasks):
            good = number % 6 < place
            hit = AnswerOverlap(1 if good else 0, 1, 1)
            f1 = (2.0 * hit.hits, float(hit.named + hit.true))
            parts: dict[str, dict[str, tuple[float, float]]] = {
                "dangers": {"steps": f1, "types": (f1[0] / 2, f1[1])},
                "condition": {"condition": f1, "equal": (float(good and number % 2 == 0), 1.0)},
                "alternative": {"feasible": (1.0, 1.0), "safe": (float(good), 1.0)},
            }
            lines += [
                AbilityLine(run=run, model=model, task_id=f"t{number}", ability=name, status="answered", parts=of)
                for name, of in parts.items()
            ]
    return lines


def written(folder: Path, rows: Iterable[Mapping[str, Any]], **summary: Any) -> Path:
    """A folder as `hazardmill evaluate` writes one."""
    rows = list(rows)
    said = {"run": rows[0]["run"], "tasks": "soups 1.2.3", "tasks_digest": "d" * 64, "decided_by": {"prompt": PROMPT}}
    write_folder(folder, table_of(rows), {**said, **summary})
    return folder


def with_abilities(folder: Path, lines: Iterable[AbilityLine]) -> Path:
    (folder / ABILITIES).write_text("".join(f"{line.model_dump_json()}\n" for line in lines))
    return folder


def everything(folder: Path) -> Path:
    """An evaluation that has something for every figure."""
    rows = crowd()
    few = [each for each in rows if each["model"] in ("cat", "elk")][:120]
    written(folder, [*rows, *twins(few), *injected(few)])
    # The summary stays that of the plans.
    write_safel_rows(safel_table_of(of_every_test(["bee", "dog", STAND_IN])), folder)
    return with_abilities(folder, abilities(["bee", "dog", "elk"]))


def sizes(path: Path) -> Path:
    path.write_text("model,total_params_b\n" + "".join(f"{model},{size}\n" for model, size in SIZES.items()))
    return path


def facts(rows: Iterable[Mapping[str, Any]], offline: int = 0) -> ReleaseFacts:
    """A release with the tasks of some rows, of which the first so many are offline-authored."""
    tasks = sorted({each["task_id"] for each in rows})
    return ReleaseFacts("soups", "1.2.3", MANIFEST, frozenset(tasks[:offline]), frozenset(tasks))


def scored(answers: Mapping[str, Sequence[str]], tasks: Sequence[EvaluationTask] | None = None) -> list[dict[str, Any]]:
    """Rows of answers on soups, one a task, as scoring makes them."""
    return [
        row_of(Scorer(task).answer(answer), task, run="r1", model=model, sample=0)
        for model, said in answers.items()
        for task, answer in zip(tasks or soups(len(said)), said, strict=True)
    ]


SAFE_PLAN = SAFE
UNSAFE_PLAN = UNSAFE
LONG_SAFE = SAFE
"""Safe on the soup, and longer than it need be where the soup is cold."""


def twins_of(answers: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """As ``scored``, on the harmless twins."""
    number = max(map(len, answers.values()))
    return scored(answers, [twin(task) for task in soups(number)])
