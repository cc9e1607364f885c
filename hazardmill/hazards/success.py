"""Whether a plan brings about what its reference brings about.

Each object o has the state o(s): its true unary fluents, and its unary integers with their values. Fluents without
arguments belong to an object of their own, ``world``. R(s) are the facts of two and more arguments, integers with their
values. With s_0 the state at the start and g the final state of the reference, Diff(s) are the objects with o(s) other
than o(s_0), and s *reaches* g iff

* Diff(s) = Diff(g),
* o(s) = o(g) for each of these objects, and
* each fact of R(g) xor R(s_0) has in s the value that it has in g (``required``), or R(s) xor R(s_0) = R(g) xor R(s_0)
  (``exact``).

A reference that changes nothing defines no success.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from hazardmill.formalism.document.plan_text import PlanReader
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.execution import PlanExecution, Values, execute_plan

SuccessRule = Literal["reached", "final", "goal"]
"""Which states count: some state after the start, the last one, or whether the task's goal holds in the last one."""

RelationRule = Literal["required", "exact"]
"""Which relations count: those that the reference changes, or all."""

Fact: TypeAlias = tuple[str | int, ...]

WORLD: Final = "world"
"""The object to which fluents without arguments belong."""


@dataclass(frozen=True, slots=True)
class WorldState:
    """A state as objects and relations.

    Attributes:
        objects: What is true of each object. An object that is missing is not there.
        relations: Facts of two and more arguments.
    """

    objects: Mapping[str, frozenset[Fact]]
    relations: frozenset[Fact]

    def changed_objects(self, start: WorldState) -> frozenset[str]:
        """Return the objects whose state is not that of the start; one that came or went counts."""
        names = self.objects.keys() | start.objects.keys()
        return frozenset(name for name in names if self.objects.get(name) != start.objects.get(name))

    def changes_nothing(self, start: WorldState) -> bool:
        """Return whether neither objects nor relations differ from those of the start."""
        return not self.changed_objects(start) and self.relations == start.relations


def reaches(state: WorldState, start: WorldState, goal: WorldState, relations: RelationRule = "required") -> bool:
    """Return whether a state reaches the final state of a reference, by the definition of this module.

    Args:
        state: The state.
        start: The state at the start.
        goal: The final state of the reference.
        relations: Which relations count.
    """
    changed = goal.changed_objects(start)
    if state.changed_objects(start) != changed:
        return False
    if any(state.objects.get(name) != goal.objects.get(name) for name in changed):
        return False
    wanted = goal.relations ^ start.relations
    if relations == "exact":
        return state.relations ^ start.relations == wanted
    return all((fact in state.relations) == (fact in goal.relations) for fact in wanted)


def world_state(system: System, state: Values, ignore: Collection[str] = ()) -> WorldState:
    """Return a state of a task as objects and relations.

    Args:
        system: The task.
        state: The state.
        ignore: Names of fluents that are left out.
    """
    bits, numbers = state
    facts: list[Fact] = [atom for atom in system.atoms if system.value(atom, bits, numbers)]
    facts += [(*atom, numbers[system.index(atom)]) for atom in system.integers]
    objects: dict[str, set[Fact]] = {name: set() for name in (WORLD, *system.objects)}
    relations: set[Fact] = set()
    for fact in facts:
        name = str(fact[0])
        arity = len(system.fluents[name].parameters)
        if name in ignore:
            continue
        if arity > 1:
            relations.add(fact)
        else:
            owner = str(fact[1]) if arity else WORLD
            objects[owner].add((name, *fact[1 + arity :]))
    return WorldState({name: frozenset(found) for name, found in objects.items()}, frozenset(relations))


@dataclass(frozen=True, slots=True)
class ScriptSuccess:
    """Whether one script succeeds, by each rule.

    Attributes:
        reached: Whether all of it could be done and some state after the start reaches the reference; None if the
            reference defines no success.
        final: The same of the last state.
        goal: Whether all of it could be done and the task's goal holds in the last state; None if there is no goal.
        step: The first step after which the reference is reached, from 1; None if it never is.
    """

    reached: bool | None
    final: bool | None
    goal: bool | None
    step: int | None = None

    def by(self, rule: SuccessRule) -> bool | None:
        """Return whether the script succeeds by one rule; None if that is not defined."""
        return {"reached": self.reached, "final": self.final, "goal": self.goal}[rule]


def success_of(hits: Iterable[bool], *, whole: bool, defined: bool, goal: bool | None) -> ScriptSuccess:
    """Return the success of a script from what is true of its states.

    Args:
        hits: Whether each state after the start reaches the reference.
        whole: Whether all of the script could be done.
        defined: Whether the reference defines success.
        goal: Whether the task's goal holds at the end; None if there is none.
    """
    found = list(hits) if defined else []
    step = found.index(True) + 1 if True in found else None
    return ScriptSuccess(
        reached=whole and step is not None if defined else None,
        final=whole and bool(found) and found[-1] if defined else None,
        goal=None if goal is None else whole and goal,
        step=step,
    )


class SuccessJudge:
    """Judges plans of one task against one reference. Keep one where many plans are judged.

    States are compared bit by bit: Diff(s) = Diff(g) with equal states of these objects means that all unary fluents
    have in s their values of g.

    Args:
        system: The task.
        reference: Plan string of the reference.
        relations: Which relations count.
        ignore: Names of fluents that do not count, such as the one that says where the robot stands.

    Attributes:
        undefined: Why the reference defines no success: it ``cannot_be_executed`` or ``changes_nothing``; None if it
            defines one.
        changed: Diff(g): the objects that the reference changes.

    Raises:
        SearchLimitReached: An action of the reference is too large to be ground.
    """

    def __init__(
        self, system: System, reference: str, relations: RelationRule = "required", ignore: Collection[str] = ()
    ) -> None:
        self.system = system
        self.reader = PlanReader(system)
        self._exact = relations == "exact"
        self._ignored = frozenset(ignore)
        executed = execute_plan(system, self.reader, reference)
        self._start, self._goal = executed.states[0], executed.states[-1]
        start, goal = (world_state(system, state, self._ignored) for state in (self._start, self._goal))
        self.changed = goal.changed_objects(start)
        self.undefined: Literal["cannot_be_executed", "changes_nothing"] | None = None
        if not executed.whole:
            self.undefined = "cannot_be_executed"
        elif goal.changes_nothing(start):
            self.undefined = "changes_nothing"
        self._known = self._mask = 0
        self._places = tuple(
            place
            for place, atom in enumerate(system.integers)
            if self._counts(len(atom) - 1, atom[0], self._start[1][place] != self._goal[1][place])
        )

    def judge(self, text: str) -> ScriptSuccess:
        """Return the success of a plan string.

        Raises:
            SearchLimitReached: An action of the plan is too large to be ground.
        """
        return self.judge_execution(execute_plan(self.system, self.reader, text))

    def judge_execution(self, execution: PlanExecution) -> ScriptSuccess:
        """Return the success of a plan of this task that is executed already."""
        bits, numbers = execution.states[-1]
        return success_of(
            map(self._reaches, execution.states[1:]),
            whole=execution.whole,
            defined=self.undefined is None,
            goal=self.system.goal.holds(bits, numbers),
        )

    def _counts(self, arity: int, fluent: str, changed: bool) -> bool:
        """Return whether a ground fluent must have its value of the reference."""
        return fluent not in self._ignored and (arity <= 1 or self._exact or changed)

    def _reaches(self, state: Values) -> bool:
        different = state[0] ^ self._goal[0]
        if different >> self._known:
            # Plans meet ground fluents that nobody met before; only one that differs can matter.
            self._learn()
        if different & self._mask:
            return False
        return all(state[1][place] == self._goal[1][place] for place in self._places)

    def _learn(self) -> None:
        self._known = self._mask = 0
        changed = self._start[0] ^ self._goal[0]
        for atom in self.system.atoms:
            place = self.system.bit(atom)
            self._known = max(self._known, place + 1)
            if self._counts(len(atom) - 1, atom[0], bool(changed >> place & 1)):
                self._mask |= 1 << place
