"""The flow of accepted tasks from source through setting, danger group and danger type to the entity in danger."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hazardmill.records import DangerGroup
from hazardmill.report.dangers import GROUP_COLOURS, TYPES
from hazardmill.reporting.numbers import count, plural
from hazardmill.reporting.svg.drawing import GREEN, INK, MUTED, Figure, blank_unprintable, draw, draw_empty
from hazardmill.reporting.svg.sankey import draw_band, shorten_label
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS: Final = ("source", "setting", "danger group", "danger type", "entity in danger")

MOST: Final = 7
"""How many of the commonest sources and settings are shown separately."""

NOT_SAID: Final = "not said"
"""Stands where the danger formalization has no value."""

_GROUP: Final = STEPS.index("danger group")
_HEIGHT: Final = 5.0
_GAP: Final = 0.2
"""Least distance between two nodes in inches, so that their labels do not touch."""
_MOST_GAP: Final = 0.55
_THICK: Final = 0.16
_APART: Final = 2.02
"""Distance from one step to the next in inches."""
_ALPHA: Final = 0.38
_LABEL: Final = 22
"""Longest label, in characters."""


@dataclass(frozen=True)
class _Node:
    step: int
    name: str
    tasks: int
    top: float
    """Distance from the top in inches."""


def danger_flows(tasks: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw a Sankey diagram of tasks through ``STEPS``; colour is the danger group.

    Args:
        tasks: Rows with ``source``, ``danger_group``, ``danger_type`` and ``danger``, a danger formalization as JSON.

    Returns:
        The figure ``flows``; a placeholder if there are no tasks.
    """
    title = f"From source to entity in danger (n = {plural(len(tasks), 'task')})"
    ways, folded = task_paths(tasks)
    grid = _grid(title, ways)
    if not tasks:
        return draw_empty("flows", title, "no accepted tasks", grid)
    scale = (_HEIGHT - _GAP * (max(len(_names(ways, step)) for step in range(len(STEPS))) - 1)) / len(tasks)
    # With many kinds and few tasks the diagram grows, so that labels do not touch.
    scale = max(scale, 1.2 / len(tasks))
    columns = [_column(ways, step, scale) for step in range(len(STEPS))]
    height = max(node.top + node.tasks * scale for column in columns for node in column)

    def paint(axes: Axes) -> None:
        _paint(axes, ways, columns, scale, height)

    said = "; ".join(
        f"{step}: {', '.join(f'{node.name} {node.tasks}' for node in column)}"
        for step, column in zip(STEPS, columns, strict=True)
    )
    notes = ["Width is the number of tasks; colour is the danger group."]
    notes.append("A setting is its text up to the first colon, in lower case.")
    for step, number in folded.items():
        notes.append(f"Only the {MOST} commonest {step}s are shown; other {step}s are {count(number)} more.")
    unsaid = sum(number for way, number in ways.items() if NOT_SAID in way)
    if unsaid:
        notes.append(f"For {plural(unsaid, 'task')} setting or entity is not said.")
    return draw(
        "flows",
        title,
        f"Sankey diagram of tasks from source through setting, danger group and type to the entity in danger. {said}.",
        height + 0.9,
        paint,
        grid=grid,
        note=" ".join(notes),
        wide=True,
    )


def task_paths(tasks: Sequence[Mapping[str, Any]]) -> tuple[Counter[tuple[str, ...]], dict[str, int]]:
    """Count the tasks on each path through ``STEPS``.

    Args:
        tasks: As for ``danger_flows``.

    Returns:
        Number of tasks by path, a name per step; and how many sources and settings are combined as "other", by step,
        without the steps where none are.
    """
    full = [
        (
            task["source"],
            _setting(danger := json.loads(task["danger"])),
            task["danger_group"],
            task["danger_type"].replace("_", " "),
            _text(danger.get("entity_in_danger")) or NOT_SAID,
        )
        for task in tasks
    ]
    folded = {}
    kept = []
    for step in (0, 1):
        counted = Counter(way[step] for way in full)
        counted.pop(NOT_SAID, None)
        ranked = sorted(counted, key=lambda name: (-counted[name], name))
        # A single further one is shown itself, not as "other".
        separate = ranked if len(ranked) <= MOST + 1 else ranked[:MOST]
        kept.append({*separate, NOT_SAID})
        if len(separate) < len(ranked):
            folded[STEPS[step]] = len(ranked) - len(separate)
    return Counter(
        (
            way[0] if way[0] in kept[0] else _other(0),
            way[1] if way[1] in kept[1] else _other(1),
            *way[2:],
        )
        for way in full
    ), folded


def _setting(danger: Mapping[str, Any]) -> str:
    return _text(danger.get("setting")).partition(":")[0].strip().lower() or NOT_SAID


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _other(step: int) -> str:
    return f"other {STEPS[step]}s"


def _names(ways: Counter[tuple[str, ...]], step: int) -> list[str]:
    """Return the names of the nodes of a step from top to bottom."""
    counted: Counter[str] = Counter()
    for way, number in ways.items():
        counted[way[step]] += number
    if STEPS[step] == "danger group":
        order: Sequence[str] = [group.value for group in DangerGroup]
    elif STEPS[step] == "danger type":
        order = [kind.replace("_", " ") for kind in TYPES]
    else:
        order = ()
    last = (_other(step), NOT_SAID)

    def rank(name: str) -> tuple[int, int, int, str]:
        place = order.index(name) if name in order else len(order)
        return (last.index(name) + 1 if name in last else 0, place, -counted[name], name)

    return sorted(counted, key=rank)


def _column(ways: Counter[tuple[str, ...]], step: int, scale: float) -> list[_Node]:
    names = _names(ways, step)
    tasks = {name: sum(number for way, number in ways.items() if way[step] == name) for name in names}
    flow = scale * sum(tasks.values())
    gap = min(_MOST_GAP, max(_GAP, (_HEIGHT - flow) / max(len(names) - 1, 1)))
    top = max(0.0, (_HEIGHT - flow - gap * (len(names) - 1)) / 2)
    nodes = []
    for name in names:
        nodes.append(_Node(step, name, tasks[name], top))
        top += tasks[name] * scale + gap
    return nodes


def _links(ways: Counter[tuple[str, ...]], step: int) -> Counter[tuple[str, str, str]]:
    """Count the tasks from each node of a step to each node of the next, by danger group."""
    links: Counter[tuple[str, str, str]] = Counter()
    for way, number in ways.items():
        links[way[step], way[step + 1], way[_GROUP]] += number
    return links


def _paint(axes: Axes, ways: Counter[tuple[str, ...]], columns: list[list[_Node]], scale: float, height: float) -> None:
    from matplotlib.patches import Patch, Rectangle

    axes.set_axis_off()
    groups = _names(ways, _GROUP)
    colours = {group: GROUP_COLOURS.get(group, GREEN) for group in groups}
    for step in range(len(STEPS) - 1):
        left, right = ({node.name: node for node in columns[step + offset]} for offset in (0, 1))
        links = _links(ways, step)
        # Sort by group within a node, so that the bands of one colour stay together.
        leaving = _stack_links(
            sorted(links, key=lambda link: (groups.index(link[2]), list(right).index(link[1]))), 0, left, links, scale
        )
        coming = _stack_links(
            sorted(links, key=lambda link: (groups.index(link[2]), list(left).index(link[0]))), 1, right, links, scale
        )
        start, end = step * _APART + _THICK, (step + 1) * _APART
        for link in sorted(links):
            corners = (start, leaving[link]), (end, coming[link])
            draw_band(axes, *corners, links[link] * scale, colours[link[2]], _ALPHA)
    for step, column in enumerate(columns):
        x = step * _APART
        axes.text(x, -0.28, STEPS[step], fontsize=9.5, color=MUTED, va="bottom")
        for node in column:
            thick = node.tasks * scale
            axes.add_patch(Rectangle((x, node.top), _THICK, thick, facecolor=INK, linewidth=0))
            axes.text(
                x + _THICK + 0.06,
                node.top + thick / 2,
                f"{shorten_label(node.name, _LABEL)}  {count(node.tasks)}",
                fontsize=9.5,
                color=INK,
                va="center_baseline",
            )
    axes.legend(
        handles=[Patch(facecolor=colours[group], alpha=0.6, label=blank_unprintable(group)) for group in groups],
        loc="lower right",
        bbox_to_anchor=(1, 0),
        borderaxespad=0,
    )
    axes.set_xlim(0, (len(STEPS) - 1) * _APART + 1.75)
    axes.set_ylim(height + 0.05, -0.35)


def _stack_links(
    ordered: list[tuple[str, str, str]],
    end: int,
    nodes: Mapping[str, _Node],
    links: Counter[tuple[str, str, str]],
    scale: float,
) -> dict[tuple[str, str, str], float]:
    """Return where each link begins (or ends) at its node, in inches from the top."""
    filled = {name: node.top for name, node in nodes.items()}
    places = {}
    for link in ordered:
        places[link] = filled[link[end]]
        filled[link[end]] += links[link] * scale
    return places


def _grid(title: str, ways: Counter[tuple[str, ...]]) -> Grid:
    lines = []
    for step in range(len(STEPS) - 1):
        links: Counter[tuple[str, str]] = Counter()
        for (start, end, _), number in _links(ways, step).items():
            links[start, end] += number
        froms, tos = _names(ways, step), _names(ways, step + 1)
        for start, end in sorted(links, key=lambda link: (froms.index(link[0]), tos.index(link[1]))):
            lines.append((f"{STEPS[step]} to {STEPS[step + 1]}", start, end, count(links[start, end])))
    return Grid(title, ("Step", "From", "To", "Tasks"), tuple(lines), words=3)
