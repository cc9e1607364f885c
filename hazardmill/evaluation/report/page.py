"""The report as an HTML page: one self-contained file that loads nothing, runs no script and escapes models' text."""

from __future__ import annotations

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

_OWN: Final = Path(__file__).resolve().parent / "templates"


def render_page(it: EvaluationReport) -> str:
    """Return the report as an HTML page."""
    templates = environment(_OWN)
    return templates.get_template("evaluation.html.j2").render(
        it=it,
        figures=it.figures,
        boards=leaderboard_grids(it.panel),
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
