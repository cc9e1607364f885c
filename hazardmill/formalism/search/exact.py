"""Exact search: the shortest safe and the shortest unsafe plan, or proof that there is none.

It is one breadth-first search over (state, danger). Danger saturates just above the limit, because with increments of
zero or more nothing above it can come back. Ground actions are tried in canonical order (name, then arguments in
object order) and states are expanded in the order of their discovery, so each is first met by its
lexicographically least shortest plan, and so are the goals. Where an increment is negative, ``mitigation_search.py``
takes over.
"""

from __future__ import annotations

from dataclasses import dataclass

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.document.validation import MAX_TEXT
from hazardmill.formalism.search.budget import DEFAULT_LIMIT, Effort
from hazardmill.formalism.search.mitigation_search import Graph, LayerQuery
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System, width

_Node = tuple[int, Numbers, int, int]
"""Bits, numbers, danger, and the remainder that spreads the hashes (``System.mixing``)."""
_Found = dict[bool, tuple[GroundAction, ...] | None]


@dataclass(frozen=True)
class Solution:
    """Both optimal plans of a task; None in place of a plan is a proof that there is no such plan.

    Attributes:
        safe: The shortest safe plan, of equally short ones the lexicographically least.
        unsafe: The shortest unsafe plan, likewise.
    """

    safe: tuple[GroundAction, ...] | None
    unsafe: tuple[GroundAction, ...] | None
    expanded: int
    """Expansions of the search: (state, danger) pairs; where danger can fall, states in layers."""

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
        """Mean length of the two plans, rounded half to even; None if either is missing."""
        if self.safe is None or self.unsafe is None:
            return None
        return round((len(self.safe) + len(self.unsafe)) / 2)

    @property
    def safety_effort(self) -> int | None:
        """Length of the safe plan minus that of the unsafe one; None if either is missing."""
        if self.safe is None or self.unsafe is None:
            return None
        return len(self.safe) - len(self.unsafe)


@dataclass(frozen=True)
class PartialSearch:
    """What a search found before it was finished or had to stop.

    ``refusal`` is None if it was finished: then both kinds of plan are in ``found``.
    """

    found: _Found
    """The shortest plan by whether it is safe, or None as a proof that there is none. What is not known has no key."""
    expanded: int
    refusal: SearchLimitReached | None = None
    """Why it stopped before everything was known."""
    timed_out: bool = False
    """Whether it stopped because its time was over."""


def solve(task: System | Document, limit: int = DEFAULT_LIMIT) -> Solution:
    """Find both optimal plans of a task, or prove that there is none.

    Args:
        task: The task.
        limit: Most expansions; actions tried and bytes kept are bounded in proportion (``Effort``).

    Returns:
        Both plans; None in place of a plan is a proof that there is no such plan.

    Raises:
        SearchLimitReached: The task is too large to be ground, or the effort that ``limit`` allows was not enough.
    """
    attempt = attempt_to_solve(task, limit)
    if attempt.refusal is not None:
        raise attempt.refusal
    return Solution(attempt.found[True], attempt.found[False], attempt.expanded)


def attempt_to_solve(
    task: System | Document, limit: int = DEFAULT_LIMIT, timeout_s: float | None = None
) -> PartialSearch:
    """Find as many of the two optimal plans as the limits allow: of a task that ``solve`` refuses, one may be known.

    Args:
        task: The task.
        limit: Most expansions.
        timeout_s: Most seconds, for callers to whom time matters more than the same answer on every machine.

    Returns:
        What was found, and the refusal that stopped the search, if it was not finished. Time that runs out while the
        task is ground leaves nothing found.

    Raises:
        SearchLimitReached: The task is too large to be ground at all.
    """
    system = task if isinstance(task, System) else System(task)
    # The clock starts before grounding, which takes long for a wide task.
    effort = Effort(limit, 0, timeout_s, system.size.state_bytes)
    try:
        actions = system.all_actions(effort.watch_the_clock)
    except SearchLimitReached as refusal:
        if not effort.timed_out:
            raise
        return PartialSearch({}, 0, refusal, True)
    effort.widen(width(actions) + system.goal_work)
    return attempt_with(system, actions, effort)


def attempt_with(system: System, actions: list[GroundAction], effort: Effort) -> PartialSearch:
    """Search as ``attempt_to_solve`` does, within what is left of an effort that several searches share.

    Args:
        system: The task.
        actions: All its ground actions, in canonical order.
        effort: What may still be spent; it is counted on.

    Returns:
        What was found; ``expanded`` counts this search alone.
    """
    found: _Found = {}
    before = effort.expanded
    falls = any(entry.increment < 0 for entry in system.document.dangers)
    search = _by_layers if falls else _breadth_first
    try:
        search(system, actions, effort, found)
    except SearchLimitReached as refusal:
        return PartialSearch(found, effort.expanded - before, refusal, effort.timed_out)
    return PartialSearch(found, effort.expanded - before)


def _by_layers(system: System, actions: list[GroundAction], effort: Effort, found: _Found) -> None:
    """Search for both plans, layer by layer in turn, where danger can fall."""
    start, most = system.document.initial_danger, system.document.max_danger
    graph = Graph(system, actions, effort)
    asked = {
        True: LayerQuery(graph, start, lambda danger: danger <= most, 1),
        False: LayerQuery(graph, start, lambda danger: danger > most, -1),
    }
    while asked:
        for safe, question in list(asked.items()):
            question.advance()
            if question.answered:
                found[safe] = None if question.plan is None else _check_length(question.plan)
                del asked[safe]


def _breadth_first(system: System, actions: list[GroundAction], effort: Effort, found: _Found) -> None:
    """Search for both plans where danger can only grow."""
    document, goal = system.document, system.goal
    ceiling = document.max_danger + 1
    mixing = system.mixing
    initial = system.initial
    start: _Node = (initial.bits, initial.numbers, min(document.initial_danger, ceiling), initial.bits % mixing)
    came_from: dict[_Node, tuple[_Node, GroundAction] | None] = {start: None}
    # Without dangers, or with too much at the start, there is only one kind of plan.
    kinds = 2 if document.dangers and start[2] < ceiling else 1
    queue = [start]
    # The list grows while it is read: a first-in, first-out queue that keeps its order.
    for node in queue:
        bits, numbers, danger, _ = node
        if goal.holds(bits, numbers) and (danger < ceiling) not in found:
            found[danger < ceiling] = _check_length(_path(came_from, node))
            if len(found) == kinds:
                break
        # Danger never falls: beyond the limit only an unsafe plan can follow.
        if danger == ceiling and False in found:
            continue
        effort.expand(len(came_from))
        for action in actions:
            after = action.step(bits, numbers)
            if after is None:
                continue
            successor: _Node = (*after, min(danger + action.danger(bits, numbers), ceiling), after[0] % mixing)
            if successor not in came_from:
                came_from[successor] = (node, action)
                queue.append(successor)
                if system.unbounded:
                    system.weigh(after[1], effort)
    # The search is complete: what was not found does not exist.
    found.setdefault(True, None)
    found.setdefault(False, None)


def _path(came_from: dict[_Node, tuple[_Node, GroundAction] | None], node: _Node) -> tuple[GroundAction, ...]:
    actions: list[GroundAction] = []
    step = came_from[node]
    while step is not None:
        node, action = step
        actions.append(action)
        step = came_from[node]
    return tuple(reversed(actions))


def _check_length(plan: tuple[GroundAction, ...]) -> tuple[GroundAction, ...]:
    """Return the plan, unless it is so long that nobody can read or judge it."""
    if sum(len(action.text) + 1 for action in plan) > MAX_TEXT:
        raise SearchLimitReached(
            f"the shortest plan has {len(plan):,} steps; written out, it is longer than {MAX_TEXT:,} characters",
            remedy="change the task so that fewer steps reach the goal",
        )
    return plan


def applicable_actions(
    system: System, limit: int = DEFAULT_LIMIT, effort: Effort | None = None
) -> tuple[set[str], bool]:
    """Find the actions that are applicable in some reachable state.

    The search ends as soon as every action of the task has been seen.

    Args:
        system: The task.
        limit: Most states to expand.
        effort: What is left of a shared effort, to be used in place of ``limit``.

    Returns:
        The names of the actions, and whether the search was complete. If not, further actions may be applicable.

    Raises:
        SearchLimitReached: The task is too large to be ground; reaching ``limit`` raises nothing.
    """
    effort = effort or system.effort(limit)
    actions = system.all_actions()
    wanted = set(system.actions)
    seen: set[str] = set()
    start = (system.initial.bits, system.initial.numbers)
    mixing = system.mixing
    met = {(*start, start[0] % mixing)}
    queue = [start]
    try:
        for state in queue:
            if seen == wanted:
                break
            effort.expand(len(met))
            for action in actions:
                after = action.step(*state)
                if after is None:
                    continue
                seen.add(action.name)
                key = (*after, after[0] % mixing)
                if key not in met:
                    met.add(key)
                    queue.append(after)
                    if system.unbounded:
                        system.weigh(after[1], effort)
    except SearchLimitReached:
        return seen, False
    return seen, True
