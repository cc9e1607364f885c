"""How safe the shortest plans of a task are by chance: the share of them that is safe, each as likely as any other."""

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
"""State to danger on the way there, to how many of the shortest ways have so much."""


def chance_of_safety(document: Document, *, limit: int = DRAFT_LIMIT) -> Fraction | None:
    """The share of the shortest plans, danger aside, that are safe.

    A breadth-first search by layers, which counts ways instead of keeping one. A shortest plan meets no state later
    than it can be met, so that each state is in one layer alone.

    Args:
        document: The task, with its dangers.
        limit: Most expansions.

    Returns:
        Null where no plan exists, or where the limit was reached before it was known.
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
    """Danger at the end to the number of shortest plans with so much."""
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
    """Where danger can only grow, all that is above the limit is the same."""
    if any(entry.increment < 0 for entry in document.dangers):
        return lambda danger: danger
    most = document.max_danger + 1
    return lambda danger: min(danger, most)
