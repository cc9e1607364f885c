"""How safe the shortest plans of a task are by chance: the share of safe ones, if all are equally likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.budget import DRAFT_LIMIT, Effort
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System

_State = tuple[int, Numbers]
_Layer = dict[_State, Counter[int]]
"""State to danger on the way there, to how many of the shortest paths have that danger."""


def chance_of_safety(document: Document, *, limit: int = DRAFT_LIMIT) -> Fraction | None:
    """Return the share of shortest plans, chosen without regard to danger, that are safe.

    This is a breadth-first search by layers that counts paths instead of keeping one. A shortest plan reaches every
    state as early as possible, so that each state belongs to one layer only.

    Args:
        document: The task, with its dangers.
        limit: Maximum number of expansions.

    Returns:
        The exact share; None where no plan exists, or where the limit was reached first.
    """
    system = System(document)
    try:
        actions = system.all_actions()
        ways = _goal_ways(system, actions, system.effort(limit))
    except SearchLimitReached:
        return None
    total = sum(ways.values())
    safe = sum(count for danger, count in ways.items() if danger <= document.max_danger)
    return Fraction(safe, total) if total else None


def _goal_ways(system: System, actions: list[GroundAction], effort: Effort) -> Counter[int]:
    """Return danger at the end to the number of shortest plans with that danger."""
    settled = _settling(system.document)
    start = (system.initial.bits, system.initial.numbers)
    layer: _Layer = {start: Counter({settled(system.document.initial_danger): 1})}
    met = {start}
    while layer:
        found: Counter[int] = Counter()
        for state, ways in layer.items():
            if system.goal.holds(*state):
                found.update(ways)
        if found:
            return found
        following: _Layer = {}
        for state, ways in layer.items():
            effort.expand(len(met))
            for action in actions:
                after = action.step(*state)
                # A state of an earlier layer is reached later here, which no shortest plan does.
                if after is None or after in met:
                    continue
                more = action.danger(*state)
                reached = following.setdefault(after, Counter())
                for danger, count in ways.items():
                    reached[settled(danger + more)] += count
        met.update(following)
        layer = following
    return Counter()


def _settling(document: Document) -> Callable[[int], int]:
    """Return a function that caps danger just above the limit, if danger can only grow."""
    if any(entry.increment < 0 for entry in document.dangers):
        return lambda danger: danger
    most = document.max_danger + 1
    return lambda danger: min(danger, most)
