"""Exact search for tasks in which much does not matter: a shortest plan by refining a projection of the task.

A breadth-first search of a task meets every combination of what can be moved, opened or switched, also of what the goal
has nothing to do with. This one begins with the fluents of the goal and finds a shortest plan of that projection
(``projection.py``). Where the task itself does not do what this plan says, the plan rests on something that was not
seen, which is seen from then on. A plan that the task can do is as short as any, because the projection has a plan for
each of the task's; and where the projection has none, that is a proof that the task has none. The method is known as
counterexample-guided abstraction refinement (Clarke et al. 2000; in planning, Seipp and Helmert 2013).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from hazardmill.errors import UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.budget import DEFAULT_LIMIT, Effort
from hazardmill.formalism.search.projection import ProjectedAction, Projection, Seen
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System

_Node: TypeAlias = tuple[int, Numbers, int, int]
"""Bits, numbers, danger, and the remainder that spreads the hashes (``System.mixing``)."""
_Steps: TypeAlias = list[tuple[ProjectedAction, Seen]]
_NOT_PLAIN: Final = 4
"""Plain actions that can be tried in the time that it takes to try one with conditions or integers."""


@dataclass(frozen=True, slots=True)
class ShortestPlan:
    """A shortest plan of one kind, or the proof that there is none.

    Attributes:
        plan: One of the shortest plans, not always the one that ``solve`` gives; None as a proof that there is none.
        expanded: Expansions in all projections.
        projections: Number of projections that were searched.
        seen: Boolean fluents that the last of them sees.
    """

    plan: tuple[GroundAction, ...] | None
    expanded: int
    projections: int
    seen: int


def find_shortest_plan(
    task: System | Document, *, safe: bool = True, limit: int = DEFAULT_LIMIT, timeout_s: float | None = None
) -> ShortestPlan:
    """Find a shortest safe or a shortest unsafe plan, or prove that there is none.

    It pays where the goal concerns a part of the task. Where everything matters, ``solve`` is faster.

    Args:
        task: The task, whose danger cannot fall.
        safe: Whether to look for a safe plan, not for an unsafe one.
        limit: Most expansions; actions tried and bytes kept are bounded in proportion (``Effort``).
        timeout_s: Most seconds, for callers to whom time matters more than the same answer on every machine.

    Returns:
        The plan, or a proof that there is none.

    Raises:
        UsageError: An increment of danger is negative.
        SearchLimitReached: The task is too large to be ground, or the effort that ``limit`` allows was not enough.
    """
    system = task if isinstance(task, System) else System(task)
    if any(entry.increment < 0 for entry in system.document.dangers):
        raise UsageError("danger can fall in this task", remedy="use solve, which searches such tasks by layers")
    effort = Effort(limit, 0, timeout_s, system.size.state_bytes)
    actions = system.all_actions(effort.watch_the_clock)
    projection = Projection(system, actions)
    projections = 0
    while True:
        projections += 1
        steps = _breadth_first(system, projection, safe, effort)
        plan = None if steps is None else _follow(system, projection, actions, steps)
        if steps is None or plan is not None:
            return ShortestPlan(plan, effort.expanded, projections, projection.seen.bit_count())


def _breadth_first(system: System, projection: Projection, safe: bool, effort: Effort) -> _Steps | None:
    """Return a shortest plan of a projection, each action with what is seen after it; None if there is none."""
    document, mixing, seen = system.document, system.mixing, projection.seen
    ceiling = document.max_danger + 1
    bits, numbers = system.initial.bits & seen, system.initial.numbers
    start: _Node = (bits, numbers, min(document.initial_danger, ceiling), bits % mixing)
    came_from: dict[_Node, tuple[_Node, ProjectedAction] | None] = {start: None}
    plain = [
        (each.pre.mask, each.pre.value, ~each.deletes, each.adds, each) for each in projection.actions if each.plain
    ]
    others = [each for each in projection.actions if not each.plain]
    effort.widen(len(plain) + _NOT_PLAIN * len(others) + system.goal_work)
    queue = [start]
    # The list grows while it is read: a first-in, first-out queue.
    for node in queue:
        bits, numbers, danger, _ = node
        # Danger never falls.
        if safe and danger == ceiling:
            continue
        if safe == (danger < ceiling) and system.goal.holds(bits, numbers):
            return [*_way_to(came_from, node)][::-1]
        effort.expand(len(came_from))
        for mask, value, keep, adds, action in plain:
            if bits & mask == value:
                after = bits & keep | adds
                successor: _Node = (after, numbers, danger, after % mixing)
                if successor not in came_from:
                    came_from[successor] = (node, action)
                    queue.append(successor)
        for action in others:
            for after, counted in action.successors(bits, numbers):
                risen = min(danger + action.ground.danger(bits, numbers), ceiling)
                successor = (after, counted, risen, after % mixing)
                if successor not in came_from:
                    came_from[successor] = (node, action)
                    queue.append(successor)
                    if system.unbounded:
                        system.weigh(counted, effort)
    return None


def _way_to(
    came_from: dict[_Node, tuple[_Node, ProjectedAction] | None], node: _Node
) -> Iterator[tuple[ProjectedAction, Seen]]:
    """Yield the actions that lead to a node, the last one first."""
    step = came_from[node]
    while step is not None:
        yield step[1], (node[0], node[1])
        node = step[0]
        step = came_from[node]


def _follow(
    system: System, projection: Projection, actions: list[GroundAction], steps: _Steps
) -> tuple[GroundAction, ...] | None:
    """Return the plan of the task that does what one of its projection does; if there is none, let more be seen."""
    state = (system.initial.bits, system.initial.numbers)
    plan = []
    for projected, expected in steps:
        dangerous = projected.ground.danger(*state)
        # Another action may do the same where this one demands what was not seen.
        for action in (projected.ground, *actions):
            after = action.step(*state)
            if after is None or (after[0] & projection.seen, after[1]) != expected:
                continue
            if action.danger(*state) == dangerous:
                break
        else:
            projection.see(projection.flaw(*state, projected, expected))
            return None
        plan.append(action)
        state = after
    return tuple(plan)
