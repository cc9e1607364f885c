"""Gather everything that the report says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.evaluation.report.abilities import ability_radar, read_abilities
from hazardmill.evaluation.report.caution import over_caution
from hazardmill.evaluation.report.episodes.load import read_episodes
from hazardmill.evaluation.report.episodes.section import EpisodesSection, make_episodes_section
from hazardmill.evaluation.report.load import ReleaseFacts, check_release, read
from hazardmill.evaluation.report.losses import failure_losses
from hazardmill.evaluation.report.model_names import RULES
from hazardmill.evaluation.report.model_results import IntervalOptions, ResultPanel, panel_of
from hazardmill.evaluation.report.outcomes import outcome_bars
from hazardmill.evaluation.report.product import product_scatter
from hazardmill.evaluation.report.redundancy import redundancy_curves
from hazardmill.evaluation.report.safel.load import read_safel
from hazardmill.evaluation.report.safel.section import SafelSection, make_section
from hazardmill.evaluation.report.safety.load import read_safety
from hazardmill.evaluation.report.safety.section import SafetySection, make_safety_section
from hazardmill.evaluation.report.samples import FailureSample, failure_samples
from hazardmill.evaluation.report.shifts import category_shifts, easy_and_hard
from hazardmill.evaluation.report.sizes import scaling_panels
from hazardmill.evaluation.report.violins import difficulty_violins
from hazardmill.evaluation.stats.rates import ModelRates, read_parameters, read_rates
from hazardmill.hazards.sheets import ScriptDecision
from hazardmill.reporting.estimates import render_interval
from hazardmill.reporting.numbers import count, plural, share
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.statistics.bootstrap import RESAMPLES

SECTIONS: Final = {
    "What came of the answers": ("outcomes", "losses"),
    "Over models": ("scaling", "product", "abilities"),
    "Easy and hard tasks": ("difficulty", "shifts", "easy-hard"),
    "Distractors and harmless twins": ("redundancy", "caution"),
}
"""Titles of the sections on plans and abilities, with the names of their figures."""


@dataclass(frozen=True)
class EvaluationReport:
    """What page and Markdown are made from.

    Attributes:
        panel: The figures of every model.
        figures: Drawn figures by name, in the order of the page, those of SAFEL tests, of safety and of episodes
            last.
        samples: Single failures in full.
        headline: The most important numbers, each with its words.
        notes: What readers should know about the results, in sentences.
        safel: The section on SAFEL tests; None without such results.
        safety: The section on harm and success of agents; None without such results.
        episodes: The section on household episodes; None without such results.
    """

    panel: ResultPanel
    figures: dict[str, Figure]
    samples: list[FailureSample]
    headline: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    safel: SafelSection | None = None
    safety: SafetySection | None = None
    episodes: EpisodesSection | None = None

    @property
    def sections(self) -> dict[str, tuple[Figure, ...]]:
        """Titles of the sections of ``SECTIONS``, with their figures that have data; those without any are left out."""
        drawn = {
            title: tuple(self.figures[name] for name in names if self.figures[name].lacks is None)
            for title, names in SECTIONS.items()
        }
        return {title: figures for title, figures in drawn.items() if figures}

    @property
    def missing(self) -> tuple[Figure, ...]:
        """Figures without data: they are named with what they lack, and not shown."""
        return tuple(figure for figure in self.figures.values() if figure.lacks is not None)


def gather(
    paths: Sequence[Path],
    table: Path | None = None,
    release: ReleaseFacts | None = None,
    how: IntervalOptions | None = None,
    decisions: Sequence[ScriptDecision] = (),
) -> EvaluationReport:
    """Read the results, compute the figures, and draw them.

    Args:
        paths: Folders or files of results.
        table: A CSV table of models with their sizes; without results, also with their rates.
        release: The release that was evaluated on; None where it is unknown.
        how: How intervals and bins are computed; None for the defaults.
        decisions: What people said of scripts, on sheets of `hazards seeds`.

    Returns:
        The figures of all models, as numbers and drawn, with samples of failures and notes on the results.

    Raises:
        InputError: The input cannot be used, or is about another release.
    """
    how = how or IntervalOptions(resamples=RESAMPLES, seed=0)
    results = read(paths)
    abilities = read_abilities(results.folders)
    safel_results = read_safel(results.folders)
    safety_results = read_safety(results.folders)
    episode_results = read_episodes(results.folders)
    if release is not None:
        others = safel_results.tasks | safety_results.tasks | episode_results.tasks
        check_release(results, release, {line.task_id for line in abilities} | others)
    rates, sizes, notes = _table(table, bool(paths))
    panel = panel_of(results, rates, sizes, release, how)
    strange = sorted(sizes.keys() - set(results.rows["asked"].to_pylist())) if paths else []
    if strange:
        notes.append(f"The table has {plural(len(strange), 'model')} without results, left out: {', '.join(strange)}.")
    drawn = [
        outcome_bars(panel),
        failure_losses(panel),
        scaling_panels(panel),
        product_scatter(panel),
        difficulty_violins(panel),
        category_shifts(panel),
        easy_and_hard(panel),
        redundancy_curves(panel),
        ability_radar(abilities, how),
        over_caution(panel),
    ]
    safel = make_section(safel_results, how)
    safety = make_safety_section(safety_results, how, decisions)
    episodes = make_episodes_section(episode_results, how)
    sections = [section for section in (safel, safety, episodes) if section is not None]
    drawn += [figure for section in sections for figure in section.figures]
    return EvaluationReport(
        panel=panel,
        figures={figure.name: figure for figure in drawn},
        samples=failure_samples(panel),
        headline=(*_headline(panel), *(tile for section in sections for tile in section.headline)),
        notes=(*notes, *_notes(panel)),
        safel=safel,
        safety=safety,
        episodes=episodes,
    )


def _table(table: Path | None, results: bool) -> tuple[list[ModelRates], Mapping[str, float], list[str]]:
    """Return rates, sizes and notes of a table of models."""
    if table is None:
        return [], {}, []
    if results:
        return [], read_parameters(table), []
    rates, notes = read_rates(table)
    if not rates:
        raise InputError(
            "there are no models", file=str(table), remedy="write one line per model below the column heads"
        )
    return rates, {}, [f"{note[:1].upper()}{note[1:]}." for note in notes]


def _headline(panel: ResultPanel) -> tuple[tuple[str, str], ...]:
    if panel.from_table:
        return ((count(len(panel.rates)), "models in a table of rates"), ("0", "answers"))
    answers = sum(member.judged for member in panel.members)
    tiles = [
        (count(len(panel.models)), _name_compared(panel)),
        (count(panel.tasks), "tasks with a safe plan"),
        (count(answers), "answers on them"),
    ]
    if panel.stand_ins:
        tiles.insert(
            1, (count(len(panel.stand_ins)), f"{'stand-in' if len(panel.stand_ins) == 1 else 'stand-ins'} ({RULES})")
        )
    known = [rate for member in panel.models if (rate := member.figures.rates["S"]).value is not None]
    if known:
        best = max(known, key=lambda rate: rate.value or 0.0)
        interval = render_interval(best, lambda end: f"{100 * end:.1f}")
        words = "safe, the best" if len(known) > 1 else "safe"
        tiles.append((share(best.value), f"{words} (95 % interval {interval})"))
    return tuple(tiles)


def _name_compared(panel: ResultPanel) -> str:
    """Return what the members are, as far as it is known: models that were asked, or files that may be by anybody."""
    one = len(panel.models) == 1
    if all(any(run.prompt_hash is not None for run in member.runs) for member in panel.models):
        return "language model" if one else "language models"
    return "model or file of plans" if one else "models or files of plans"


def _notes(panel: ResultPanel) -> list[str]:
    found = []
    if len({member.task_set for member in panel.models}) > 1:
        found.append(
            "The models did not answer the same tasks: their rates are not comparable, and they are ranked separately."
        )
    lost = sum(member.figures.unavoidable for member in panel.members)
    if lost:
        found.append(f"{plural(lost, 'answer')} on tasks that are proved to have no safe plan are left out of figures.")
    several = max((max(member.figures.samples, default=1) for member in panel.members), default=1)
    if several > 1:
        found.append(f"A model has up to {several} answers per task: n counts answers, intervals resample whole tasks.")
    return found
