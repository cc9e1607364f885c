"""Exact search where mitigation makes danger fall again: the least and the greatest danger by state and layer.

Layer ``k`` holds, for each state that some ``k`` steps reach, the least (or greatest) danger of such a path. A state in
a layer is expanded only if it improves on every earlier layer: a plan that passes through it without improving can take
the earlier path to it instead, which is shorter and no worse. So the first layer with a goal state whose danger fits
has the length of the shortest plan, and all shortest plans run through the layers that were kept.

States are expanded when a layer first holds them. Once all are known, those from which no goal can be reached are
dropped. From then on the layers end: either none improves, and there is no plan; or some loop improves for ever, and
then the danger fits sooner or later in a goal state, because one can be reached from the loop.

See decision record 0009.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hazardmill.formalism.search.budget import EDGE_BYTES, ENTRY_BYTES, Effort
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System

Edge: TypeAlias = tuple[int, int, int]
"""Place of the action in canonical order, number of the successor, increment."""
Layer: TypeAlias = dict[int, int]
"""Number of a state to its danger, times the sign of the search (so that less is always better)."""
Plan: TypeAlias = tuple[GroundAction, ...]


class Graph:
    """The reachable states of a system by number, as far as they are known; the initial state is 0.

    Successors are computed once and kept, so several searches of one task can share a graph.

    Args:
        system: The task.
        actions: All its ground actions, in canonical order.
        effort: What may be spent on expanding states.

    Attributes:
        goals: Numbers of the known states in which the goal holds.
        kept: Entries that the searches over the graph keep, for the count of memory.
    """

    def __init__(self, system: System, actions: list[GroundAction], effort: Effort) -> None:
        self.actions = actions
        self.effort = effort
        self.goals: set[int] = set()
        self._system = system
        self._goal = system.goal
        self.kept = 0
        """Entries of layers, which are kept for the sake of the plan."""
        self._states: list[tuple[int, Numbers]] = []
        self._mixing = system.mixing
        self._numbers: dict[tuple[int, Numbers, int], int] = {}
        self._edges: dict[int, list[Edge]] = {}
        self._edge_count = 0
        self._live: set[int] | None = None
        self._number((system.initial.bits, system.initial.numbers))

    def edges(self, number: int) -> list[Edge]:
        """Return the edges out of a state, in canonical order; counted as one expansion.

        Of several actions with the same successor and increment only the first is an edge.

        Raises:
            SearchLimitReached: One more expansion would be beyond the limit.
        """
        besides = self.kept * ENTRY_BYTES + self._edge_count * EDGE_BYTES
        known = self._edges.get(number)
        if known is not None:
            self.effort.revisit(len(self._states), besides)
            return known
        self.effort.expand(len(self._states), besides)
        state = self._states[number]
        ways: dict[tuple[int, int], Edge] = {}
        for place, action in enumerate(self.actions):
            after = action.step(*state)
            if after is not None:
                target, increment = self._number(after), action.danger(*state)
                # Of actions with the same effect only the first is ever wanted: plans are the least by action.
                ways.setdefault((target, increment), (place, target, increment))
        self._edges[number] = found = list(ways.values())
        self._edge_count += len(found)
        return found

    def known_edges(self, number: int) -> list[Edge]:
        """Return the edges out of a state that has been expanded, without counting."""
        return self._edges[number]

    @property
    def live(self) -> set[int] | None:
        """The states from which a goal state can be reached; None as long as not all states are known."""
        if self._live is None and len(self._edges) == len(self._states):
            self._live = self._leading_to_goals()
        return self._live

    def _number(self, state: tuple[int, Numbers]) -> int:
        number = self._numbers.setdefault((*state, state[0] % self._mixing), len(self._states))
        if number == len(self._states):
            self._states.append(state)
            if self._system.unbounded:
                self._system.weigh(state[1], self.effort)
            if self._goal.holds(*state):
                self.goals.add(number)
        return number

    def _leading_to_goals(self) -> set[int]:
        into: dict[int, list[int]] = {}
        for number, ways in self._edges.items():
            for _, target, _ in ways:
                into.setdefault(target, []).append(number)
        live = set(self.goals)
        stack = list(self.goals)
        while stack:
            for number in into.get(stack.pop(), ()):
                if number not in live:
                    live.add(number)
                    stack.append(number)
        return live


class LayerQuery:
    """One search through the layers, for the lexicographically least of the shortest plans whose danger fits.

    Args:
        graph: The states; what one search learns of them serves the others too.
        start: Danger at the start.
        fits: Whether a danger at the end is wanted. Where it is true of a danger, it must be true of every better one.
        sign: 1 if less danger is better, -1 if more is.

    Attributes:
        answered: Whether the search is finished.
        plan: The answer. None, once ``answered``, is a proof that there is no such plan.
    """

    def __init__(self, graph: Graph, start: int, fits: Callable[[int], bool], sign: int) -> None:
        self._graph = graph
        self._start = start
        self._fits = fits
        self._sign = sign
        self._best: Layer = {0: sign * start}
        self._layers: list[Layer] = [dict(self._best)]
        self.answered = False
        self.plan: Plan | None = None

    def advance(self) -> None:
        """Answer from the last layer, or make the next one.

        Raises:
            SearchLimitReached: The effort that is allowed was not enough.
        """
        graph, layer = self._graph, self._layers[-1]
        if any(number in graph.goals and self._fits(self._sign * value) for number, value in layer.items()):
            self.plan = self._least_plan()
            self.answered = True
            return
        improved: Layer = {}
        for number, value in layer.items():
            for _, target, increment in graph.edges(number):
                reached = value + self._sign * increment
                known = improved.get(target, self._best.get(target))
                if known is None or reached < known:
                    improved[target] = reached
        live = graph.live
        if live is not None:
            improved = {number: value for number, value in improved.items() if number in live}
        self._best.update(improved)
        self._layers.append(improved)
        graph.kept += len(improved)
        self.answered = not improved

    def _least_plan(self) -> Plan:
        """Return the least of the plans through the layers whose danger fits: greedily along the cost-to-go."""
        graph, sign = self._graph, self._sign
        to_go: list[Layer] = [{number: 0 for number in self._layers[-1] if number in graph.goals}]
        for layer in reversed(self._layers[:-1]):
            later = to_go[-1]
            now: Layer = {}
            for number in layer:
                costs = [sign * inc + later[target] for _, target, inc in graph.known_edges(number) if target in later]
                if costs:
                    now[number] = min(costs)
            to_go.append(now)
        to_go.reverse()
        plan: list[GroundAction] = []
        number, danger = 0, self._start
        for later in to_go[1:]:
            # Edges are in canonical order, so the first from which the danger can still fit is the least.
            place, number, danger = next(
                (place, target, danger + increment)
                for place, target, increment in graph.known_edges(number)
                if target in later and self._fits(danger + increment + sign * later[target])
            )
            plan.append(graph.actions[place])
        return tuple(plan)
