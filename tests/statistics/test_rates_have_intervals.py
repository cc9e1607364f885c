"""Each rate of every output has an interval of some width: where tasks agree, where one stands alone, and elsewhere.

What needs a store, a review or a release is walked through where such a thing is at hand: `tests/review`,
`tests/comparison`, `tests/testing/test_stand_ins.py`. `PRODUCERS` says where, for every module that makes estimates,
and tests hold it to that: a walk is watched while it runs, and what it names is compared with what the code calls.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any, Final

import pytest
from evaluation.episodes.test_figures import row as episode_row
from evaluation.report.evaluations import SIZES, crowd, facts, row, written
from evaluation.report.evaluations import abilities as ability_lines
from evaluation.safel.safel_results import of_every_test
from evaluation.stats import rows as stats_rows
from evaluation.test_ability_figures import row as ability_row
from pydantic import BaseModel

import hazardmill.statistics
from hazardmill.comparison.figures import ComparisonOptions, Quotient, figures, share
from hazardmill.evaluation.abilities.figures import ability_figures
from hazardmill.evaluation.abilities.rows import table_of as ability_table
from hazardmill.evaluation.episodes.figures import episode_figures
from hazardmill.evaluation.episodes.rows import episode_table
from hazardmill.evaluation.metrics import figures as plan_figures
from hazardmill.evaluation.report.abilities import ability_rates
from hazardmill.evaluation.report.leaderboard import leaderboard
from hazardmill.evaluation.report.load import read
from hazardmill.evaluation.report.model_results import IntervalOptions, panel_of
from hazardmill.evaluation.report.violins import difficulty_violins
from hazardmill.evaluation.results_files import table_of
from hazardmill.evaluation.safel.figures import safel_figures
from hazardmill.evaluation.safel.rows import table_of as safel_table
from hazardmill.evaluation.stats.figures import statistics_of_results
from hazardmill.hazards.detector import HazardReport, HazardViolation
from hazardmill.hazards.figures import ScriptOutcome, safety_figures
from hazardmill.hazards.sheets import ScriptDecision, agreement, script_id
from hazardmill.statistics.estimate import Estimate
from tests.rates import NO_INTERVALS, NO_RATES, check_rates

WITHOUT: Final = {
    "formalism/proofs/equivalence.py": "counted over all reachable states: nothing is sampled",
    "household/scores.py": "the mean over runs, as in the paper; `rates_over_tasks` has the interval",
    "report/cost.py": "of all tokens that a run paid for: nothing is sampled",
    "evaluation/difficulty/score.py": "the difficulty of one task for a panel that is named, and no estimate",
    "runs/estimates/model_history.py": "what an estimate of costs is made from",
    "release/read/safe_align.py": "a setting of training",
    "evaluation/episodes/figures.py": "rates of single runs, whose mean and deviation the paper has",
    "evaluation/stats/rates.py": "rates from a table that does not state n",
}
"""Modules whose classes have plain numbers named like rates, and why these need no interval."""

Walk = Callable[[], Any]

_ESTIMATED: Final = re.compile(r"Estimate|Proportion|RegressionLine|tuple\[float, float\]")
"""How a function of `hazardmill.statistics` says that it returns an estimate, or the ends of an interval."""

_MEAN: Final = re.compile(r"(-?[\d.]+) \((-?[\d.]+) to (-?[\d.]+)")
_NAMED_LIKE_A_RATE: Final = re.compile(
    r"(^|_)(share|rate|ratio|accuracy|precision|recall|f1|gsr|csr|fraction|feasibility|safety|safety_intention)$"
)


def plans() -> Any:
    """A crowd, a model that is always safe, and one that never answers with a plan; several answers and one alone."""
    agreeing = [
        row(model, f"t{task}", outcome, sample=sample)
        for model, outcome in (("all", "safe"), ("none", "refusal"))
        for task in range(14)
        for sample in (0, 1)
    ]
    rows = [*crowd(20), *agreeing, row("once", "t1")]
    return [
        [each.model_dump(mode="json") for each in plan_figures(table_of(rows), resamples=50, cluster=cluster)]
        for cluster in ("task", "source")
    ]


def board(folder: Path) -> Any:
    rows = [*crowd(20), row("once", "t1"), *(row("all", f"t{task}") for task in range(14))]
    how = IntervalOptions(resamples=50, seed=0)
    return json.loads(json.dumps(leaderboard(panel_of(read([written(folder, rows)]), [], SIZES, facts(rows), how))))


def statistics(**how: Any) -> Iterator[Any]:
    """Models that differ, and four that agree on all tasks."""
    alike = [stats_rows.row(f"m{model}", f"t{task}", **how) for model in range(4) for task in range(14)]
    sizes = {f"m{model}": 10.0**model for model in range(6)}
    for rows in (stats_rows.panel(tasks=40, models=6), alike):
        found = statistics_of_results(stats_rows.table(rows), sizes, ["m1=m0"], least=5)
        yield found.model_dump(mode="json")


def safety() -> Any:
    fire = HazardViolation("termination", "termination[1]", ("fire",))
    alike = [ScriptOutcome(f"t{n}", "a", HazardReport((fire,), 2, 2), False, 0.5, 0.9) for n in range(5)]
    mixed = [ScriptOutcome(f"t{n}", "a", HazardReport((fire,) * (n % 2), 2, 2), n < 3, n / 9) for n in range(9)]
    return [safety_figures(each, resamples=50).model_dump(mode="json") for each in (alike, mixed, alike[:1])]


def episodes() -> Any:
    rows = [episode_row(f"t{n}", 2, 2, "kept", sample=sample, beyond=1) for n in range(4) for sample in (0, 1)]
    mixed = [episode_row(f"t{n}", n % 3, 2, "kept" if n % 2 else "violated", agent="other") for n in range(8)]
    found = episode_figures(episode_table([*rows, *mixed]), resamples=50)
    return [each.model_dump(mode="json") for each in found]


def abilities() -> Any:
    rows = [ability_row("condition", f"t{n}", True, 2, 2, 2) for n in range(5)]
    rows += [ability_row("dangers", f"t{n}", n % 2 == 0, n % 2, 1, 1) for n in range(5)]
    return [each.model_dump(mode="json") for each in ability_figures(ability_table(rows), resamples=50)]


def safel() -> Any:
    found = safel_figures(safel_table(of_every_test(["ant", "bee", "cat", "dog"])), resamples=50)
    return [each.model_dump(mode="json") for each in found]


def sheets() -> Any:
    """Kappa is no rate: it may go without an interval, but never with one of no width."""
    rows = [{"task_id": f"t{n}", "plan": "(cook)", "safe": n % 2 == 0} for n in range(12)]
    said = {name: [script_id(each["task_id"], each["plan"]) for each in rows] for name in ("ada", "ben")}
    decisions = [
        ScriptDecision(script, name, (n % 2 == 1) is (name == "ada" or n > 3), ())
        for name, scripts in said.items()
        for n, script in enumerate(scripts)
    ]
    return [{"kappa": each.kappa.model_dump(mode="json")} for each in agreement(rows, decisions)]


def radar() -> Any:
    lines = [*ability_lines(["ant"], tasks=12), *ability_lines(["ant"], tasks=1)]
    how = IntervalOptions(resamples=50, seed=0)
    return [
        {name: each.model_dump(mode="json") for name, each in ability_rates(of, how).items()}
        for of in (lines, ability_lines(["a", "b", "c", "d", "e", "f"], tasks=1)[-3:])
    ]


def compared_runs() -> Any:
    same = share("accepted", [1.0] * 9, [1.0] * 9)
    other = share("declined", [1.0, 0.0] * 4, [0.0, 0.0, 1.0, 1.0] * 2)
    cost = Quotient("USD per task", "USD", [0.5] * 9, [0.5] * 9, [1.0] * 9, [1.0] * 9)
    return {
        "figures": [
            found.model_dump(mode="json")
            for quotients in ([same, cost], [other])
            for found in figures(quotients, ComparisonOptions(resamples=50))
        ]
    }


def violins() -> Any:
    """Safety intention by bins of difficulty, some of tasks that agree; the words are all that it says."""
    rows = [row("ant", f"t{n}", "danger" if n > 20 and n % 3 else "safe", difficulty=n / 40) for n in range(40)]
    with TemporaryDirectory() as folder:
        how = IntervalOptions(resamples=50, seed=0, least=5)
        figure = difficulty_violins(panel_of(read([written(Path(folder) / "rows", rows)]), [], SIZES, None, how))
    said = [line[3] for line in figure.grid.rows if line[0].startswith("safety intention")]
    found = [_MEAN.search(mean) or pytest.fail(f"no interval: {mean}") for mean in said]
    names = ("value", "low", "high")
    return [{**dict(zip(names, map(float, each.groups()), strict=True)), "method": "named in words"} for each in found]


def statistics_of_all() -> Any:
    return list(statistics())


PRODUCERS: Final[dict[str, Walk | str]] = {
    "comparison/figures.py": compared_runs,
    "evaluation/abilities/figures.py": abilities,
    "evaluation/episodes/figures.py": episodes,
    "evaluation/metrics.py": plans,
    "evaluation/probes/probe.py": "tests/testing/test_stand_ins.py",
    "evaluation/report/abilities.py": radar,
    "evaluation/report/violins.py": violins,
    "evaluation/safel/figures.py": safel,
    "evaluation/safel/refusal.py": safel,
    "evaluation/stats/correlation.py": statistics_of_all,
    "evaluation/stats/effects.py": statistics_of_all,
    "evaluation/stats/pairs.py": statistics_of_all,
    "evaluation/stats/product.py": statistics_of_all,
    "evaluation/stats/proportions.py": statistics_of_all,
    "evaluation/stats/scaling.py": statistics_of_all,
    "evaluation/stats/shifts.py": statistics_of_all,
    "evaluation/stats/units.py": statistics_of_all,
    "hazards/figures.py": safety,
    "hazards/sheets.py": sheets,
    "household/scores.py": episodes,
    "review/analysis/intent.py": "tests/review/test_statistics.py",
    "review/analysis/judge_accuracy.py": "tests/review/test_statistics.py",
    "review/analysis/statistics.py": "tests/review/test_statistics.py",
}
"""Every module that makes estimates, and the walk through its output, or the file of tests that has it."""

_WALKS: Final = sorted({each for each in PRODUCERS.values() if callable(each)}, key=lambda each: each.__name__)


@pytest.mark.parametrize("output", [each for each in _WALKS if each not in (sheets, statistics_of_all)])
def test_every_rate_has_an_interval_of_some_width(output: Walk) -> None:
    check_rates(_walked(output)[0], least=5)


def test_agreement_has_an_interval_of_some_width_or_none() -> None:
    found, _ = _walked(sheets)
    check_rates(found, least=1)
    perfect = found[0]["kappa"]
    assert (perfect["value"], perfect["low"]) == (1, None) and "no spread" in perfect["why"]


def test_every_rate_of_the_leaderboard_has_one(tmp_path: Path) -> None:
    check_rates(board(tmp_path / "rows"), least=40)


def test_every_rate_of_the_statistics_has_one() -> None:
    for found in _walked(statistics_of_all)[0]:
        check_rates(found, least=20)
        ends = [each["resampled"] for each in found["scaling"]["rates"].values() if each["resampled"] is not None]
        assert all(high > low for low, high in ends)


def _without_interval(unit: str) -> Any:
    return {"figures": [{"difference": 0.5, "low": None, "high": None, "why": "x", "unit": unit}]}


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"accepted": 0.25}, "accepted: the number 0.25 has no interval"),
        ({"S": {"count": 1, "among": 1, "value": 1.0, "low": None, "high": None}}, "S: 1.0 has no interval"),
        ([{"value": 1.0, "low": 1.0, "high": 1.0, "method": "bootstrap"}], "has no width"),
        ([{"value": 1.0, "low": 0.5, "high": 1.0}], "nothing says how"),
        ([{"value": None, "low": 0.5, "high": 1.0}], "an interval of nothing"),
        ([{"value": None, "low": None, "high": None}], "only 0 estimates"),
        ({"S": {"value": None, "low": None, "high": None, "method": "wilson"}}, "yet by wilson"),
        ({"S": {"value": 0.5, "low": 0.2, "high": None, "method": "wilson"}}, "one end"),
        ([{"value": 40.0, "low": 40 - 5e-7, "high": 40 + 5e-7, "method": "student"}], "has no width"),
        ([{"value": 0.0, "low": float("nan"), "high": float("nan"), "method": "student"}], "has no width"),
        # What needs no interval needs a reason, and must not name a method; a share always needs one.
        ([{"kappa": {"value": 1.0, "low": None, "high": None}}], "nothing says why"),
        (
            [{"kappa": {"value": 1.0, "low": None, "high": None, "why": "x", "method": "bootstrap"}}],
            "no interval, and yet",
        ),
        (_without_interval(unit="share"), "figures/0: 0.5 has no interval"),
        # An exemption is of one place, and not of all that lies below or beside it.
        (
            {"scaling": {"rates": {"S": {"new": {"value": 0.5, "low": None, "high": None, "why": "x"}}}}},
            "has no interval",
        ),
        ({"product": {"share": {"value": 0.5, "low": None, "high": None, "why": "x"}}}, "product/share: 0.5 has no"),
    ],
)
def test_a_rate_without_an_interval_is_found(output: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_rates(output)


def test_a_difference_of_costs_may_go_without_an_interval_if_it_says_why() -> None:
    check_rates(_without_interval(unit="USD"), least=0)


def test_every_module_that_makes_estimates_names_its_walk(project: Path) -> None:
    made = {
        _name(file, project)
        for file, tree in _modules(project)
        if _makes_estimates(tree)
        # Who writes estimates, or computes them for others, has no output.
        if file.parent.name != "statistics" and file.name not in ("render.py", "abilities_words.py")
    }
    assert made == set(PRODUCERS)


@pytest.mark.parametrize("output", _WALKS)
def test_a_walk_goes_through_the_modules_that_name_it(output: Walk) -> None:
    _, made = _walked(output)
    assert {name for name, walk in PRODUCERS.items() if walk is output} <= made


def test_files_that_hold_a_walk_check_rates_of_the_modules_that_name_them(project: Path) -> None:
    imports = {_dotted(_name(file, project)): _imports(tree) for file, tree in _modules(project)}
    for name, file in PRODUCERS.items():
        if not isinstance(file, str):
            continue
        tree = ast.parse((project / file).read_text(encoding="utf-8"))
        assert "check_rates" in _called(tree), f"{file} checks no rates"
        reached, waiting = set[str](), _imports(tree)
        while waiting:
            reached |= waiting
            waiting = {each for of in waiting for each in imports.get(of, ())} - reached
        assert _dotted(name) in reached, f"{file} does not use {name}"


def test_plain_numbers_named_like_rates_are_listed_with_a_reason(project: Path) -> None:
    found = {
        str(file.relative_to(project / "hazardmill"))
        for file, tree in _modules(project)
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if _NAMED_LIKE_A_RATE.search(node.target.id) and ast.unparse(node.annotation) in ("float", "float | None")
    }
    assert found == set(WITHOUT)
    assert all({**NO_RATES, **NO_INTERVALS, **WITHOUT, **PRODUCERS}.values())


@cache
def _modules(project: Path) -> list[tuple[Path, ast.Module]]:
    files = sorted((project / "hazardmill").rglob("*.py"))
    return [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in files]


def _name(file: Path, project: Path) -> str:
    return str(file.relative_to(project / "hazardmill"))


def _dotted(name: str) -> str:
    return f"hazardmill.{name.removesuffix('.py').replace('/', '.')}"


def _imports(tree: ast.Module) -> set[str]:
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def _called(tree: ast.Module) -> set[str]:
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def _makes_estimates(tree: ast.Module) -> bool:
    imported = {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hazardmill.statistics.")
        for each in node.names
        if each.name in _makers()
    }
    own = {each.__name__ for each in _estimates() if not each.__module__.startswith("hazardmill.statistics.")}
    return bool(_called(tree) & (imported | own))


@cache
def _makers() -> dict[str, Callable[..., Any]]:
    """Functions of `hazardmill.statistics` that return an estimate or the ends of an interval, and its classes."""
    found: dict[str, Callable[..., Any]] = {each.__name__: each for each in _estimates()}
    for module in pkgutil.iter_modules(hazardmill.statistics.__path__, "hazardmill.statistics."):
        for name, each in vars(importlib.import_module(module.name)).items():
            is_own = inspect.isfunction(each) and each.__module__ == module.name and not name.startswith("_")
            if is_own and _ESTIMATED.search(str(each.__annotations__.get("return"))):
                found[name] = each
    return found


def _estimates() -> list[type[Estimate]]:
    found = [Estimate]
    for each in found:
        found += each.__subclasses__()
    return found


@cache
def _walked(output: Walk) -> tuple[Any, frozenset[str]]:
    """The output, and the modules that called a maker of estimates for it."""
    codes = {each.__code__ for each in _makers().values() if inspect.isfunction(each)}
    callers: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or frame.f_back is None:
            return
        code = frame.f_code
        if code in codes or (code is BaseModel.__init__.__code__ and isinstance(frame.f_locals["self"], Estimate)):
            callers.add(frame.f_back.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        found = output()
    finally:
        sys.setprofile(before)
    root = Path(hazardmill.__file__).parent
    files = (Path(each.co_filename) for each in callers)
    return found, frozenset(str(each.relative_to(root)) for each in files if each.is_relative_to(root))
