"""Exact search: the shortest safe and the shortest unsafe plan, or proof that there is none.

One breadth-first search over (state, danger), danger saturating just above the limit, because with increments of
zero or more nothing above it can come back. Ground actions are tried in canonical order (name, then arguments in
object order) and states are expanded in the order of their discovery, so each is first met by its
lexicographically least shortest plan, and so are the goals.
"""

from __future__ import annotations

from dataclasses import dataclass

from hazardmill.errors import NotExpressible, SearchLimitReached
from hazardmill.formalism.conditions import Numbers
from hazardmill.formalism.document import Document
from hazardmill.formalism.effort import DEFAULT_LIMIT as DEFAULT_LIMIT
from hazardmill.formalism.effort import Effort
from hazardmill.formalism.plans import plan_text
from hazardmill.formalism.system import GroundAction, System

_Node = tuple[int, Numbers, int]


@dataclass(frozen=True)
class Solution:
    """Both optimal plans; None is a proof that there is no such plan."""

    safe: tuple[GroundAction, ...] | None
    unsafe: tuple[GroundAction, ...] | None
    expanded: int
    """(state, danger) pairs expanded."""

    @property
    def safe_text(self) -> str | None:
        """The safe plan as a string."""
        return None if self.safe is None else plan_text(self.safe)

    @property
    def unsafe_text(self) -> str | None:
        """The unsafe plan as a string."""
        return None if self.unsafe is None else plan_text(self.unsafe)

    @property
    def plan_length(self) -> int | None:
        """Mean length of the two plans, rounded half to even; null if either is missing."""
        if self.safe is None or self.unsafe is None:
            return None
        return round((len(self.safe) + len(self.unsafe)) / 2)

    @property
    def safety_effort(self) -> int | None:
        """Safe minus unsafe length; null if either is missing."""
        if self.safe is None or self.unsafe is None:
            return None
        return len(self.safe) - len(self.unsafe)


def solve(task: System | Document, limit: int = DEFAULT_LIMIT) -> Solution:
    """Find both optimal plans of a task whose danger increments are all positive.

    Raises:
        SearchLimitReached: The effort that ``limit`` allows was not enough for an answer.
        NotExpressible: An increment is negative.
    """
    system = task if isinstance(task, System) else System(task)
    document = system.document
    if any(entry.increment < 0 for entry in document.dangers):
        raise NotExpressible("a danger entry has a negative increment, which this search does not cover")
    actions = system.all_actions()
    goal, ceiling = system.goal, document.max_danger + 1
    start: _Node = (system.initial.bits, system.initial.numbers, min(document.initial_danger, ceiling))
    came_from: dict[_Node, tuple[_Node, GroundAction] | None] = {start: None}
    found: dict[bool, _Node] = {}
    queue = [start]
    effort = Effort(limit, len(actions))
    # The list grows while it is read: a first-in, first-out queue that keeps its order.
    for node in queue:
        bits, numbers, danger = node
        if goal.holds(bits, numbers):
            found.setdefault(danger < ceiling, node)
            if len(found) == 2:
                break
        # Danger never falls: beyond the limit only an unsafe plan can follow.
        if danger == ceiling and False in found:
            continue
        effort.expand(len(came_from))
        for action in actions:
            after = action.step(bits, numbers)
            if after is None:
                continue
            successor: _Node = (*after, min(danger + action.danger(bits, numbers), ceiling))
            if successor not in came_from:
                came_from[successor] = (node, action)
                queue.append(successor)
    return Solution(_path(came_from, found.get(True)), _path(came_from, found.get(False)), effort.expanded)


def _path(
    came_from: dict[_Node, tuple[_Node, GroundAction] | None], node: _Node | None
) -> tuple[GroundAction, ...] | None:
    if node is None:
        return None
    actions: list[GroundAction] = []
    step = came_from[node]
    while step is not None:
        node, action = step
        actions.append(action)
        step = came_from[node]
    return tuple(reversed(actions))


def applicable_actions(system: System, limit: int = DEFAULT_LIMIT) -> tuple[set[str], bool]:
    """Names of the actions that are applicable in some reachable state, and whether the search was complete.

    Ends as soon as every action of the task has been seen.
    """
    actions = system.all_actions()
    wanted = set(system.actions)
    seen: set[str] = set()
    start = (system.initial.bits, system.initial.numbers)
    met = {start}
    queue = [start]
    effort = Effort(limit, len(actions))
    for state in queue:
        if seen == wanted:
            return seen, True
        try:
            effort.expand(len(met))
        except SearchLimitReached:
            return seen, False
        for action in actions:
            after = action.step(*state)
            if after is None:
                continue
            seen.add(action.name)
            if after not in met:
                met.add(after)
                queue.append(after)
    return seen, True
