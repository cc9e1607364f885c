"""The report as Markdown: tables, and figures as SVG files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hazardmill import __version__
from hazardmill.evaluation.report.contents import EvaluationReport
from hazardmill.evaluation.report.leaderboard import blocks
from hazardmill.evaluation.report.model_names import RULES
from hazardmill.evaluation.report.samples import FailureSample
from hazardmill.reporting.markdown import grid_markdown, plain
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.reporting.table import Grid
from hazardmill.text.printable import printable

FIGURES: Final = "report-figures"
"""Folder of the figures, beside the file."""

SECTIONS: Final = {
    "What came of the answers": ("outcomes", "losses"),
    "Over models": ("scaling", "product"),
    "Easy and hard tasks": ("difficulty", "shifts", "easy-hard"),
    "Redundancy": ("redundancy",),
    "Abilities and over-caution": ("abilities", "caution"),
}


def render_markdown(it: EvaluationReport) -> tuple[str, dict[str, str]]:
    """The report as Markdown, and its figures: path beside it to SVG."""
    text = "\n\n".join(_blocks(it)) + "\n"
    return text, {_address(figure): f"{figure.standalone}\n" for figure in it.figures.values()}


def _blocks(it: EvaluationReport) -> Iterator[str]:
    yield "# How planners do"
    yield f"Written by hazardmill {__version__}."
    if it.panel.stand_ins:
        names = ", ".join(_code(member.model) for member in it.panel.stand_ins)
        yield (
            f"> **{names}: {RULES}.** Such stand-ins probe whether a release tells of its dangers. They are no "
            "language models, and are not ranked among them."
        )
    yield "\n".join(f"- **{plain(figure)}** {plain(words)}" for figure, words in it.headline)
    if it.notes:
        yield "\n".join(f"- {plain(note)}" for note in it.notes)
    yield "## Leaderboard"
    yield from blocks(it.panel)
    for title, names_of in SECTIONS.items():
        yield f"## {title}"
        for name in names_of:
            yield _picture(it.figures[name])
    yield "## Failures, one of each class"
    if not it.samples:
        yield "No answer fails." if it.panel.members else "There are no answers."
    for sample in it.samples:
        yield from _sample(sample)


def _sample(sample: FailureSample) -> Iterator[str]:
    yield f"### {plain(sample.kind)} ({sample.of:,})"
    yield f"{_code(sample.model)} on {_code(sample.task_id)}, sample {sample.sample}. {plain(sample.words)}"
    if sample.why:
        yield plain(sample.why_words)
        yield "\n".join(f"- {_code(literal)}" for literal in sample.why)
    yield f"The plan: {_code(sample.plan)}" if sample.plan.strip() else "There is no plan."
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
        yield _folded(grid, "The trace")


def _picture(figure: Figure) -> str:
    shown = f"![{plain(' '.join(figure.alt.split()))}]({_address(figure)})"
    note = [plain(figure.note)] if figure.note else []
    return "\n\n".join([f"### {plain(figure.title)}", shown, *note, _folded(figure.grid, "The numbers")])


def _folded(grid: Grid, summary: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n\n{grid_markdown(grid, titled=False)}\n\n</details>"


def _address(figure: Figure) -> str:
    return f"{FIGURES}/{figure.name}.svg"


def _code(text: str) -> str:
    """Within backticks nothing means anything but a backtick."""
    return f"`{printable(text).replace('`', ' ')}`" if text.strip() else "-"
