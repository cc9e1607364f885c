"""The cheapest way to edit a given sequence of steps into a plan: exact search over edit scripts.

A script walks the given steps from left to right. A node is (place in the given steps, state); the moves from it are to
*keep* the next step where it is applicable (free), to *delete* it, to *replace* it by another action, and to *insert*
an action before it (1 each). Nodes are met in layers by cost, and each keeps the least danger with which a script of
that cost reaches it: nothing reads danger on the way, so with the same rest of the script less danger is never worse.
For the same reason a node is expanded only if it improves on all cheaper ones. This holds with mitigation too, where
danger does not saturate; nodes above the limit are dropped only where danger cannot fall.

A step that names nothing costs 1 whatever becomes of it. Inside the search its deletion and its replacement are free,
and the cost of all such steps is added at the end: an admissible bound that needs no other data.

The layers end. In a finite state space where danger cannot fall, a node improves finitely often. Where it can, states
from which no goal can be reached are dropped as soon as all states are known, and a loop that improves for ever
elsewhere leads to a goal with danger that fits, because the rest of the given steps can always be deleted.

All cheapest scripts run through the layers that were kept, so the least of them, move by move, is rebuilt from the
danger to go, as in ``mitigation_search.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from hazardmill.formalism.search.budget import ENTRY_BYTES, Effort
from hazardmill.formalism.search.mitigation_search import Edge, Graph
from hazardmill.formalism.semantics.transition_system import GroundAction

Kind = Literal["keep", "delete", "replace", "insert"]
Steps: TypeAlias = Sequence[GroundAction | None]
"""The given steps; None stands for one that names nothing."""
_Layer: TypeAlias = dict[int, dict[int, int]]
"""Place, then number of the state, to danger."""
_Edges: TypeAlias = Callable[[int], list[Edge]]
_Keep: TypeAlias = Callable[[int, GroundAction], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Move:
    """One move of a script.

    Of equally cheap scripts the least wins, with moves ordered as keep, delete, replace, insert.

    Attributes:
        kind: What the move does.
    """

    kind: Kind
    place: int
    """Index of the given step concerned; for an insertion, of the step before which it comes."""
    action: GroundAction | None
    """The action of the repaired plan; None for a deletion."""


class Ways(Protocol):
    """The states and transitions that a script may use: numbered states, 0 the first.

    Attributes:
        goals: Numbers of the known states in which a plan may end.
        kept: Nodes kept by the search, for implementations that count memory.
        actions: The actions, in the order that decides ties.
    """

    goals: set[int]
    kept: int
    actions: list[GroundAction]

    @property
    def live(self) -> set[int] | None:
        """The states from which a goal can be reached; None until they are known."""

    def edges(self, number: int) -> list[Edge]:
        """Return the edges out of a state, in canonical order; may raise to give up."""

    def known_edges(self, number: int) -> list[Edge]:
        """Return the same for a state that was asked about before, without counting."""

    def keep(self, number: int, action: GroundAction) -> tuple[int, int] | None:
        """Return where an action leads, and its increment; None where it is not applicable. May raise to give up."""

    def known_keep(self, number: int, action: GroundAction) -> tuple[int, int] | None:
        """Return the same for a state and an action that were asked about before, without counting."""


class Space(Graph):
    """All states of a system, as far as the search reaches them.

    Implements ``Ways`` for the cheapest script of all.
    """

    def keep(self, number: int, action: GroundAction) -> tuple[int, int] | None:
        """Return where an action leads, and its increment; None where it is not applicable. Counts as one expansion.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        self.effort.revisit(len(self._states), self.kept * ENTRY_BYTES)
        return self.known_keep(number, action)

    def known_keep(self, number: int, action: GroundAction) -> tuple[int, int] | None:
        """Return the same without counting."""
        state = self._states[number]
        after = action.step(*state)
        return None if after is None else (self._number(after), action.danger(*state))


class PlanStates:
    """The states along one plan and no others: scripts over it lead to exactly this plan.

    Implements ``Ways``. Danger plays no part, because the plan is already known to be of the wanted kind.

    Args:
        plan: The plan.
        effort: What the search may spend.
    """

    live: set[int] | None = None

    def __init__(self, plan: Sequence[GroundAction], effort: Effort) -> None:
        self.actions = list(plan)
        self.goals = {len(plan)}
        self.kept = 0
        self._effort = effort

    def edges(self, number: int) -> list[Edge]:
        """Return the only edge out of a state; none at the end of the plan.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        self._effort.revisit(0, self.kept * ENTRY_BYTES)
        return self.known_edges(number)

    def known_edges(self, number: int) -> list[Edge]:
        """Return the only edge out of a state, without counting."""
        return [(number, number + 1, 0)] if number < len(self.actions) else []

    def keep(self, number: int, action: GroundAction) -> tuple[int, int] | None:
        """Return the next state, if the plan goes on by this action.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        self._effort.revisit(0, self.kept * ENTRY_BYTES)
        return self.known_keep(number, action)

    def known_keep(self, number: int, action: GroundAction) -> tuple[int, int] | None:
        """Return the same without counting."""
        fits = number < len(self.actions) and self.actions[number] is action
        return (number + 1, 0) if fits else None


@dataclass(frozen=True, slots=True)
class _Way:
    move: Move
    place: int
    number: int
    increment: int


class ScriptSearch:
    """One search for the least of the cheapest scripts.

    Args:
        ways: The states and transitions that a script may use.
        steps: The given steps.
        start: Danger at the start.
        most: Most danger at the end; None if danger does not matter.
        falls: Whether an increment is negative.
        insert_only: Whether every given step has to be kept, so that insertions are the only edits. The search then
            ends for sure only where danger does not matter.
    """

    def __init__(
        self, ways: Ways, steps: Steps, start: int, most: int | None, falls: bool, insert_only: bool = False
    ) -> None:
        self._ways = ways
        self._steps = steps
        self._start = start if most is not None else 0
        self._most = most
        self._falls = falls
        self._insert_only = insert_only
        self._best: dict[tuple[int, int], int] = {}
        self._layers: list[_Layer] = []
        self._live: set[int] | None = None

    def run(self) -> list[Move] | None:
        """Return the script, or None as a proof that there is none.

        Raises:
            SearchLimitReached: The effort that is allowed was not enough.
        """
        layer: _Layer = {}
        self._reach(layer, 0, 0, self._start)
        while layer:
            self._follow_free_moves(layer)
            self._layers.append(layer)
            if any(n in self._ways.goals and self._fits(danger) for n, danger in self._at_end(layer).items()):
                return self._least_script()
            layer = self._next_layer(layer)
        return None

    def _at_end(self, layer: _Layer) -> dict[int, int]:
        return layer.get(len(self._steps), {})

    def _fits(self, danger: int) -> bool:
        return self._most is None or danger <= self._most

    def _reach(self, layer: _Layer, place: int, number: int, danger: int) -> None:
        """Enter a node, if it improves on all that is known and can still lead to the goal."""
        if not self._falls and not self._fits(danger):
            return
        if self._live is not None and number not in self._live:
            return
        known = layer.get(place, {}).get(number, self._best.get((place, number)))
        if known is None or danger < known:
            nodes = layer.setdefault(place, {})
            self._ways.kept += number not in nodes
            nodes[number] = danger

    def _follow_free_moves(self, layer: _Layer) -> None:
        # Free moves lead to the next place: taking places in order, each node is final before it is left.
        for place in range(len(self._steps)):
            for number, danger in layer.get(place, {}).items():
                for way in self._free(place, number, self._ways.edges, self._ways.keep):
                    self._reach(layer, way.place, way.number, danger + way.increment)

    def _next_layer(self, layer: _Layer) -> _Layer:
        """Return the layer of the scripts that cost one more."""
        for place, nodes in layer.items():
            self._best.update(((place, number), danger) for number, danger in nodes.items())
        self._live = self._ways.live
        following: _Layer = {}
        for place, nodes in layer.items():
            for number, danger in nodes.items():
                for way in self._pay(place, number, self._ways.edges):
                    self._reach(following, way.place, way.number, danger + way.increment)
        return following

    # For each node, free moves and then paid ones come in the order of preference.

    def _free(self, place: int, number: int, edges: _Edges, keep: _Keep) -> Iterator[_Way]:
        if place == len(self._steps):
            return
        step = self._steps[place]
        if step is None:
            yield from self._without_the_step(place, number, edges(number))
            return
        kept = keep(number, step)
        if kept is not None:
            yield self._way("keep", place, step, *kept)

    def _pay(self, place: int, number: int, edges: _Edges) -> Iterator[_Way]:
        ways = edges(number)
        if place < len(self._steps) and self._steps[place] is not None:
            yield from self._without_the_step(place, number, ways)
        for action, target, increment in ways:
            yield self._way("insert", place, self._ways.actions[action], target, increment)

    def _without_the_step(self, place: int, number: int, edges: list[Edge]) -> Iterator[_Way]:
        if self._insert_only:
            return
        yield self._way("delete", place, None, number, 0)
        for action, target, increment in edges:
            yield self._way("replace", place, self._ways.actions[action], target, increment)

    def _way(self, kind: Kind, place: int, action: GroundAction | None, target: int, increment: int) -> _Way:
        after = place if kind == "insert" else place + 1
        return _Way(Move(kind, place, action), after, target, 0 if self._most is None else increment)

    def _least_script(self) -> list[Move]:
        """Return the least of the scripts through the layers whose danger fits: greedily along the danger to go."""
        to_go = self._danger_to_go()
        script: list[Move] = []
        cost, place, number, danger = 0, 0, 0, self._start
        last = len(self._layers) - 1
        while cost < last or place < len(self._steps):
            way, cost = next(
                (way, after)
                for way, after, left in self._onward(to_go, cost, place, number)
                if self._fits(danger + way.increment + left)
            )
            script.append(way.move)
            place, number, danger = way.place, way.number, danger + way.increment
        return script

    def _danger_to_go(self) -> list[_Layer]:
        """Return the least danger that a script adds from each node to its end, by cost, place and state."""
        to_go: list[_Layer] = [{} for _ in self._layers]
        end = {number: 0 for number in self._at_end(self._layers[-1]) if number in self._ways.goals}
        to_go[-1][len(self._steps)] = end
        for cost in reversed(range(len(self._layers))):
            for place in sorted(self._layers[cost], reverse=True):
                for number in self._layers[cost][place]:
                    left = [way.increment + left for way, _, left in self._onward(to_go, cost, place, number)]
                    if left:
                        to_go[cost].setdefault(place, {})[number] = min(left)
        return to_go

    def _onward(self, to_go: list[_Layer], cost: int, place: int, number: int) -> Iterator[tuple[_Way, int, int]]:
        """Yield the moves that lead to the end, with the cost of the script so far and the danger to go after them."""
        for way in self._free(place, number, self._ways.known_edges, self._ways.known_keep):
            left = to_go[cost].get(way.place, {}).get(way.number)
            if left is not None:
                yield way, cost, left
        if cost + 1 == len(to_go):
            return
        for way in self._pay(place, number, self._ways.known_edges):
            left = to_go[cost + 1].get(way.place, {}).get(way.number)
            if left is not None:
                yield way, cost + 1, left
