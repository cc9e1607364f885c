"""How large a task becomes once it is ground, computed from its document before anything is ground.

A document of a few hundred bytes can name millions of ground fluents, actions and conditions. They are counted here
by multiplying the numbers of objects of each type, so that every machine refuses the same documents at the same
place. Bytes are an upper estimate of what CPython takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import ActionDecl, Document
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr
from hazardmill.formalism.document.validation import objects_by_type

MOST_ACTIONS: Final = 200_000
"""Ground actions a task may have."""
MOST_PARTS: Final = 500_000
"""Ground parts that conditions and effects may unfold into, over all ground actions."""
MOST_INTEGERS: Final = 20_000
"""Ground integer fluents: each is 8 bytes in every state."""
MOST_BYTES: Final = 128 * 2**20
"""Bytes that everything ground may take together."""

_SMALLEST_STATE: Final = 400
_STATE: Final = 260
_INTEGER: Final = 400
_ACTION: Final = 800
_PART: Final = 200
_MET: Final = 100_000
"""Most ground Boolean fluents that plans are assumed to meet where not all actions are ground."""
SMALLER: Final = "use fewer objects, fewer parameters of fluents and actions, or fewer quantifiers"
"""How to make a task smaller, whatever it is too large for."""


@dataclass(frozen=True, slots=True)
class ActionSize:
    """The size of one action once it is ground.

    Attributes:
        instances: Its ground instances, before any is ruled out by its precondition.
        parts: Parts of conditions and effects, danger entries included, that each instance unfolds into.
    """

    instances: int
    parts: int


@dataclass(frozen=True, slots=True)
class GroundSize:
    """What a task becomes once it is ground. All numbers are exact, except ``booleans``, which is an upper bound.

    Bytes are estimates from above. The methods ``check_...`` refuse what is over the limits of this module.
    """

    integers: int
    """Ground integer fluents."""
    booleans: int
    """Ground Boolean fluents that anything mentions."""
    goal_parts: int
    """Parts that the goal unfolds into."""
    initial: int
    """Initial values that are not the default."""
    actions: Mapping[str, ActionSize]
    """By name of the action."""
    entries: tuple[int, ...]
    """Ground parts of each danger entry in one instance of its action, in the order of the document."""
    written: int
    """Most integer fluents that one action writes."""

    @property
    def instances(self) -> int:
        """Ground actions of all actions together."""
        return sum(action.instances for action in self.actions.values())

    @property
    def parts(self) -> int:
        """Ground parts of all conditions and effects."""
        return self.goal_parts + sum(action.instances * action.parts for action in self.actions.values())

    @property
    def state_bytes(self) -> int:
        """Bytes of one state that a search keeps, with its place in a table."""
        numbers = 8 * self.integers + 32 * min(self.written, self.integers)
        return max(_SMALLEST_STATE, _STATE + self.mask_bytes + numbers)

    @property
    def state_work(self) -> int:
        """What reading and hashing a large state takes beyond a small one, in plain actions tried."""
        return self.integers // 16 + self.booleans // 2048

    @property
    def mask_bytes(self) -> int:
        """Bytes of an integer with a bit for each ground Boolean fluent."""
        return _mask_bytes(self.booleans)

    @property
    def bytes(self) -> int:
        """Bytes of everything that is ground: integer fluents, actions and parts."""
        actions = self.instances * (_ACTION + 4 * self.mask_bytes)
        return self.integers * _INTEGER + actions + self.parts * _part_bytes(self.booleans)

    def instance_bytes(self, name: str) -> int:
        """Return the bytes of one ground instance of an action, where only the instances that plans name are ground."""
        booleans = min(self.booleans, _MET)
        return _ACTION + 4 * _mask_bytes(booleans) + self.actions[name].parts * _part_bytes(booleans)

    def check_states(self) -> None:
        """Refuse a task whose states or goal are too large even for judging a plan.

        Raises:
            SearchLimitReached: There are over ``MOST_INTEGERS`` integer fluents, or the goal unfolds into too many
                parts.
        """  # noqa: DOC501  # the helper makes a SearchLimitReached
        if self.integers > MOST_INTEGERS:
            raise _refusal(f"{_count(self.integers)} ground integer fluents", f"{MOST_INTEGERS:,}")
        _check_parts(self.goal_parts, min(self.booleans, self.initial + self.goal_parts), "the goal unfolds")

    def check_instance(self, name: str) -> None:
        """Refuse an action whose single instances are too large.

        Raises:
            SearchLimitReached: One instance unfolds into too many parts.
        """
        _check_parts(self.actions[name].parts, min(self.booleans, _MET), f"each instance of {name} unfolds")

    def check_actions(self) -> None:
        """Refuse a task that is too large to be ground as a whole, as a search needs it.

        Raises:
            SearchLimitReached: There are too many ground actions or parts, or they take too many bytes.
        """  # noqa: DOC501  # the helper makes a SearchLimitReached
        if self.instances > MOST_ACTIONS:
            raise _refusal(f"{_count(self.instances)} ground actions", f"{MOST_ACTIONS:,}")
        if self.parts > MOST_PARTS:
            raise _refusal(f"conditions and effects of {_count(self.parts)} ground parts", f"{MOST_PARTS:,}")
        if self.bytes > MOST_BYTES:
            raise _refusal(
                f"{_count(self.instances)} ground actions, {_count(self.parts)} ground parts and up to"
                f" {_count(self.booleans)} ground fluents, together some {_count(self.bytes // 2**20)} MB",
                f"{MOST_BYTES // 2**20} MB",
            )


def ground_size(document: Document) -> GroundSize:
    """Compute the size of a document, at the cost of reading it once; nothing is ground, and nothing is refused."""
    return _Measure(document).size()


def condition_parts(document: Document, size: GroundSize, conditions: Iterable[Expr], instances: int) -> int:
    """Return the number of parts that lifted conditions over the parameters of one action unfold into.

    Args:
        document: The task.
        size: Counts of the task's ground facts and actions.
        conditions: The conditions, which need not belong to the document.
        instances: For how many instances of the action they are unfolded.

    Raises:
        SearchLimitReached: They unfold into too many parts.
    """
    measure = _Measure(document)
    parts = sum(measure.parts(condition, instances) for condition in conditions)
    _check_parts(parts, size.booleans + parts, "the conditions unfold")
    return parts


class _Measure:
    def __init__(self, document: Document) -> None:
        self._document = document
        parents = {declared.name: declared.parent for declared in document.types}
        self._objects = objects_by_type((thing.type for thing in document.objects), parents)
        self._ground = {
            fluent.name: self._bindings(parameter.type for parameter in fluent.parameters)
            for fluent in document.fluents
        }
        self._integer = {fluent.name for fluent in document.fluents if fluent.integer}
        self._mentions: Counter[str] = Counter()

    def size(self) -> GroundSize:
        document = self._document
        instances = {
            action.name: self._bindings(parameter.type for parameter in action.parameters)
            for action in document.actions
        }
        entries = tuple(self._per_instance(entry.condition, instances[entry.action]) for entry in document.dangers)
        of_action: Counter[str] = Counter()
        for entry, parts in zip(document.dangers, entries, strict=True):
            of_action[entry.action] += parts + 1
        actions = {
            action.name: self._action(action, instances[action.name], of_action[action.name])
            for action in document.actions
        }
        goal_parts = self.parts(document.goal, 1)
        for atom, _ in document.initial:
            self._mentions[atom[0]] += 1
        return GroundSize(
            integers=sum(self._ground[name] for name in self._integer),
            booleans=sum(
                min(self._ground[name], count) for name, count in self._mentions.items() if name not in self._integer
            ),
            goal_parts=goal_parts,
            initial=len(document.initial),
            actions=actions,
            entries=entries,
            written=max(
                (sum(effect.target[1] in self._integer for effect in action.effects) for action in document.actions),
                default=0,
            ),
        )

    def _action(self, action: ActionDecl, instances: int, parts: int) -> ActionSize:
        parts += self._per_instance(action.precondition, instances)
        for effect in action.effects:
            for part in (effect.target, effect.value, effect.condition):
                parts += self._per_instance(part, instances)
        return ActionSize(instances, parts)

    def _per_instance(self, expr: Expr, instances: int) -> int:
        return self.parts(expr, instances) // instances if instances else 0

    def parts(self, expr: Expr, times: int) -> int:
        """Return how many parts an expression unfolds into, in so many instances."""
        if not isinstance(expr, tuple):
            return times
        head = expr[0]
        if head == "fluent":
            self._mentions[expr[1]] += times
            return times
        if head == "same":
            return times
        if head in QUANTIFIERS:
            return times + self.parts(expr[2], times * self._bindings(type_ for _, type_ in expr[1]))
        return times + sum(self.parts(child, times) for child in expr[1:])

    def _bindings(self, types: Iterable[str]) -> int:
        return prod(self._objects[type_] for type_ in types)


def _count(number: int) -> str:
    """Return a number for people; a huge one by its magnitude, as there are tasks with 10^30 ground actions."""
    # Python refuses to write out integers of thousands of digits.
    return f"{number:,}" if number < 10**9 else f"over 10^{int((number.bit_length() - 1) * 0.30103)}"


def _mask_bytes(booleans: int) -> int:
    return 28 + booleans // 30 * 4


def _part_bytes(booleans: int) -> int:
    """Return the bytes of a part: a mask, a value, and the objects that hold them."""
    return _PART + 2 * _mask_bytes(booleans)


def _check_parts(parts: int, booleans: int, what: str) -> None:
    most = min(MOST_PARTS, MOST_BYTES // _part_bytes(booleans))
    if parts > most:
        raise SearchLimitReached(
            f"{what} into {_count(parts)} ground parts over up to {_count(booleans)} ground fluents;"
            f" the limit is {_count(most)} parts",
            remedy=SMALLER,
        )


def _refusal(found: str, most: str) -> SearchLimitReached:
    return SearchLimitReached(f"the task would have {found}; the limit is {most}", remedy=SMALLER)
