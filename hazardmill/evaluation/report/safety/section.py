"""The section on harm and success of agents: tables, figures, what readers must know, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hazardmill.evaluation.report.model_names import shorten_name
from hazardmill.evaluation.report.model_results import IntervalOptions
from hazardmill.evaluation.report.safel.marks import MarkStyle, draw_marks, height_of
from hazardmill.evaluation.report.safety.load import ReportedAgent, SafetyResults, compute_agents
from hazardmill.evaluation.report.words import render_rate, section_json
from hazardmill.hazards.figures import KINDS, ViolationFigures
from hazardmill.hazards.sheets import DetectorAgreement, ScriptDecision, agreement
from hazardmill.reporting.estimates import render_estimate
from hazardmill.reporting.numbers import NONE, count, decimals, plural
from hazardmill.reporting.svg.drawing import BLUE, GREEN, INK, ORANGE, VERMILION, Figure, draw
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT: Final = "hazardmill-safety/1"
TITLE: Final = "Harm on the way, harm left behind, and success (Safe-BeAl)"

_MAIN: Final = ("SafeR", "SuccR", "SafeR@S", "Rouge-L", "UnsafeR", "Conf")
"""Measures of the leaderboard, in its order."""

_BESIDE: Final = ("SafeR", "SafeR executable", "SafeR acting", "SafeR without inherited", "SuccR", "SafeR@S")
_RATES: Final = {
    "SafeR": MarkStyle("SafeR: scripts that do no harm", GREEN, "o"),
    "SuccR": MarkStyle("SuccR: scripts that succeed", BLUE, "s"),
    "SafeR@S": MarkStyle("SafeR@S: harmless ones among those that succeed", INK, "D", hollow=True),
}
_KIND_MARKS: Final = {
    "process": MarkStyle("process: harm on the way", ORANGE, "^"),
    "termination": MarkStyle("termination: harm left behind", VERMILION, "v"),
}
_LONGEST: Final = 40


@dataclass(frozen=True)
class SafetySection:
    """Everything that the report says about harm and success of agents.

    Attributes:
        agents: The agents.
        board: The columns of the leaderboard; a dash stands for an undefined value.
        figures: The figures, in the order of the page.
        violations: Violations of each agent, by process and termination and by category.
        agreement: Agreement of people with the detector; None where no sheets are given.
        notes: What readers should know about the results, in sentences.
        how: How intervals are computed.
    """

    agents: tuple[ReportedAgent, ...]
    board: Grid
    figures: tuple[Figure, ...]
    violations: Grid
    agreement: Grid | None
    notes: tuple[str, ...]
    how: IntervalOptions

    @property
    def headline(self) -> tuple[tuple[str, str], ...]:
        """The most important numbers, each with its words."""
        scripts = sum(each.found.figures.scripts for each in self.agents)
        return (
            (count(len(self.agents)), f"{'agent' if len(self.agents) == 1 else 'agents'} judged for harm and success"),
            (count(scripts), "scripts of them"),
        )


def make_safety_section(
    results: SafetyResults, how: IntervalOptions, decisions: Sequence[ScriptDecision] = ()
) -> SafetySection | None:
    """Compute and draw the figures of safety.

    Args:
        results: The rows and summaries.
        how: How intervals are computed.
        decisions: What people said of scripts.

    Returns:
        The section; None if there are no safety results at all.
    """
    agents = compute_agents(results, how)
    if not agents:
        return None
    return SafetySection(
        agents=agents,
        board=_board(agents),
        figures=(_draw_rates(agents), _draw_kinds(agents)),
        violations=_tabulate_violations(agents),
        agreement=_tabulate_agreement(agreement(results.rows.to_pylist(), decisions, seed=how.seed)),
        notes=tuple(_notes(agents)),
        how=how,
    )


def _board(agents: Sequence[ReportedAgent]) -> Grid:
    head = ("Agent", "Scripts", *(f"{name}, 95 %" for name in _MAIN))
    return Grid("Safety and success by agent", head, tuple(_cells(each, _MAIN) for each in agents))


def _cells(agent: ReportedAgent, names: Sequence[str]) -> tuple[str, ...]:
    measures = agent.found.figures.measures
    return (agent.name, count(agent.found.figures.scripts), *(render_rate(measures[name]) for name in names))


def _draw_rates(agents: Sequence[ReportedAgent]) -> Figure:
    title = f"Safety and success (n = {_scripts(agents)})"
    heads = (
        "Agent",
        "Scripts",
        *(f"{name}, 95 %" for name in _BESIDE),
        "Empty answers and refusals",
        "Missing answers",
    )
    rows = tuple((*_cells(each, _BESIDE), _silent(each), _missing(each)) for each in agents)

    def paint(axes: Axes) -> None:
        values = [[each.found.figures.measures[name] for name in _RATES] for each in agents]
        draw_marks(axes, _names(agents), values, [*_RATES.values()], _UNIT)

    said = "; ".join(f"{row[0]}: SafeR {row[2]}, SuccR {row[6]}, SafeR@S {row[7]}" for row in rows)
    note = (
        "SafeR@S is undefined where no script succeeds. Answers without a plan are judged as the empty plan; SafeR "
        "acting is among answers with an action, SafeR executable among scripts that can be done whole."
    )
    alt = f"Rates of safety and success by agent. {said}."
    height = height_of(len(agents), len(_RATES))
    return draw("safety-rates", title, alt, height, paint, grid=Grid(title, heads, rows), note=note, wide=True)


def _draw_kinds(agents: Sequence[ReportedAgent]) -> Figure:
    title = f"Scripts with harm on the way or left behind (n = {_scripts(agents)})"
    heads = ("Agent", *(f"{kind}, 95 %" for kind in KINDS))
    rows = tuple((each.name, *(render_rate(each.found.figures.kinds[kind].share) for kind in KINDS)) for each in agents)

    def paint(axes: Axes) -> None:
        values = [[each.found.figures.kinds[kind].share for kind in KINDS] for each in agents]
        draw_marks(axes, _names(agents), values, [_KIND_MARKS[kind] for kind in KINDS], _UNIT)

    alt = f"{title}. " + "; ".join(f"{row[0]}: process {row[1]}, termination {row[2]}" for row in rows) + "."
    height = height_of(len(agents), len(KINDS))
    return draw("safety-violations", title, alt, height, paint, grid=Grid(title, heads, rows), wide=True)


_UNIT: Final = "scripts (%), 95 % intervals (bootstrap over tasks)"


def _tabulate_violations(agents: Sequence[ReportedAgent]) -> Grid:
    """Return violations by kind and by category; a category that nobody met has no row."""
    met = {name for each in agents for name, found in each.found.figures.categories.items() if found.count}
    rows = []
    for each in agents:
        figures = each.found.figures
        if not figures.counts["judged"]:
            continue
        shown = [*figures.kinds.items(), *((name, figures.categories.get(name)) for name in sorted(met))]
        rows += [(each.name, name, *_violation_cells(found)) for name, found in shown]
    head = ("Agent", "Kind or category", "Violations", "Scripts with any", "Share of scripts, 95 %")
    return Grid("Violations by agent, kind and category", head, tuple(rows), words=2)


def _violation_cells(found: ViolationFigures | None) -> tuple[str, str, str]:
    # An agent that was judged by another map has other categories.
    if found is None:
        return NONE, NONE, NONE
    return count(found.count), count(found.scripts), render_rate(found.share)


def _tabulate_agreement(found: Sequence[DetectorAgreement]) -> Grid | None:
    if not found:
        return None
    head = ("Reviewer", "Scripts", "Agrees with the detector on", "Kappa, 95 %")
    rows = tuple(
        (each.reviewer, count(each.kappa.n or 0), count(each.agreed), render_estimate(each.kappa, decimals(2)))
        for each in found
    )
    return Grid("People and detector: does a script do harm?", head, rows)


def _notes(agents: Sequence[ReportedAgent]) -> Iterator[str]:
    known = [each.summary for each in agents if each.summary is not None]
    if len({summary.judged_by for summary in known}) > 1:
        yield "The agents were not judged by the same map and switches: their figures are not comparable."
    if len({summary.tasks_digest for summary in known}) > 1:
        yield "The agents did not write scripts for the same tasks: their figures are not comparable."
    undefined = {
        name: sum(each.found.references.get(name, 0) for each in agents)
        for name in ("none", "changes_nothing", "cannot_be_executed")
    }
    if sum(undefined.values()):
        said = ", ".join(f"{count(number)} {name.replace('_', ' ')}" for name, number in undefined.items() if number)
        yield f"Scripts whose reference defines no success: {said} (none: there is no reference)."


def _scripts(agents: Sequence[ReportedAgent]) -> str:
    scripts = plural(sum(each.found.figures.scripts for each in agents), "script")
    return f"{scripts} of {plural(len(agents), 'agent')}"


def _names(agents: Sequence[ReportedAgent]) -> list[str]:
    return [f"{shorten_name(each.name, _LONGEST)}\nn = {count(each.found.figures.scripts)}" for each in agents]


def _silent(agent: ReportedAgent) -> str:
    readings = agent.found.readings
    return count(sum(number for name, number in readings.items() if name != "plan")) if readings else NONE


def _missing(agent: ReportedAgent) -> str:
    return NONE if agent.summary is None else count(agent.summary.missing)


def safety_rows(section: SafetySection) -> list[dict[str, Any]]:
    """Return the rows of the leaderboard as JSON values; undefined values are null."""
    return [
        {
            "model": each.model,
            "agent": each.agent,
            "rule_based": each.stand_in,
            "run": each.run,
            "scripts": each.found.figures.scripts,
            "tasks": each.found.figures.tasks,
            **{name: each.found.figures.measures[name].model_dump(mode="json") for name in _MAIN},
        }
        for each in section.agents
    ]


def safety_json(section: SafetySection) -> str:
    """Return the section as the text of its JSON file; undefined values are null.

    Args:
        section: The section.
    """
    rows = [
        {
            **each.found.model_dump(mode="json"),
            "model": each.model,
            "rule_based": each.stand_in,
            "run": each.run,
            "missing": None if each.summary is None else each.summary.missing,
            "switches": None if each.summary is None else each.summary.switches,
        }
        for each in section.agents
    ]
    return section_json(FORMAT, rows, section.how, "task")
