"""Draw the three abilities on a radar, and read the lines in which scores of them are kept.

A folder of results may hold ``abilities.jsonl``: one line per scored answer, as ``ability_line`` makes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from pydantic import Field, ValidationError

from hazardmill.errors import InputError
from hazardmill.evaluation.abilities.abilities import (
    AlternativeScore,
    AnswerOverlap,
    ConditionScore,
    DangersScore,
    Score,
)
from hazardmill.evaluation.report.load import ABILITIES
from hazardmill.evaluation.report.model_names import is_stand_in, label_model, name_with_run, shorten_name
from hazardmill.evaluation.report.model_results import IntervalOptions
from hazardmill.evaluation.report.words import interval, render_rate
from hazardmill.records import FrozenModel, Text
from hazardmill.reporting.numbers import count, plural
from hazardmill.reporting.svg.axes import draw_missing, series_style
from hazardmill.reporting.svg.drawing import Figure, draw
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import LEVEL, Estimate
from hazardmill.statistics.ratios import estimate_ratios

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILE: Final = ABILITIES

AXES: Final = {
    "steps": "dangerous steps\nfound (F1)",
    "types": "with danger type\n(F1)",
    "condition": "condition\n(F1)",
    "equal": "condition\nequal",
    "feasible": "alternative\nfeasible",
    "safe": "alternative\nsafe",
}
"""Axes of the radar, each a ratio of two sums over tasks."""

Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class AbilityLine(FrozenModel):
    """One scored answer: what it adds to numerator and denominator of each ratio.

    Attributes:
        run: Run that asked.
        model: Model that answered.
        task_id: The task.
        sample: Number of the draw, from 0.
        ability: The ability that was asked about.
        status: How the answer ended.
        parts: Name of a ratio, as in ``AXES``, to its numerator and denominator; ratios without a value are missing.
    """

    run: Text
    model: Text
    task_id: Text
    sample: Annotated[int, Field(ge=0)] = 0
    ability: str
    status: str
    parts: dict[str, tuple[Number, Number]]


def ability_line(run: str, model: str, task_id: str, score: Score, sample: int = 0) -> AbilityLine:
    """Return the line of a score; ``model_dump_json`` writes it.

    Args:
        run: Run that asked.
        model: Model that answered.
        task_id: The task.
        score: Score of the answer (``hazardmill.evaluation.abilities``).
        sample: Number of the draw, from 0.
    """
    parts: dict[str, tuple[float, float]]
    if isinstance(score, DangersScore):
        ability, parts = "dangers", {"steps": _f1(score.steps), "types": _f1(score.types)}
    elif isinstance(score, ConditionScore):
        ability, parts = "condition", {}
        if score.situations is not None:
            parts["condition"] = _f1(score.situations)
        if score.equal is not None:
            parts["equal"] = (float(score.equal), 1.0)
    else:
        assert isinstance(score, AlternativeScore), "there are three"
        ability, parts = "alternative", {"feasible": (float(score.score > 0), 1.0), "safe": (float(score.found), 1.0)}
    return AbilityLine(
        run=run, model=model, task_id=task_id, sample=sample, ability=ability, status=score.status, parts=parts
    )


def _f1(overlap: AnswerOverlap) -> tuple[float, float]:
    """Return numerator and denominator of F1, such that their sums over tasks give the pooled F1."""
    return 2.0 * overlap.hits, float(overlap.named + overlap.true)


def read_abilities(folders: Iterable[Path]) -> list[AbilityLine]:
    """Return the lines of abilities of all folders that have any.

    A model that several runs asked about the same ability counts once per run, under a name with the run in it.

    Args:
        folders: Folders of results; those without ``abilities.jsonl`` are skipped.

    Raises:
        InputError: A file cannot be read, a line is malformed, or a run is in two folders.
    """
    lines: list[AbilityLine] = []
    files: dict[str, Path] = {}
    for folder in folders:
        file = folder / FILE
        if file.is_file():
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(
                    f"the file cannot be read: {error}",
                    file=str(file),
                    remedy="check that it is a readable UTF-8 file, or write it again: see docs/evaluation-report.md",
                ) from error
            found = [_line(file, number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
            for run in sorted({line.run for line in found}):
                if run in files:
                    raise InputError(
                        f"run {run} is also in {files[run]}", file=str(file), remedy="name each evaluation once"
                    )
                files[run] = file
            lines += found
    return _distinguish_models(lines)


def _distinguish_models(lines: Sequence[AbilityLine]) -> list[AbilityLine]:
    runs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in lines:
        runs[line.model, line.ability].add(line.run)
    several = {model for (model, _), of in runs.items() if len(of) > 1}
    return [
        line.model_copy(update={"model": name_with_run(line.model, line.run)}) if line.model in several else line
        for line in lines
    ]


def _line(file: Path, number: int, text: str) -> AbilityLine:
    try:
        line = AbilityLine.model_validate_json(text)
        if line.parts.keys() <= AXES.keys():
            return line
        wrong = f"no ratio is called {min(line.parts.keys() - AXES.keys())[:40]!r}"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise InputError(
        wrong,
        file=str(file),
        line=number,
        remedy="write each line with hazardmill.evaluation.report.abilities.ability_line: see "
        "docs/evaluation-report.md",
    )


def ability_radar(lines: Sequence[AbilityLine], how: IntervalOptions) -> Figure:
    """Draw one line per model on a radar, with the band of its intervals.

    Args:
        lines: The scored answers.
        how: How intervals are computed.

    Returns:
        The figure ``abilities``; a placeholder if there are no lines.
    """
    tasks = len({line.task_id for line in lines})
    title = f"Abilities, asked about separately (n = {plural(len(lines), 'answer')} on {plural(tasks, 'task')})"
    found = {model: ability_rates([line for line in lines if line.model == model], how) for model in _models(lines)}
    names = [" ".join(words.split()) for words in AXES.values()]
    grid = Grid(
        title,
        ("Model", "Answers", *(f"{name}, 95 %" for name in names)),
        tuple(
            (
                label_model(model),
                count(sum(line.model == model for line in lines)),
                *(f"{render_rate(rates[name])}, n {rates[name].n}" for name in AXES),
            )
            for model, rates in found.items()
        ),
    )
    if not lines:
        return draw_missing("abilities", title, f"no folder of results holds {FILE}", grid)

    def paint(axes: Axes) -> None:
        _paint(axes, found)

    said = "; ".join(
        f"{label_model(model)}: "
        + ", ".join(f"{name} {render_rate(rates[key])}" for name, key in zip(names, AXES, strict=True))
        for model, rates in found.items()
    )
    note = "Per cent, from 0 in the middle to 100; bands are 95 % intervals over tasks. Gaps are unknown values."
    height = 4.6 + 0.2 * len(found)
    return draw("abilities", title, f"Radar of abilities by model. {said}.", height, paint, grid=grid, note=note)


def _models(lines: Sequence[AbilityLine]) -> list[str]:
    return sorted({line.model for line in lines}, key=lambda model: (is_stand_in(model), model))


def ability_rates(lines: Sequence[AbilityLine], how: IntervalOptions) -> dict[str, Estimate]:
    """Return the ratios of one model, with intervals over tasks.

    Args:
        lines: The scored answers of the model.
        how: How intervals are computed.
    """
    sums: dict[str, dict[str, tuple[float, float]]] = {name: defaultdict(lambda: (0.0, 0.0)) for name in AXES}
    for line in lines:
        for name, (above, below) in line.parts.items():
            before = sums[name][line.task_id]
            sums[name][line.task_id] = (before[0] + above, before[1] + below)
    return {name: _ratio(of, how) for name, of in sums.items()}


def _ratio(by_task: Mapping[str, tuple[float, float]], how: IntervalOptions) -> Estimate:
    values = np.array([by_task[task] for task in sorted(by_task)], dtype=np.float64).reshape(-1, 2)
    (found,) = estimate_ratios(values[:, :1], values[:, 1:], resamples=how.resamples, level=LEVEL, seed=how.seed)
    return found.model_copy(update={"n": int((values[:, 1] > 0).sum())})


def _paint(axes: Axes, found: Mapping[str, Mapping[str, Estimate]]) -> None:
    figure = axes.figure
    axes.remove()
    radar: Any = figure.add_subplot(projection="polar")
    angles = [2 * np.pi * place / len(AXES) for place in range(len(AXES))]
    for number, (model, rates) in enumerate(found.items()):
        reaches = [interval(rates[name]) for name in AXES]
        closed = [*reaches, reaches[0]]
        around = [*angles, 2 * np.pi]
        values = [np.nan if reach is None else reach[0] for reach in closed]
        drawn = series_style(number)
        radar.plot(around, values, label=shorten_name(model), linewidth=1.6, markersize=4, clip_on=False, **drawn)
        low, high = ([np.nan if reach is None else reach[end] for reach in closed] for end in (1, 2))
        radar.fill_between(around, low, high, color=drawn["color"], alpha=0.13, linewidth=0)
    radar.set_theta_offset(np.pi / 2)
    radar.set_theta_direction(-1)
    radar.set_xticks(angles, list(AXES.values()))
    radar.tick_params(axis="x", pad=20, labelsize=8.5)
    radar.set_ylim(0, 100)
    radar.set_yticks([25, 50, 75, 100], ["25", "50", "75", "100 %"], fontsize=7.5)
    radar.spines["polar"].set_visible(False)
    figure.legend(*radar.get_legend_handles_labels(), loc="outside lower left", ncols=1)
