"""U: the situations in which conditions of one action are compared.

A situation is a state with a ground instance of the action that is applicable in it. The state is reachable from the
initial state s0, or from s0 with any assignment of the ground context fluents that the conditions read (at most
``MOST_CONTEXT`` of them; beyond that, s0 with one of them flipped at a time).

The order is fixed: what s0 leads to comes first, then what each other start leads to, those with fewer flips before
those with more; of one start, states in the order of their discovery; in one state, ground actions in canonical order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Atom
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, children, fluents_of, render
from hazardmill.formalism.search.budget import Effort
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System, show_integer

MOST_CONTEXT: Final = 8
"""Most ground context fluents for which every assignment is tried."""
MOST_READ: Final = 1_000
"""Most ground context fluents that may be flipped one at a time: each is a start, or a copy of all situations."""

Flips: TypeAlias = tuple[Atom, ...]
"""The ground context fluents whose value at the start is not that of s0."""
Situation: TypeAlias = tuple[int, Numbers, GroundAction, Flips]
"""A state, a ground action that is applicable in it, and the flips of the start from which it was first reached."""


@dataclass(frozen=True)
class Universe:
    """The situations of one action, not yet enumerated; ``universe`` makes it.

    Attributes:
        system: The task.
        action: Name of the action.
    """

    system: System
    action: str
    context: tuple[Atom, ...]
    """The ground context fluents that the conditions read, by name and arguments."""
    single_flips: bool
    """Whether there are too many of them for every assignment, so that only one is flipped at a time."""
    starts: tuple[Flips, ...]
    """The starts to explore: s0 alone where the context decides nothing but dangers."""
    copies: tuple[Flips, ...]
    """The flips by which each explored situation is copied; the first is the empty one, the situation itself. Where the
    context decides nothing but dangers, every start leads to the same states but for its own flips, so exploring one
    start is enough."""

    @property
    def copy_masks(self) -> tuple[int, ...]:
        """The bits that differ, for each of ``copies``."""
        return tuple(_mask(self.system, flips) for flips in self.copies)

    def explore_from(self, actions: Sequence[GroundAction], effort: Effort) -> Iterator[Situation]:
        """Yield the situations as ``situations`` does, without the copies."""
        return explore(self.system, actions, {self.action}, self.starts, effort)

    def situations(self, actions: Sequence[GroundAction], effort: Effort) -> Iterator[Situation]:
        """Yield all of U, in order; each state is met once.

        What s0 leads to is kept in memory until the end if there are copies.

        Args:
            actions: All ground actions of the system.
            effort: What may be spent on it.

        Raises:
            SearchLimitReached: It was not enough.
        """
        kept: list[Situation] = []
        for situation in self.explore_from(actions, effort):
            if len(self.copies) > 1:
                kept.append(situation)
            yield situation
        for flips, mask in zip(self.copies[1:], self.copy_masks[1:], strict=True):
            for bits, numbers, action, _ in kept:
                yield bits ^ mask, numbers, action, flips


def universe(system: System, action: str, conditions: Sequence[Expr]) -> Universe:
    """Return the situations in which to compare conditions of an action, without exploring them.

    Args:
        system: The task.
        action: The action's name.
        conditions: Lifted conditions over its parameters. The context is what any of them reads under any binding of
            the right types, whether the action is ever applicable under it or not.

    Raises:
        SearchLimitReached: They read more of the context than can be listed.
    """
    read = _context_read(system, action, conditions)
    context = tuple(sorted(read))
    single_flips = len(context) > MOST_CONTEXT
    most = 1 if single_flips else len(context)
    flips = tuple(chosen for count in range(most + 1) for chosen in itertools.combinations(context, count))
    if read and {atom[0] for atom in read} & _deciding_fluents(system):
        return Universe(system, action, context, single_flips, flips, ((),))
    return Universe(system, action, context, single_flips, ((),), flips)


def explore(
    system: System, actions: Sequence[GroundAction], watched: Collection[str], starts: Sequence[Flips], effort: Effort
) -> Iterator[Situation]:
    """Yield the situations of the watched actions in every state that a start leads to, breadth first, start by start.

    Args:
        system: The task.
        actions: All its ground actions; each is tried in each state.
        watched: Names of the actions whose situations are wanted.
        starts: Flips of s0. A state that an earlier start has reached is not visited again.
        effort: What may be spent on it.

    Raises:
        SearchLimitReached: It was not enough.
    """
    # Most actions are masks alone; comparing those here saves a call per action and state.
    table: list[tuple[int, int, int, int, Callable[..., tuple[int, Numbers] | None] | None, GroundAction, bool]] = []
    for action in actions:
        wanted = action.name in watched
        if action.masks is None:
            table.append((0, 0, 0, 0, action.step, action, wanted))
        else:
            table.append((*action.masks[:4], None, action, wanted))
    mixing = system.mixing
    met: set[tuple[int, Numbers, int]] = set()
    after: tuple[int, Numbers] | None
    for flips in starts:
        start = (system.initial.bits ^ _mask(system, flips), system.initial.numbers)
        key = (*start, start[0] % mixing)
        if key in met:
            continue
        met.add(key)
        queue = [start]
        # The list grows while it is read: a first-in, first-out queue that keeps its order.
        for bits, numbers in queue:
            effort.expand(len(met))
            for mask, value, keep, add, step, action, wanted in table:
                if bits & mask != value:
                    continue
                if step is None:
                    after = (bits & keep | add, numbers)
                else:
                    after = step(bits, numbers)
                    if after is None:
                        continue
                if wanted:
                    yield bits, numbers, action, flips
                key = (*after, after[0] % mixing)
                if key not in met:
                    met.add(key)
                    queue.append(after)
                    if system.unbounded:
                        system.weigh(after[1], effort)


class Reads:
    """What conditions read of a state under one binding.

    Two states with the same key are the same for the conditions, so one of them need not be looked at.

    Args:
        system: The task.
        conditions: Lifted conditions.
        binding: Object by parameter.
    """

    __slots__ = ("_mask", "_places")

    def __init__(self, system: System, conditions: Sequence[Expr], binding: Mapping[str, str]) -> None:
        mask = 0
        places: set[int] = set()
        for condition in conditions:
            for atom in atoms_read(system, condition, binding):
                if system.fluents[atom[0]].integer:
                    places.add(system.index(atom))
                else:
                    mask |= 1 << system.bit(atom)
        self._mask = mask
        self._places = tuple(sorted(places))

    def key(self, bits: int, numbers: Numbers) -> tuple[int, ...]:
        """Return what the conditions read of a state, as a key for dictionaries."""
        return (bits & self._mask, *(numbers[place] for place in self._places))


def atoms_read(system: System, expr: Expr, binding: Mapping[str, str]) -> Iterator[Atom]:
    """Yield the ground fluents that a lifted condition reads under a binding, once per place that reads it."""
    if isinstance(expr, tuple) and expr[0] == "fluent":
        yield tuple(binding.get(part, part) for part in expr[1:])
    elif isinstance(expr, tuple) and expr[0] in QUANTIFIERS:
        for inner in system.bindings(expr[1], binding):
            yield from atoms_read(system, expr[2], inner)
    else:
        for child in children(expr):
            yield from atoms_read(system, child, binding)


def readable_state(system: System, bits: int, numbers: Numbers) -> tuple[str, ...]:
    """Return a state for people: what is true, ``(at kitchen)``, then the integers, ``(= (battery) 3)``.

    Each part is sorted. A huge integer is shown by its size, ``(= (count) (about 2^200))``. Boolean fluents that are
    false are left out.
    """
    true = sorted(render(("fluent", *atom)) for atom in system.atoms if system.value(atom, bits, numbers))
    values = zip(system.integers, numbers, strict=True)
    integers = sorted(f"(= {render(('fluent', *atom))} {show_integer(value)})" for atom, value in values)
    return (*true, *integers)


def _context_read(system: System, action: str, conditions: Sequence[Expr]) -> set[Atom]:
    parameters = {parameter.name: parameter.type for parameter in system.actions[action].parameters}
    read: set[Atom] = set()
    for condition in conditions:
        for node, scope in _applications(condition, parameters):
            if system.fluents[node[1]].kind != "context" or not all(map(system.objects_of, scope.values())):
                continue
            # Variables take their values independently, so those that the fluent does not name need not be unfolded.
            for binding in system.bindings([item for item in scope.items() if item[0] in node[2:]], {}):
                read.add(tuple(binding.get(part, part) for part in node[1:]))
                if len(read) > MOST_READ:
                    raise SearchLimitReached(
                        f"the conditions of {action} depend on more than {MOST_READ:,} ground context fluents",
                        remedy="use fewer objects, or context fluents with fewer parameters",
                    )
    return read


def _applications(expr: Expr, scope: Mapping[str, str]) -> Iterator[tuple[Expr, Mapping[str, str]]]:
    """Yield the fluents of an expression, each with the variables in scope and their types."""
    if isinstance(expr, tuple) and expr[0] == "fluent":
        yield expr, scope
    elif isinstance(expr, tuple) and expr[0] in QUANTIFIERS:
        yield from _applications(expr[2], {**scope, **dict(expr[1])})
    else:
        for child in children(expr):
            yield from _applications(child, scope)


def _mask(system: System, flips: Flips) -> int:
    mask = 0
    for atom in flips:
        mask |= 1 << system.bit(atom)
    return mask


def _deciding_fluents(system: System) -> set[str]:
    """Return the names of the fluents that decide what is possible or what effects do, or that effects write."""
    names: set[str] = set()
    for action in system.document.actions:
        names.update(node[1] for node in fluents_of(action.precondition))
        for effect in action.effects:
            names.update(
                node[1] for part in (effect.target, effect.value, effect.condition) for node in fluents_of(part)
            )
    return names
