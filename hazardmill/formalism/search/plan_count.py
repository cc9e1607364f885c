"""How many shortest plans a task has, whether there is exactly one, and how dangerous they are.

Danger plays no part in what counts as a shortest plan: it is the least number of steps that lead to the goal. *Exactly
one plan* always means exactly one shortest plan, because walking in a circle first is always another plan.

This is a breadth-first search by layers that counts paths instead of keeping one. A shortest plan reaches each of its
states as early as possible, so that each state belongs to one layer only. States are met in canonical order, as in
``exact.py``, so the first path to a state is the lexicographically least of the shortest ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.budget import DEFAULT_LIMIT, ENTRY_BYTES
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System

_Node: TypeAlias = tuple[int, Numbers, int]
"""Bits, numbers, and the remainder that spreads the hashes (``System.mixing``)."""
_CameFrom: TypeAlias = dict[_Node, tuple[_Node, GroundAction] | None]


@dataclass(frozen=True, slots=True)
class PlanCount:
    """The number of shortest plans of a task.

    Attributes:
        count: The number of plans of the least length; 0 as a proof that there is no plan.
        plan: The lexicographically least of them; None where there is no plan.
        by_danger: Danger at the end to the number of these plans with that danger. Where no increment is negative, all
            dangers above the limit are counted as the limit plus 1.
        expanded: Expansions of the search.
    """

    count: int
    plan: tuple[GroundAction, ...] | None
    by_danger: Mapping[int, int]
    expanded: int

    @property
    def length(self) -> int | None:
        """Steps of each shortest plan; None where there is no plan."""
        return None if self.plan is None else len(self.plan)

    @property
    def unique(self) -> bool:
        """Whether there is exactly one shortest plan."""
        return self.count == 1


def count_shortest_plans(task: System | Document, limit: int = DEFAULT_LIMIT) -> PlanCount:
    """Count the shortest plans of a task, without regard to danger.

    Two plans differ where their ground actions do, even if these have the same effects.

    Args:
        task: The task.
        limit: Most expansions; actions tried and bytes kept are bounded in proportion (``Effort``).

    Returns:
        The count, with the least of these plans. A count of 0 is a proof that there is no plan.

    Raises:
        SearchLimitReached: The task is too large to be ground, or the effort that ``limit`` allows was not enough.
    """
    system = task if isinstance(task, System) else System(task)
    effort, actions = system.effort(limit), system.all_actions()
    settled, mixing = _settling(system.document), system.mixing
    initial = system.initial
    start: _Node = (initial.bits, initial.numbers, initial.bits % mixing)
    came_from: _CameFrom = {start: None}
    layer = {start: Counter({settled(system.document.initial_danger): 1})}
    while layer:
        goals = [node for node in layer if system.goal.holds(node[0], node[1])]
        if goals:
            found: Counter[int] = Counter()
            for node in goals:
                found.update(layer[node])
            return PlanCount(found.total(), _path(came_from, goals[0]), dict(sorted(found.items())), effort.expanded)
        following: dict[_Node, Counter[int]] = {}
        entries = sum(map(len, layer.values()))
        for node, ways in layer.items():
            bits, numbers, _ = node
            effort.expand(len(came_from), entries * ENTRY_BYTES)
            for action in actions:
                after = action.step(bits, numbers)
                if after is None:
                    continue
                successor: _Node = (*after, after[0] % mixing)
                reached = following.get(successor)
                if reached is None:
                    # A state of an earlier layer is reached later here, which no shortest plan does.
                    if successor in came_from:
                        continue
                    reached = following[successor] = Counter()
                    came_from[successor] = (node, action)
                    if system.unbounded:
                        system.weigh(after[1], effort)
                known, more = len(reached), action.danger(bits, numbers)
                for danger, count in ways.items():
                    reached[settled(danger + more)] += count
                entries += len(reached) - known
        layer = following
    return PlanCount(0, None, {}, effort.expanded)


def _path(came_from: _CameFrom, node: _Node) -> tuple[GroundAction, ...]:
    actions: list[GroundAction] = []
    step = came_from[node]
    while step is not None:
        node, action = step
        actions.append(action)
        step = came_from[node]
    return tuple(reversed(actions))


def _settling(document: Document) -> Callable[[int], int]:
    """Return a function that caps danger just above the limit, if danger can only grow."""
    if any(entry.increment < 0 for entry in document.dangers):
        return lambda danger: danger
    most = document.max_danger + 1
    return lambda danger: min(danger, most)
