"""Whether two conditions of an action mean the same on a task: equality over U, precision and recall.

What counts is where the conditions are read (``situations``), not how they are written: reordered operands, De
Morgan, nesting, double negation, literals that the precondition implies, swapped sides of a comparison, an unfolded
quantifier make no difference. The left condition is the candidate, the right one the reference.
``docs/equivalence.md`` has the definitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hazardmill.errors import DocumentError, SearchLimitReached
from hazardmill.formalism.document.document import ActionDecl, Document
from hazardmill.formalism.document.expressions import Expr, freeze, render
from hazardmill.formalism.document.validation import Vocabulary, check_condition
from hazardmill.formalism.proofs.situations import Flips, Reads, Situation, Universe, readable_state, universe
from hazardmill.formalism.search.budget import DEFAULT_LIMIT, ENTRY_BYTES, Effort
from hazardmill.formalism.semantics.condition_compiler import Compiler, Numbers
from hazardmill.formalism.semantics.ground_size import condition_parts
from hazardmill.formalism.semantics.transition_system import PARTS_PER_TRY, GroundAction, System

Flag = Literal["single_flips", "limit"]


@dataclass(frozen=True, slots=True)
class SituationCounts:
    """Numbers of situations of U, by which of the two conditions hold in them.

    Attributes:
        both: Both hold.
        left_only: Only the candidate holds.
        right_only: Only the reference holds.
        neither: Neither holds.
    """

    both: int
    left_only: int
    right_only: int
    neither: int


@dataclass(frozen=True, slots=True)
class Distinction:
    """A situation in which one condition holds and the other does not."""

    state: tuple[str, ...]
    """What is true, then the values of integers; both sorted."""
    action: str
    """The ground action, ``(carry kitchen table)``."""
    holds: Literal["left", "right"]
    flipped: tuple[str, ...]
    """The context fluents that were flipped in the initial state from which the state is reached."""


@dataclass(frozen=True, slots=True)
class ConditionComparison:
    """Two conditions of one action, compared over U.

    Past the limit ``equal``, ``precision``, ``recall`` and ``counts`` are None, with the flag ``limit``; ``first`` is
    then the first difference among what was explored, if any.
    """

    action: str
    equal: bool | None
    precision: float | None
    """Of the situations in which the left condition holds, the share in which the right one does; None if it never
    holds."""
    recall: float | None
    """Of the situations in which the right condition holds, the share in which the left one does; None if it never
    holds."""
    counts: SituationCounts | None
    first: Distinction | None
    """The first distinguishing situation in the order of U; None if there is none."""
    flags: tuple[Flag, ...]
    """``single_flips``: more context is read than all assignments were tried for. ``limit``: not decided."""

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return asdict(self)


def compare(
    task: Document | System, action: str, left: object, right: object, limit: int = DEFAULT_LIMIT
) -> ConditionComparison:
    """Compare two conditions of an action over U.

    Args:
        task: The task.
        action: Name of the action whose situations count: the one whose danger the conditions describe.
        left: The candidate: a lifted condition over the action's parameters, as tuples or as JSON lists.
        right: The reference, likewise.
        limit: Most states to explore (``Effort``); reaching it gives the flag ``limit`` and raises nothing.

    Returns:
        The comparison. Past the limit it has only flags, and the first difference among what was explored, if any.

    Raises:
        DocumentError: There is no such action, or a condition does not fit the names and types of the task.
    """
    document = task.document if isinstance(task, System) else task
    decl = _find_action(document, action)
    conditions = (_check_condition(document, decl, left, "left"), _check_condition(document, decl, right, "right"))
    area: Universe | None = None
    seen: _Seen | None = None
    try:
        system = task if isinstance(task, System) else System(task)
        effort = system.effort(limit)
        actions = system.all_actions()
        instances = [instance for instance in actions if instance.name == action]
        parts = condition_parts(document, system.size, conditions, len(instances))
        seen = _Seen(system, conditions, instances, parts, effort)
        area = universe(system, action, conditions)
        seen.explore(area.explore_from(actions, effort), len(area.copies))
    except SearchLimitReached:
        flags: tuple[Flag, ...] = ("single_flips", "limit") if area and area.single_flips else ("limit",)
        return ConditionComparison(action, None, None, None, None, seen.first(area) if seen and area else None, flags)
    counts = seen.counts(area)
    return ConditionComparison(
        action,
        counts.left_only == counts.right_only == 0,
        _share(counts.both, counts.both + counts.left_only),
        _share(counts.both, counts.both + counts.right_only),
        counts,
        seen.first(area),
        ("single_flips",) if area.single_flips else (),
    )


@dataclass(slots=True)
class _Group:
    """Situations that are the same for both conditions: how many, and the first of them."""

    bits: int
    numbers: Numbers
    action: GroundAction
    flips: Flips
    count: int = 0


class _Seen:
    """What was explored of U, in groups that are the same for both conditions: few, however many states there are."""

    def __init__(
        self,
        system: System,
        conditions: tuple[Expr, Expr],
        instances: Sequence[GroundAction],
        parts: int,
        effort: Effort,
    ) -> None:
        self._system = system
        self._effort = effort
        self._work = 1 + parts // (len(instances) or 1) // PARTS_PER_TRY
        self._groups: dict[tuple[GroundAction, tuple[int, ...]], _Group] = {}
        condition = Compiler(system).condition
        left, right = conditions
        self._compiled = {each: (condition(left, each.binding), condition(right, each.binding)) for each in instances}
        self._reads = {each: Reads(system, conditions, each.binding) for each in instances}

    def explore(self, situations: Iterable[Situation], copies: int) -> None:
        """Take in situations, in the order of U, without the copies.

        Raises:
            SearchLimitReached: They are too many, or with so many copies take too much work.
        """
        for bits, numbers, action, flips in situations:
            key = (action, self._reads[action].key(bits, numbers))
            group = self._groups.get(key)
            if group is None:
                self._effort.hold(ENTRY_BYTES + self._system.size.mask_bytes)
                self._effort.spend(copies * self._work)
                group = self._groups[key] = _Group(bits, numbers, action, flips)
            group.count += 1

    def counts(self, area: Universe) -> SituationCounts:
        """Return the counts of situations by what holds, copies included."""
        counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
        for mask in area.copy_masks:
            for group in self._groups.values():
                counts[self._truths(group, mask)] += group.count
        return SituationCounts(*counts.values())

    def first(self, area: Universe) -> Distinction | None:
        """Return the first situation, copies included, in which only one condition holds."""
        # Groups are kept in the order of their first situation, and within a copy that order is U's.
        for flips, mask in zip(area.copies, area.copy_masks, strict=True):
            for group in self._groups.values():
                left, right = self._truths(group, mask)
                if left != right:
                    return Distinction(
                        readable_state(self._system, group.bits ^ mask, group.numbers),
                        group.action.text,
                        "left" if left else "right",
                        tuple(render(("fluent", *atom)) for atom in (*group.flips, *flips)),
                    )
        return None

    def _truths(self, group: _Group, mask: int) -> tuple[bool, bool]:
        left, right = self._compiled[group.action]
        bits = group.bits ^ mask
        return left.holds(bits, group.numbers), right.holds(bits, group.numbers)


def _find_action(document: Document, name: str) -> ActionDecl:
    for declared in document.actions:
        if declared.name == name:
            return declared
    known = ", ".join(declared.name for declared in document.actions)
    raise DocumentError(f"action {name!r} is not declared", remedy=f"name one of the actions: {known or 'none'}")


def _check_condition(document: Document, action: ActionDecl, condition: object, side: str) -> Expr:
    """Return the condition as tuples, if it fits the task."""
    vocabulary = Vocabulary(
        {declared.name: declared.parent for declared in document.types},
        {thing.name: thing.type for thing in document.objects},
        {fluent.name: fluent for fluent in document.fluents},
    )
    try:
        expr = freeze(condition)
        scope = {parameter.name: parameter.type for parameter in action.parameters}
        check_condition(vocabulary, expr, scope, f"the {side} condition of {action.name}")
    except RecursionError:
        raise DocumentError(f"the {side} condition of {action.name}: nested too deeply to be read") from None
    return expr


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
