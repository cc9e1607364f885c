"""The report as an HTML page: one self-contained file that loads nothing, runs no script and escapes models' text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from hazardmill import __version__
from hazardmill.evaluation.report.contents import EvaluationReport
from hazardmill.evaluation.report.episodes.section import TITLE as EPISODES_TITLE
from hazardmill.evaluation.report.leaderboard import leaderboard_grids, notes, origin_grid
from hazardmill.evaluation.report.model_names import RULES, label_model
from hazardmill.evaluation.report.safel.section import TITLE as SAFEL_TITLE
from hazardmill.evaluation.report.safety.section import TITLE as SAFETY_TITLE
from hazardmill.reporting.html import environment
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import LEVEL

_OWN: Final = Path(__file__).resolve().parent / "templates"


def _stack_intervals(board: Grid) -> Grid:
    """Return the leaderboard with intervals and their methods on lines below the rates, so that it fits a page."""

    def stack(cell: str) -> str:
        for separator in (" (", "), ", ", "):
            cell = cell.replace(separator, "\n")
        return cell.removesuffix(")")

    return replace(
        board,
        title=f"{board.title}; below each rate: its {100 * LEVEL:.0f} % interval",
        head=tuple(name.partition(",")[0] for name in board.head),
        rows=tuple((*row[: board.words], *map(stack, row[board.words :])) for row in board.rows),
    )


def render_page(it: EvaluationReport) -> str:
    """Return the report as an HTML page."""
    templates = environment(_OWN)
    return templates.get_template("evaluation.html.j2").render(
        it=it,
        boards=[_stack_intervals(board) for board in leaderboard_grids(it.panel)],
        origin=origin_grid(it.panel),
        board_notes=notes(it.panel),
        stand_ins=[label_model(member.model) for member in it.panel.stand_ins],
        only_stand_ins=bool(it.panel.stand_ins) and not it.panel.models,
        rules=RULES,
        safel_title=SAFEL_TITLE,
        safety_title=SAFETY_TITLE,
        episodes_title=EPISODES_TITLE,
        version=__version__,
    )
