"""The ground transition system of a task: states, ground actions, and how one leads to the next."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from hazardmill.formalism.document.document import ActionDecl, Atom, DangerEntry, Document, FluentDecl
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.validation import ROOT_TYPE
from hazardmill.formalism.search.budget import Effort
from hazardmill.formalism.semantics.condition_compiler import CompiledCondition, Compiler, Numbers, TermOf
from hazardmill.formalism.semantics.ground_size import MOST_BYTES, ground_size

PARTS_PER_TRY: Final = 3
"""Parts of conditions and effects that take as long to evaluate as trying a plain action."""
_CONDITIONS: Final = 4
"""Plain actions that can be tried in the time that it takes to try one with conditions other than conjunctions."""
_NUMBERS: Final = 7
"""The same for an action that writes integers."""
_COLLIDING_BITS: Final = 61
_MIXING_PRIME: Final = 2**30 - 35
_FREE_PARTS: Final = 16
"""Parts that a plain action may have."""
_HUGE_BITS: Final = 64
"""Bits above which an integer is counted separately, because it is no longer a small part of its state."""


@dataclass(frozen=True, slots=True)
class State:
    """A state of a task: every ground fluent with its value, in a form that is quick to compare and to hash.

    Attributes:
        bits: The ground Boolean fluents; ``System.bit`` says which bit stands for which.
        numbers: The ground integer fluents; ``System.index`` says which place stands for which.
    """

    bits: int
    numbers: Numbers = ()


Masks: TypeAlias = tuple[int, int, int, int, tuple[tuple[int, int, int], ...]]
"""An action that is nothing but masks: mask and value of its precondition, bits to keep, bits to set, dangers.

The precondition holds where ``bits & mask == value``; each danger is the mask and the value of its condition, and its
increment."""


@dataclass(frozen=True, slots=True)
class Writes:
    """What the firing effects of one action write in one state.

    Attributes:
        adds: Bits to set.
        deletes: Bits to clear; a bit that is also in ``adds`` is set.
        numbers: New value by the place of the integer.
        clamped: Whether a value was moved to the nearest bound of its fluent.
    """

    adds: int
    deletes: int
    numbers: Mapping[int, int]
    clamped: bool = False

    def on(self, bits: int, numbers: Numbers) -> tuple[int, Numbers]:
        """Return the state after the writes; true wins over false."""
        after = (bits & ~self.deletes) | self.adds
        if not self.numbers:
            return after, numbers
        changed = list(numbers)
        for index, value in self.numbers.items():
            changed[index] = value
        return after, tuple(changed)


@dataclass(frozen=True, slots=True)
class NamedAction:
    """A ground action by name: what another process gets of it.

    A ``GroundAction`` pickles as one, because what it was compiled to belongs to the system in its own process.

    Attributes:
        name: The action's name.
        args: The objects, in the order of its parameters.
    """

    name: str
    args: tuple[str, ...]

    @property
    def text(self) -> str:
        """``(name arg ...)``."""
        return "(" + " ".join((self.name, *self.args)) + ")"


class GroundAction:
    """An action with its arguments, compiled for one system; ``System.ground`` makes them.

    Attributes:
        decl: The action as declared.
        args: The objects, in the order of its parameters.
        pre: The compiled precondition.
        masks: The whole action as masks, for loops that cannot afford a call; None where it has conditional effects,
            writes integers, or has a condition that is not a conjunction of Boolean literals.
        work: What trying it takes, with the plainest action of a small task as 1.
    """

    __slots__ = (
        "_adds",
        "_conditional",
        "_dangers",
        "_deletes",
        "_entries",
        "_integer",
        "_plain",
        "_system",
        "args",
        "decl",
        "masks",
        "pre",
        "work",
    )

    def __init__(self, system: System, decl: ActionDecl, args: tuple[str, ...]) -> None:
        self._system = system
        self.decl = decl
        self.args = args
        binding = self.binding
        compiler = system.compiler
        self.pre = compiler.condition(decl.precondition, binding)
        self._adds = self._deletes = 0
        self._conditional: list[tuple[CompiledCondition, int, int]] = []
        self._integer: list[tuple[CompiledCondition, int, str, int | TermOf]] = []
        for effect in decl.effects:
            condition = compiler.condition(effect.condition, binding)
            if condition.never:
                continue
            atom = tuple(binding.get(part, part) for part in effect.target[1:])
            if system.fluents[atom[0]].integer:
                term = compiler.term(effect.value, binding)
                self._integer.append((condition, system.index(atom), effect.operation, term))
                continue
            bit = 1 << system.bit(atom)
            adds, deletes = (bit, 0) if effect.value else (0, bit)
            if condition.always:
                self._adds |= adds
                self._deletes |= deletes
            else:
                self._conditional.append((condition, adds, deletes))
        self._entries = tuple(
            (compiler.condition(entry.condition, binding), entry) for entry in system.dangers_of(decl.name)
        )
        self._dangers = tuple((condition, entry.increment) for condition, entry in self._entries)
        self._plain = not self._conditional and not self._integer
        self.masks: Masks | None = None
        if self._plain and self.pre.test is None and all(condition.test is None for condition, _ in self._dangers):
            dangers = tuple((condition.mask, condition.value, increment) for condition, increment in self._dangers)
            self.masks = (self.pre.mask, self.pre.value, ~self._deletes, self._adds, dangers)
        kind, parts = 1, 0
        if self.masks is None:
            kind = _NUMBERS if self._integer else _CONDITIONS
            parts = system.size.actions[decl.name].parts
        self.work = kind + _reading(parts) + system.size.state_work

    @property
    def name(self) -> str:
        """The action's name."""
        return self.decl.name

    @property
    def binding(self) -> dict[str, str]:
        """Parameter to object."""
        return {parameter.name: arg for parameter, arg in zip(self.decl.parameters, self.args, strict=True)}

    @property
    def text(self) -> str:
        """``(name arg ...)``."""
        return "(" + " ".join((self.decl.name, *self.args)) + ")"

    @property
    def written(self) -> int:
        """The bits of the Boolean fluents that an effect may write, whatever its condition."""
        bits = self._adds | self._deletes
        for _, adds, deletes in self._conditional:
            bits |= adds | deletes
        return bits

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[NamedAction], tuple[str, tuple[str, ...]]]:
        # The compiled form stays in its process.
        return NamedAction, (self.decl.name, self.args)

    def danger(self, bits: int, numbers: Numbers) -> int:
        """Return the sum of the increments whose condition holds in the state before the action."""
        total = 0
        for condition, increment in self._dangers:
            if condition.holds(bits, numbers):
                total += increment
        return total

    def firing(self, bits: int, numbers: Numbers) -> tuple[DangerEntry, ...]:
        """Return the danger entries whose condition holds in the state before the action, in canonical order."""
        return tuple(entry for condition, entry in self._entries if condition.holds(bits, numbers))

    def step(self, bits: int, numbers: Numbers) -> tuple[int, Numbers] | None:
        """Return the next state, or None where the action is not applicable.

        Not applicable means that the precondition does not hold, that effects conflict, or that an integer would leave
        its bounds.
        """
        pre = self.pre
        if bits & pre.mask != pre.value or (pre.test is not None and not pre.test(bits, numbers)):
            return None
        if self._plain:
            return (bits & ~self._deletes) | self._adds, numbers
        writes = self.writes(bits, numbers)
        return None if writes is None else writes.on(bits, numbers)

    def writes(self, bits: int, numbers: Numbers, clamp: bool = False) -> Writes | None:
        """Return what the effects write, all of them read in the given state.

        Args:
            bits: The Boolean fluents of the state.
            numbers: Its integer fluents.
            clamp: Whether to move a result that is out of bounds to the nearest bound.

        Returns:
            The writes; None where effects conflict, or where a result is out of bounds and ``clamp`` is false.
        """
        adds, deletes = self._adds, self._deletes
        for condition, add, delete in self._conditional:
            if condition.holds(bits, numbers):
                adds |= add
                deletes |= delete
        if not self._integer:
            return Writes(adds, deletes, {})
        assigned: dict[int, int] = {}
        moved: dict[int, int] = {}
        for condition, index, operation, term in self._integer:
            if not condition.holds(bits, numbers):
                continue
            value = term if isinstance(term, int) else term(numbers)
            if operation == "assign":
                if assigned.setdefault(index, value) != value:
                    return None
            else:
                moved[index] = moved.get(index, 0) + (value if operation == "increase" else -value)
        if assigned.keys() & moved.keys():
            return None
        assigned.update((index, numbers[index] + change) for index, change in moved.items())
        clamped = False
        for index, value in assigned.items():
            lower, upper = self._system.bounds[index]
            kept = value if lower is None else max(value, lower)
            kept = kept if upper is None else min(kept, upper)
            if kept != value:
                if not clamp:
                    return None
                assigned[index], clamped = kept, True
        return Writes(adds, deletes, assigned, clamped)


class System:
    """The ground transition system of a document.

    Ground Booleans and ground actions are made when they are first asked for; threads may share a system.

    Args:
        document: The task.

    Attributes:
        size: How large the task is once it is ground.
        fluents: Declared fluents by name.
        actions: Declared actions by name.
        objects: Type by object, in document order.
        bounds: Lower and upper bound of each ground integer fluent, by place.
        unbounded: Places of the ground integer fluents that lack a bound.
        initial: The initial state.
        goal: The compiled goal.
        goal_work: What evaluating the goal takes, in plain actions tried.
        compiler: Compiles further conditions of this system.

    Raises:
        SearchLimitReached: The state or the goal is too large to be ground.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.size = ground_size(document)
        self.size.check_states()
        self.fluents: dict[str, FluentDecl] = {fluent.name: fluent for fluent in document.fluents}
        self.actions: dict[str, ActionDecl] = {action.name: action for action in document.actions}
        self.objects: dict[str, str] = {thing.name: thing.type for thing in document.objects}
        self._parents = {declared.name: declared.parent for declared in document.types}
        self._of_type = self._objects_by_type()
        self._bits: dict[Atom, int] = {}
        self._next_bit = itertools.count()
        self._indices: dict[Atom, int] = {}
        self.bounds: list[tuple[int | None, int | None]] = []
        self.unbounded: list[int] = []
        self._ground: dict[tuple[str, tuple[str, ...]], GroundAction] = {}
        self._ground_bytes = 0
        self._all: list[GroundAction] | None = None
        self.compiler = Compiler(self)
        self._ground_integers()
        values = dict(document.initial)
        bits = 0
        for atom in values:
            if not self.fluents[atom[0]].integer:
                bits |= 1 << self.bit(atom)
        self.initial = State(bits, tuple(int(values.get(atom, 0)) for atom in self._indices))
        self.goal = self.compiler.condition(document.goal, {})
        self.goal_work = 0 if self.goal.test is None else _reading(self.size.goal_parts)

    def bit(self, atom: Atom) -> int:
        """Return the bit of a ground Boolean fluent; a fluent that was not met before gets the next free one."""
        bit = self._bits.get(atom)
        # A counter, not the dictionary's length: threads that share a system must never give two fluents one bit.
        return self._bits.setdefault(atom, next(self._next_bit)) if bit is None else bit

    def index(self, atom: Atom) -> int:
        """Return the place of a ground integer fluent."""
        return self._indices[atom]

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The ground Boolean fluents met so far, by bit."""
        return tuple(self._bits)

    @property
    def integers(self) -> tuple[Atom, ...]:
        """The ground integer fluents, by place."""
        return tuple(self._indices)

    def objects_of(self, type_: str) -> tuple[str, ...]:
        """Return the objects of a type and its subtypes, in document order."""
        return self._of_type.get(type_, ())

    def is_of_type(self, name: str, type_: str) -> bool:
        """Return whether a declared object is of a type or of one of its subtypes."""
        return self._is_subtype(self.objects[name], type_)

    def bindings(self, variables: Expr, outer: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield all ways to bind typed variables, in object order, on top of ``outer``.

        The last variable changes fastest.
        """
        names = [name for name, _ in variables]
        for values in itertools.product(*(self.objects_of(type_) for _, type_ in variables)):
            yield {**outer, **dict(zip(names, values, strict=True))}

    def dangers_of(self, action: str) -> list[DangerEntry]:
        """Return the danger entries of an action, in canonical order."""
        return [entry for entry in self.document.dangers if entry.action == action]

    def ground(self, name: str, args: tuple[str, ...]) -> GroundAction | None:
        """Return a ground action, or None where name, number or type of the arguments do not fit.

        Raises:
            SearchLimitReached: A single instance of the action is too large to be ground.
        """
        key = (name, args)
        found = self._ground.get(key)
        if found is not None:
            return found
        decl = self.actions.get(name)
        if decl is None or len(args) != len(decl.parameters):
            return None
        for arg, parameter in zip(args, decl.parameters, strict=True):
            if arg not in self.objects or not self.is_of_type(arg, parameter.type):
                return None
        self.size.check_instance(name)
        action = GroundAction(self, decl, args)
        self._ground_bytes += self.size.instance_bytes(name)
        if self._ground_bytes > MOST_BYTES:
            # This never happens after a search has ground all actions, because then they all fit. It happens where
            # plans of many large actions are read one after the other.
            self._ground.clear()
            self._ground_bytes = self.size.instance_bytes(name)
        self._ground[key] = action
        return action

    def all_actions(self, watch: Callable[[], None] | None = None) -> list[GroundAction]:
        """Return every ground action that is not ruled out by its form, in canonical order: name, then arguments.

        The list is made once and shared by all callers.

        Args:
            watch: Called every 256 actions; may raise to give up.

        Raises:
            SearchLimitReached: They are too many or too large.
        """
        if self._all is not None:
            return self._all
        self.size.check_actions()
        result: list[GroundAction] = []
        seen = 0
        for decl in self.document.actions:
            for args in itertools.product(*(self.objects_of(parameter.type) for parameter in decl.parameters)):
                seen += 1
                if watch is not None and not seen & 255:
                    watch()
                action = self.ground(decl.name, args)
                if action is not None and not action.pre.never:
                    result.append(action)
        self._all = result
        return result

    @property
    def mixing(self) -> int:
        """The divisor of the bits of a state whose remainder belongs in the key of a table of states.

        Python hashes an integer modulo 2^61 - 1, so that bit 0 and bit 61 count the same in the hash: of states of
        hundreds of bits, thousands would share one hash, and each look-up would compare with all of them. With the
        remainder beside them, their keys differ.
        """
        return _MIXING_PRIME if self.size.booleans > _COLLIDING_BITS else 1

    def effort(self, limit: int, timeout_s: float | None = None) -> Effort:
        """Return the effort of a search that tries every ground action in each expansion.

        Args:
            limit: Most expansions.
            timeout_s: Most seconds, grounding included; None for no limit.

        Raises:
            SearchLimitReached: The ground actions are too many or too large, or grounding took too long.
        """
        effort = Effort(limit, 0, timeout_s, self.size.state_bytes)
        effort.widen(width(self.all_actions(effort.watch_the_clock)) + self.goal_work)
        return effort

    def weigh(self, numbers: Numbers, effort: Effort) -> None:
        """Count the huge integers of a state that a search has met for the first time.

        Only fluents that lack a bound can hold such integers. Their bytes count as kept, and as work of the expansion.

        Raises:
            SearchLimitReached: They are too many or too large.
        """
        huge = sum(numbers[index].bit_length() for index in self.unbounded) // 8
        if huge > _HUGE_BITS // 8 * len(self.unbounded):
            effort.hold(huge)
            effort.lengthen(huge)

    def value(self, atom: Atom, bits: int, numbers: Numbers) -> bool | int:
        """Return the value of a ground fluent in a state."""
        if self.fluents[atom[0]].integer:
            return numbers[self._indices[atom]]
        bit = self._bits.get(atom)
        return bit is not None and bool(bits >> bit & 1)

    def changes(self, before: tuple[int, Numbers], after: tuple[int, Numbers]) -> tuple[str, ...]:
        """Return what differs between two states: ``+(wet floor)``, ``-(at kitchen)``, ``(battery) 3 -> 2``.

        Additions come first, then removals, then integers, each group sorted.
        """
        different = before[0] ^ after[0]
        lines = []
        for atom, bit in list(self._bits.items()):
            if different >> bit & 1:
                lines.append(("+" if after[0] >> bit & 1 else "-") + "(" + " ".join(atom) + ")")
        for atom, index in self._indices.items():
            if before[1][index] != after[1][index]:
                lines.append(f"({' '.join(atom)}) {show_integer(before[1][index])} -> {show_integer(after[1][index])}")
        return tuple(sorted(lines, key=lambda line: (line[0] not in "+", line[0] not in "+-", line)))

    def _ground_integers(self) -> None:
        for fluent in self.document.fluents:
            if not fluent.integer:
                continue
            for args in itertools.product(*(self.objects_of(parameter.type) for parameter in fluent.parameters)):
                if fluent.lower is None or fluent.upper is None:
                    self.unbounded.append(len(self._indices))
                self._indices[(fluent.name, *args)] = len(self._indices)
                self.bounds.append((fluent.lower, fluent.upper))

    def _objects_by_type(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for name, type_ in self.objects.items():
            while type_ != ROOT_TYPE:
                found.setdefault(type_, []).append(name)
                type_ = self._parents[type_]
            found.setdefault(ROOT_TYPE, []).append(name)
        return {type_: tuple(names) for type_, names in found.items()}

    def _is_subtype(self, type_: str, ancestor: str) -> bool:
        while type_ != ancestor:
            if type_ == ROOT_TYPE:
                return False
            type_ = self._parents[type_]
        return True


def width(actions: Iterable[GroundAction]) -> int:
    """Return the work of trying these actions once each in one state, in the unit of ``GroundAction.work``.

    It is the width of an expansion, which ``Effort`` counts.
    """
    return sum(action.work for action in actions)


def _reading(parts: int) -> int:
    return max(parts - _FREE_PARTS, 0) // PARTS_PER_TRY


def show_integer(value: int) -> str:
    """Return an integer as text for people, above 128 bits by its size alone: ``(about 2^200)``.

    Writing out a longer one is slow, and Python refuses it above some thousands of digits.
    """
    if value.bit_length() <= 128:
        return str(value)
    return f"{'-' if value < 0 else ''}(about 2^{value.bit_length() - 1})"
