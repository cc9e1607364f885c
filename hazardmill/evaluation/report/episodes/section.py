"""The section on episodes: tables, a figure, what readers must know, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from hazardmill.evaluation.episodes.dialogue import Ending
from hazardmill.evaluation.episodes.figures import HazardFigures
from hazardmill.evaluation.report.episodes.load import EpisodeResults, ReportedActor, compute_actors, conditions
from hazardmill.evaluation.report.model_names import label_model, shorten_name
from hazardmill.evaluation.report.model_results import IntervalOptions
from hazardmill.evaluation.report.safel.marks import MarkStyle, draw_marks, height_of
from hazardmill.evaluation.report.words import render_rate, section_json
from hazardmill.household.monitors import RuleVerdict
from hazardmill.reporting.numbers import NONE, count, decimals, plural
from hazardmill.reporting.svg.drawing import BLUE, GREEN, Figure, draw
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT: Final = "hazardmill-episodes/1"
TITLE: Final = "Household tasks, one action at a time (SPOC)"

_RATES: Final = {
    "GSR": MarkStyle("GSR: items that are met", BLUE, "s"),
    "CSR": MarkStyle("CSR: episodes that meet all items and keep the rule", GREEN, "o"),
}
_STATED: Final = {
    "expected": "Expected and true, 95 %",
    "places": "Place stated rightly, 95 %",
    "holdings": "Hand stated rightly, 95 %",
}
_UNIT: Final = "per cent, 95 % intervals (bootstrap over tasks)"
_LONGEST: Final = 48


@dataclass(frozen=True)
class EpisodesSection:
    """Everything that the report says about episodes.

    Attributes:
        actors: The agents.
        board: The rates of each agent; a dash stands for an undefined value.
        figures: The figures, in the order of the page.
        grids: Further tables: endings, rules, rejected actions, violations by hazard, times from trigger to
            resolution, and what was stated.
        notes: What readers should know about the results, in sentences.
        how: How intervals are computed.
    """

    actors: tuple[ReportedActor, ...]
    board: Grid
    figures: tuple[Figure, ...]
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]
    how: IntervalOptions

    @property
    def headline(self) -> tuple[tuple[str, str], ...]:
        """The most important numbers, each with its words."""
        episodes = sum(each.found.episodes for each in self.actors)
        return (
            (count(len(self.actors)), f"{'agent' if len(self.actors) == 1 else 'agents'} in household episodes"),
            (count(episodes), "episodes of them"),
        )


def make_episodes_section(results: EpisodeResults, how: IntervalOptions) -> EpisodesSection | None:
    """Compute and draw the figures of episodes.

    Args:
        results: The rows and summaries.
        how: How intervals are computed.

    Returns:
        The section; None if there are no episodes at all.
    """
    actors = compute_actors(results, how)
    if not actors:
        return None
    tables = (
        _tabulate_ends,
        _tabulate_rules,
        _tabulate_rejections,
        _tabulate_hazards,
        _tabulate_times,
        _tabulate_statements,
    )
    return EpisodesSection(
        actors=actors,
        board=_board(actors),
        figures=(_draw_rates(actors),),
        grids=tuple(grid for table in tables if (grid := table(actors)).rows),
        notes=tuple(_notes(actors)),
        how=how,
    )


def _board(actors: Sequence[ReportedActor]) -> Grid:
    head = ("Agent", "Episodes", "Runs", "GSR, %", "CSR, %", "CSR, 95 %", "Beyond the shortest", "Not ended")
    rows = []
    for each in actors:
        found, rates = each.found, each.found.rates
        rows.append(
            (
                each.name,
                count(found.episodes),
                count(len(found.runs)),
                *(rates[name].text if rates[name].mean is not None else NONE for name in _RATES),
                render_rate(rates["CSR"].over_tasks),
                NONE if found.beyond.value is None else decimals(2)(found.beyond.value),
                NONE if each.summary is None else count(each.summary.missing),
            )
        )
    return Grid("Household episodes by agent", head, tuple(rows))


def _draw_rates(actors: Sequence[ReportedActor]) -> Figure:
    episodes = plural(sum(each.found.episodes for each in actors), "episode")
    title = f"Sub-goals and safe successes (n = {episodes} of {plural(len(actors), 'agent')})"
    heads = ("Agent", *(f"{name}, 95 %" for name in _RATES))
    rates = [[each.found.rates[name].over_tasks for name in _RATES] for each in actors]
    rows = tuple((each.name, *map(render_rate, values)) for each, values in zip(actors, rates, strict=True))
    names = [
        f"{shorten_name(label_model(each.model), _LONGEST)}\n{', '.join(conditions(each.found))}, "
        f"n = {count(each.found.episodes)}"
        for each in actors
    ]

    def paint(axes: Axes) -> None:
        draw_marks(axes, names, rates, [*_RATES.values()], _UNIT)

    alt = "Rates of household episodes by agent. " + "; ".join(f"{row[0]}: GSR {row[1]}, CSR {row[2]}" for row in rows)
    height = height_of(len(actors), len(_RATES))
    return draw("episode-rates", title, f"{alt}.", height, paint, grid=Grid(title, heads, rows), wide=True)


def _tabulate_ends(actors: Sequence[ReportedActor]) -> Grid:
    names = get_args(Ending)
    head = ("Agent", *(name.replace("_", " ") for name in names), "Unreadable answers")
    rows = ((each.name, *_counts(each.found.endings, names), count(each.found.unreadable)) for each in actors)
    return Grid("How episodes ended", head, tuple(rows))


def _tabulate_rules(actors: Sequence[ReportedActor]) -> Grid:
    names = get_args(RuleVerdict)
    rows = ((each.name, *_counts(each.found.rules, names)) for each in actors)
    return Grid("What became of the rules", ("Agent", *names), tuple(rows))


def _tabulate_rejections(actors: Sequence[ReportedActor]) -> Grid:
    rows = [
        (each.name, reason.replace("_", " "), count(number), f"{number / each.found.actions:.1%}".replace("%", " %"))
        for each in actors
        for reason, number in sorted(each.found.rejections.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Grid("Rejected actions by reason", ("Agent", "Reason", "Actions", "Share of actions"), tuple(rows), words=2)


def _tabulate_hazards(actors: Sequence[ReportedActor]) -> Grid:
    names = sorted({name for each in actors for name in each.found.hazards})
    head = ("Agent", *(name.replace("_", " ") for name in names))
    rows = [(each.name, *(_violations(each.found.hazards.get(name)) for name in names)) for each in actors if names]
    return Grid("Episodes that violate the rule, by hazard", head, tuple(rows))


def _violations(found: HazardFigures | None) -> str:
    if found is None:
        return NONE
    left = f", {count(found.open)} left open" if found.open else ""
    return f"{count(found.violated)} of {count(found.episodes)}{left}"


def _tabulate_times(actors: Sequence[ReportedActor]) -> Grid:
    head = ("Agent", "States from trigger to resolution", "Times")
    rows = [
        (each.name, count(wait), count(times)) for each in actors for wait, times in each.found.resolved_after.items()
    ]
    return Grid("How long rules stayed open until they were resolved", head, tuple(rows))


def _tabulate_statements(actors: Sequence[ReportedActor]) -> Grid:
    rows = [
        (each.name, *(render_rate(each.found.stated[name]) for name in _STATED))
        for each in actors
        if any(each.found.stated[name].value is not None for name in _STATED)
    ]
    return Grid("What agents expected and stated, against the world", ("Agent", *_STATED.values()), tuple(rows))


def _counts(found: Mapping[str, int], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(count(found.get(name, 0)) for name in names)


def _notes(actors: Sequence[ReportedActor]) -> Iterator[str]:
    known = [each.summary for each in actors if each.summary is not None]
    if len({summary.tasks_digest for summary in known}) > 1:
        yield "The agents did not act in the same tasks: their rates are not comparable."
    if len({each.found.semantics for each in actors}) > 1:
        yield "Some episodes are judged as the paper reads rules, others as its published evaluator does."
    yield "GSR and CSR are mean and population standard deviation over runs; intervals are over tasks."
    undefined = sum(each.found.undefined for each in actors)
    if undefined:
        yield f"{plural(undefined, 'episode')} without items count in no rate."
    if any(each.stand_in for each in actors):
        yield "Stand-ins follow proved plans of the tasks. They are no models, and are not ranked."


def episode_rows(section: EpisodesSection) -> list[dict[str, Any]]:
    """Return the rows of the leaderboard as JSON values, without ranks; undefined values are null."""
    return [
        {
            "model": each.model,
            "agent": each.found.agent,
            "constraint": each.found.constraint,
            "observe": each.found.observe,
            "hands": each.found.hands,
            "semantics": each.found.semantics,
            "rule_based": each.stand_in,
            "run": each.run,
            "episodes": each.found.episodes,
            "tasks": each.found.tasks,
            **{name: rate.model_dump(mode="json") for name, rate in each.found.rates.items()},
        }
        for each in section.actors
    ]


def episodes_json(section: EpisodesSection) -> str:
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
        }
        for each in section.actors
    ]
    return section_json(FORMAT, rows, section.how, "task")
