"""A task seen through some of its fluents, where everything is possible that the others may allow.

Whatever can be done in the task can be done in its projection, in as many steps and with the same danger. So a shortest
plan of the projection is at most as long as one of the task, and if the projection has none, the task has none.
Integers, and the Boolean fluents that decide over them, over the goal and over danger, are always seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeAlias

from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, substitute
from hazardmill.formalism.semantics.condition_compiler import ALWAYS, NEVER, CompiledCondition, Compiler, Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System

Seen: TypeAlias = tuple[int, Numbers]
"""What is seen of a state: the bits of the fluents that are seen, and the integers."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What an action does where a condition holds.

    Attributes:
        possible: Holds where the condition may hold.
        avoidable: Holds where the condition may fail.
        adds: Bits that are set.
        deletes: Bits that are cleared.
    """

    possible: CompiledCondition
    avoidable: CompiledCondition
    adds: int
    deletes: int


@dataclass(frozen=True, slots=True)
class ProjectedAction:
    """What is seen of one ground action, and of others that look the same or need more for it.

    Attributes:
        ground: The action.
        pre: What is seen of its precondition.
        adds: Bits that are set.
        deletes: Bits that are cleared.
        changes: Effects with conditions.
        plain: Whether it is nothing but masks.
        counts: Whether it has effects on integers.
    """

    ground: GroundAction
    pre: CompiledCondition
    adds: int
    deletes: int
    changes: tuple[_Change, ...]
    plain: bool
    counts: bool

    def successors(self, bits: int, numbers: Numbers) -> list[Seen]:
        """Return what may be seen next: several possibilities where an effect depends on what is not seen.

        Args:
            bits: The bits of the fluents that are seen.
            numbers: The integers.
        """
        if not self.pre.holds(bits, numbers):
            return []
        if self.counts:
            # What decides over integers is always seen, so that the action itself says what becomes of them.
            writes = self.ground.writes(bits, numbers)
            if writes is None:
                return []
            after = writes.on(bits, numbers)[1]
        else:
            after = numbers
        adds, deletes = self.adds, self.deletes
        uncertain = []
        for change in self.changes:
            if change.possible.holds(bits, numbers):
                if change.avoidable.holds(bits, numbers):
                    uncertain.append(change)
                else:
                    adds |= change.adds
                    deletes |= change.deletes
        ways = [(adds, deletes)]
        for change in uncertain:
            ways += [(adds | change.adds, deletes | change.deletes) for adds, deletes in ways]
        return [((bits & ~deletes) | adds, after) for adds, deletes in ways]


class Projection:
    """A task of which some Boolean fluents are seen, at first as few as possible.

    Args:
        system: The task.
        actions: All its ground actions.

    Attributes:
        seen: The bits of the fluents that are seen.
        actions: The actions of the projection. Left out is what changes nothing that is seen, and what needs more than
            another one for the same.
    """

    def __init__(self, system: System, actions: Iterable[GroundAction]) -> None:
        self._compiler = _SeenPart(system)
        self._sources = [_Source(system, action) for action in actions]
        self._shown: dict[_Source, ProjectedAction | None] = {}
        self.seen = 0
        self.actions: list[ProjectedAction] = []
        # What nothing writes is the same in all states: to see it costs nothing.
        written = _union(source.writes for source in self._sources)
        constant = _union(source.mentions for source in self._sources) & ~written
        decisive = _union(source.decisive for source in self._sources)
        self.see(bits_read(system, system.document.goal, {}) | decisive | constant)

    def see(self, bits: int) -> None:
        """Let more fluents be seen.

        Args:
            bits: Their bits.
        """
        # What decides whether a fluent that is seen changes is seen with it.
        bits |= _union(
            reads for source in self._sources for _, reads, adds, deletes in source.effects if (adds | deletes) & bits
        )
        fresh = bits & ~self.seen
        self.seen = self._compiler.seen = self.seen | bits
        for source in self._sources:
            if source not in self._shown or source.mentions & fresh:
                self._shown[source] = self._show(source)
        self.actions = self._least_demanding()

    def flaw(self, bits: int, numbers: Numbers, action: ProjectedAction, expected: Seen) -> int:
        """Return what should be seen, too, because an action does not do in a state what it does in the projection.

        Args:
            bits: The Boolean fluents of a state of the task.
            numbers: Its integers.
            action: The action.
            expected: What was to be seen of the next state.

        Returns:
            Bits that were not seen: those of the precondition, if it does not hold, or of conditions of effects.
        """
        source = next(source for source in self._sources if source.action is action.ground)
        pre = source.action.pre
        wanted = (bits & pre.mask) ^ pre.value
        if not wanted and not pre.holds(bits, numbers):
            wanted = source.demands
        if not wanted:
            after = source.action.step(bits, numbers)
            wrong = 0 if after is None else (after[0] ^ expected[0]) & self.seen
            wanted = _union(reads for _, reads, adds, deletes in source.effects if (adds | deletes) & wrong)
        return wanted & ~self.seen

    def _show(self, source: _Source) -> ProjectedAction | None:
        compiler, binding, seen = self._compiler, source.action.binding, self.seen
        adds = deletes = 0
        changes = []
        for condition, reads, adding, deleting in source.effects:
            if not (adding | deleting) & seen:
                continue
            possible = compiler.condition(condition, binding)
            if possible.never:
                continue
            if possible.always and condition is True:
                adds |= adding & seen
                deletes |= deleting & seen
                continue
            avoidable = compiler.condition(condition, binding, False) if reads & ~seen else NEVER
            if possible.always and avoidable.never:
                adds |= adding & seen
                deletes |= deleting & seen
            else:
                changes.append(_Change(possible, avoidable, adding & seen, deleting & seen))
        if not (adds or deletes or changes or source.counts or source.dangerous):
            return None
        pre = compiler.condition(source.action.decl.precondition, binding)
        plain = pre.test is None and not (changes or source.counts or source.dangerous)
        return (
            None
            if pre.never
            else ProjectedAction(source.action, pre, adds, deletes, tuple(changes), plain, source.counts)
        )

    def _least_demanding(self) -> list[ProjectedAction]:
        """Return the actions without those that need more than another one with the same effects."""
        kept: list[ProjectedAction] = []
        same: dict[tuple[int, int], list[CompiledCondition]] = {}
        for action in filter(None, self._shown.values()):
            if not action.plain:
                kept.append(action)
                continue
            pre = action.pre
            others = same.setdefault((action.adds, action.deletes), [])
            if any(pre.mask & each.mask == each.mask and pre.value & each.mask == each.value for each in others):
                continue
            others.append(pre)
            kept.append(action)
        return kept


class _Source:
    """A ground action, with the bits that its parts read.

    Attributes:
        action: The action.
        effects: Condition, bits that it reads, bits to set and bits to clear of its Boolean effects.
        counts: Whether it has effects on integers.
        dangerous: Whether it has danger entries.
        demands: Bits that its precondition reads.
        decisive: Bits that decide over integers and danger.
        mentions: All bits that it reads or writes.
    """

    def __init__(self, system: System, action: GroundAction) -> None:
        binding = action.binding
        self.action = action
        self.counts = False
        self.decisive = 0
        merged: dict[Expr, tuple[int, int]] = {}
        for effect in action.decl.effects:
            if system.fluents[effect.target[1]].integer:
                self.counts = True
                self.decisive |= bits_read(system, effect.condition, binding)
                continue
            condition = substitute(effect.condition, binding)
            bit = bits_read(system, effect.target, binding)
            adds, deletes = merged.get(condition, (0, 0))
            merged[condition] = (adds | bit, deletes) if effect.value else (adds, deletes | bit)
        self.effects = [
            (condition, bits_read(system, condition, {}), adds, deletes)
            for condition, (adds, deletes) in merged.items()
        ]
        entries = system.dangers_of(action.name)
        self.dangerous = bool(entries)
        self.decisive |= _union(bits_read(system, entry.condition, binding) for entry in entries)
        self.demands = bits_read(system, action.decl.precondition, binding)
        self.writes = _union(adds | deletes for _, _, adds, deletes in self.effects)
        self.mentions = self.demands | _union(reads | adds | deletes for _, reads, adds, deletes in self.effects)


class _SeenPart(Compiler):
    """Compiles what may be true of a condition if nothing is known of the fluents that are not seen."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.seen = 0

    def condition(self, expr: Expr, binding: Mapping[str, str], positive: bool = True) -> CompiledCondition:
        found = super().condition(expr, binding, positive)
        # Only a literal is looked at: whatever is made of literals is made of what may be true of them.
        return found if not isinstance(expr, tuple) or expr[0] != "fluent" or found.mask & self.seen else ALWAYS


def bits_read(system: System, expr: Expr, binding: Mapping[str, str]) -> int:
    """Return the bits of the Boolean fluents that an expression reads.

    Args:
        system: The task.
        expr: A condition or term.
        binding: Object by parameter.
    """
    if isinstance(expr, bool | int) or expr[0] == "same":
        return 0
    head = expr[0]
    if head == "fluent":
        atom = tuple(binding.get(part, part) for part in expr[1:])
        return 0 if system.fluents[atom[0]].integer else 1 << system.bit(atom)
    if head in QUANTIFIERS:
        return _union(bits_read(system, expr[2], inner) for inner in system.bindings(expr[1], binding))
    return _union(bits_read(system, child, binding) for child in expr[1:])


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)
