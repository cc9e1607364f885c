"""The ground transition system of a task: states, ground actions, and how one leads to the next."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.checking import ROOT_TYPE
from hazardmill.formalism.conditions import Compiled, Compiler, Numbers, TermOf
from hazardmill.formalism.document import ActionDecl, Atom, DangerEntry, Document, FluentDecl
from hazardmill.formalism.expressions import Expr

MAX_GROUND = 200_000
"""Ground actions or ground integer fluents a system may have."""


@dataclass(frozen=True, slots=True)
class State:
    """A state: ground Booleans as one integer, ground integers as a tuple."""

    bits: int
    numbers: Numbers = ()


Masks: TypeAlias = tuple[int, int, int, int, tuple[tuple[int, int, int], ...]]
"""An action that is nothing but masks: ``bits & mask == value`` before it, bits to keep, bits to set, dangers."""


@dataclass(frozen=True, slots=True)
class Writes:
    """What the firing effects of one action write: bits to set, bits to clear, numbers by index."""

    adds: int
    deletes: int
    numbers: Mapping[int, int]
    clamped: bool = False

    def on(self, bits: int, numbers: Numbers) -> tuple[int, Numbers]:
        """The state after the writes; true wins over false."""
        after = (bits & ~self.deletes) | self.adds
        if not self.numbers:
            return after, numbers
        changed = list(numbers)
        for index, value in self.numbers.items():
            changed[index] = value
        return after, tuple(changed)


class GroundAction:
    """An action with its arguments, compiled."""

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
    )

    def __init__(self, system: System, decl: ActionDecl, args: tuple[str, ...]) -> None:
        self._system = system
        self.decl = decl
        self.args = args
        binding = self.binding
        compiler = system.compiler
        self.pre = compiler.condition(decl.precondition, binding)
        self._adds = self._deletes = 0
        self._conditional: list[tuple[Compiled, int, int]] = []
        self._integer: list[tuple[Compiled, int, str, int | TermOf]] = []
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

    def __repr__(self) -> str:
        return self.text

    def danger(self, bits: int, numbers: Numbers) -> int:
        """Sum of the increments whose condition holds in the state before the action."""
        total = 0
        for condition, increment in self._dangers:
            if condition.holds(bits, numbers):
                total += increment
        return total

    def firing(self, bits: int, numbers: Numbers) -> tuple[DangerEntry, ...]:
        """The danger entries whose condition holds in the state before the action, in canonical order."""
        return tuple(entry for condition, entry in self._entries if condition.holds(bits, numbers))

    def step(self, bits: int, numbers: Numbers) -> tuple[int, Numbers] | None:
        """The next state, or None where the action is not applicable."""
        pre = self.pre
        if bits & pre.mask != pre.value or (pre.test is not None and not pre.test(bits, numbers)):
            return None
        if self._plain:
            return (bits & ~self._deletes) | self._adds, numbers
        writes = self.writes(bits, numbers)
        return None if writes is None else writes.on(bits, numbers)

    def writes(self, bits: int, numbers: Numbers, clamp: bool = False) -> Writes | None:
        """What the effects write, read in the given state; None on conflict, or out of bounds without ``clamp``."""
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
    """The ground transition system of a document. Ground Booleans and actions come into being when first asked for."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.fluents: dict[str, FluentDecl] = {fluent.name: fluent for fluent in document.fluents}
        self.actions: dict[str, ActionDecl] = {action.name: action for action in document.actions}
        self.objects: dict[str, str] = {thing.name: thing.type for thing in document.objects}
        self._parents = {declared.name: declared.parent for declared in document.types}
        self._of_type: dict[str, tuple[str, ...]] = {}
        self._bits: dict[Atom, int] = {}
        self._next_bit = itertools.count()
        self._indices: dict[Atom, int] = {}
        self.bounds: list[tuple[int | None, int | None]] = []
        self._ground: dict[tuple[str, tuple[str, ...]], GroundAction] = {}
        self.compiler = Compiler(self)
        self._ground_integers()
        values = dict(document.initial)
        bits = 0
        for atom in values:
            if not self.fluents[atom[0]].integer:
                bits |= 1 << self.bit(atom)
        self.initial = State(bits, tuple(int(values.get(atom, 0)) for atom in self._indices))
        self.goal = self.compiler.condition(document.goal, {})

    def bit(self, atom: Atom) -> int:
        """The bit of a ground Boolean fluent."""
        bit = self._bits.get(atom)
        # A counter, not the dictionary's length: threads that share a system must never give two fluents one bit.
        return self._bits.setdefault(atom, next(self._next_bit)) if bit is None else bit

    def index(self, atom: Atom) -> int:
        """The place of a ground integer fluent."""
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
        """The objects of a type and its subtypes, in document order."""
        if type_ not in self._of_type:
            self._of_type[type_] = tuple(name for name, own in self.objects.items() if self._is_subtype(own, type_))
        return self._of_type[type_]

    def is_of_type(self, name: str, type_: str) -> bool:
        """Whether the object is of the type."""
        return self._is_subtype(self.objects[name], type_)

    def bindings(self, variables: Expr, outer: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """All ways to bind typed variables, in object order, on top of ``outer``."""
        names = [name for name, _ in variables]
        for values in itertools.product(*(self.objects_of(type_) for _, type_ in variables)):
            yield {**outer, **dict(zip(names, values, strict=True))}

    def dangers_of(self, action: str) -> list[DangerEntry]:
        """The danger entries of an action, in canonical order."""
        return [entry for entry in self.document.dangers if entry.action == action]

    def ground(self, name: str, args: tuple[str, ...]) -> GroundAction | None:
        """The ground action, or None where name, number or type of the arguments do not fit."""
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
        action = GroundAction(self, decl, args)
        self._ground[key] = action
        return action

    def all_actions(self, watch: Callable[[], None] | None = None) -> list[GroundAction]:
        """Every ground action that is not ruled out by its form, in canonical order: name, then arguments.

        Args:
            watch: Called now and then; may raise to give up.

        Raises:
            SearchLimitReached: There are over ``MAX_GROUND`` of them.
        """
        result: list[GroundAction] = []
        seen = 0
        for decl in self.document.actions:
            for args in itertools.product(*(self.objects_of(parameter.type) for parameter in decl.parameters)):
                seen += 1
                if seen > MAX_GROUND:
                    raise SearchLimitReached(
                        f"the task has over {MAX_GROUND} ground actions",
                        remedy="use fewer objects or fewer parameters an action",
                    )
                if watch is not None and not seen & 255:
                    watch()
                action = self.ground(decl.name, args)
                if action is not None and not action.pre.never:
                    result.append(action)
        return result

    def value(self, atom: Atom, bits: int, numbers: Numbers) -> bool | int:
        """The value of a ground fluent in a state."""
        if self.fluents[atom[0]].integer:
            return numbers[self._indices[atom]]
        bit = self._bits.get(atom)
        return bit is not None and bool(bits >> bit & 1)

    def changes(self, before: tuple[int, Numbers], after: tuple[int, Numbers]) -> tuple[str, ...]:
        """What differs between two states: ``+(wet floor)``, ``-(at kitchen)``, ``(battery) 3 -> 2``; sorted."""
        different = before[0] ^ after[0]
        lines = []
        for atom, bit in list(self._bits.items()):
            if different >> bit & 1:
                lines.append(("+" if after[0] >> bit & 1 else "-") + "(" + " ".join(atom) + ")")
        for atom, index in self._indices.items():
            if before[1][index] != after[1][index]:
                lines.append(f"({' '.join(atom)}) {shown(before[1][index])} -> {shown(after[1][index])}")
        return tuple(sorted(lines, key=lambda line: (line[0] not in "+", line[0] not in "+-", line)))

    def _ground_integers(self) -> None:
        for fluent in self.document.fluents:
            if not fluent.integer:
                continue
            for args in itertools.product(*(self.objects_of(parameter.type) for parameter in fluent.parameters)):
                if len(self._indices) >= MAX_GROUND:
                    raise SearchLimitReached(f"the task has over {MAX_GROUND} ground integer fluents")
                self._indices[(fluent.name, *args)] = len(self._indices)
                self.bounds.append((fluent.lower, fluent.upper))

    def _is_subtype(self, type_: str, ancestor: str) -> bool:
        while type_ != ancestor:
            if type_ == ROOT_TYPE:
                return False
            type_ = self._parents[type_]
        return True


def shown(value: int) -> str:
    """An integer for people; a huge one by its size, because writing it out is slow, and refused by Python at last."""
    if value.bit_length() <= 128:
        return str(value)
    return f"{'-' if value < 0 else ''}(about 2^{value.bit_length() - 1})"
