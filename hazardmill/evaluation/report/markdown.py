"""The report as Markdown: tables, and figures as separate SVG files."""

from __future__ import annotations

from collections.abc import Iterator

from hazardmill import __version__
from hazardmill.evaluation.report.contents import EvaluationReport
from hazardmill.evaluation.report.episodes.section import TITLE as EPISODES_TITLE
from hazardmill.evaluation.report.episodes.section import EpisodesSection
from hazardmill.evaluation.report.leaderboard import blocks
from hazardmill.evaluation.report.model_names import RULES
from hazardmill.evaluation.report.safel.section import TITLE as SAFEL_TITLE
from hazardmill.evaluation.report.safel.section import SafelSection
from hazardmill.evaluation.report.safety.section import TITLE as SAFETY_TITLE
from hazardmill.evaluation.report.safety.section import SafetySection
from hazardmill.evaluation.report.samples import FailureSample
from hazardmill.reporting.markdown import code, escape_markdown, figure_files, figure_markdown, fold_grid, grid_markdown
from hazardmill.reporting.table import Grid


def render_markdown(it: EvaluationReport) -> tuple[str, dict[str, str]]:
    """Return the report as Markdown, and its figures.

    Args:
        it: The report.

    Returns:
        The text, and the path of each figure, relative to the text, to its SVG.
    """
    text = "\n\n".join(_blocks(it)) + "\n"
    return text, figure_files(figure for figure in it.figures.values() if figure.lacks is None)


def _blocks(it: EvaluationReport) -> Iterator[str]:
    yield "# How planners do"
    yield f"Written by hazardmill {__version__}."
    if it.panel.stand_ins:
        names = ", ".join(code(member.model) for member in it.panel.stand_ins)
        yield (
            f"> **{names}: {RULES}.** Such stand-ins probe whether a release gives its dangers away. They are not "
            "language models, and are not ranked among them."
        )
    yield "\n".join(f"- **{escape_markdown(figure)}** {escape_markdown(words)}" for figure, words in it.headline)
    if it.notes:
        yield "\n".join(f"- {escape_markdown(note)}" for note in it.notes)
    yield "## Leaderboard"
    yield from blocks(it.panel, it.safety, it.episodes)
    for title, figures in it.sections.items():
        yield f"## {title}"
        yield from map(figure_markdown, figures)
    if it.safel is not None:
        yield from _safel(it.safel)
    if it.safety is not None:
        yield from _safety(it.safety)
    if it.episodes is not None:
        yield from _episodes(it.episodes)
    yield "## Failures, one of each class"
    if not it.samples:
        yield "No answer fails." if it.panel.members else "There are no answers."
    for sample in it.samples:
        yield from _sample(sample)
    if it.missing:
        yield "## Figures without data"
        yield "\n".join(f"- {escape_markdown(f'{each.title}: {each.lacks}')}" for each in it.missing)


def _safel(section: SafelSection) -> Iterator[str]:
    yield f"## {SAFEL_TITLE}"
    if section.notes:
        yield "\n".join(f"- {escape_markdown(note)}" for note in section.notes)
    for figure in section.figures:
        yield figure_markdown(figure)
    if section.hazards is not None:
        yield grid_markdown(section.hazards)


def _safety(section: SafetySection) -> Iterator[str]:
    yield f"## {SAFETY_TITLE}"
    if section.notes:
        yield "\n".join(f"- {escape_markdown(note)}" for note in section.notes)
    for figure in section.figures:
        yield figure_markdown(figure)
    yield grid_markdown(section.violations)
    if section.agreement is not None:
        yield grid_markdown(section.agreement)


def _episodes(section: EpisodesSection) -> Iterator[str]:
    yield f"## {EPISODES_TITLE}"
    if section.notes:
        yield "\n".join(f"- {escape_markdown(note)}" for note in section.notes)
    for figure in section.figures:
        yield figure_markdown(figure)
    for grid in section.grids:
        yield grid_markdown(grid)


def _sample(sample: FailureSample) -> Iterator[str]:
    yield f"### {escape_markdown(sample.kind)} ({sample.of:,})"
    yield f"{code(sample.model)} on {code(sample.task_id)}, sample {sample.sample}. {escape_markdown(sample.words)}"
    if sample.why:
        yield escape_markdown(sample.why_words)
        yield "\n".join(f"- {code(literal)}" for literal in sample.why)
    yield f"The plan: {code(sample.plan)}" if sample.plan.strip() else "There is no plan."
    if sample.steps:
        lines = tuple(
            (
                str(step.step),
                step.action,
                "yes" if step.applicable else "FAILED",
                f"{step.danger:+d}" if step.danger else "",
            )
            for step in sample.steps
        )
        grid = Grid("Trace", ("Step", "Action", "Can be done", "Danger"), lines, words=3)
        yield fold_grid(grid, "The trace")
