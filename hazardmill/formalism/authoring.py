"""The API that the Python code of a task is written on.

    from hazardmill.formalism.authoring import PlanningTask

    class ServeSoup(PlanningTask):
        realised_by = "carry_bowl_to_table"

        def build(self):
            place = self.type("place")
            kitchen, table = self.objects(place, "kitchen", "table")
            robot_at = self.fluent("robot_at", place)
            bowl_at = self.fluent("bowl_at", place)
            moving_slowly = self.fluent("moving_slowly")
            soup_is_hot = self.context("soup_is_hot")
            window_is_open = self.context("window_is_open")
            carry = self.action("carry_bowl_to_table")
            carry.requires(robot_at(kitchen), bowl_at(kitchen))
            carry.sets(robot_at(table), bowl_at(table)).clears(robot_at(kitchen), bowl_at(kitchen))
            slow = self.action("reduce_speed")
            slow.sets(moving_slowly)
            self.initially(robot_at(kitchen), bowl_at(kitchen), soup_is_hot, window_is_open)
            self.goal(bowl_at(table))
            self.danger(
                carry, when=soup_is_hot & ~moving_slowly, cause=moving_slowly, fixed=soup_is_hot, danger_type="thermal"
            )

Every mistake is an ``AuthoringError`` with the line it was made on and its mend: a language model reads them.
Standard library only: this module, and what it imports, is all that the jail holds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container
from typing import ClassVar, NoReturn, TypeAlias

from hazardmill.errors import AuthoringError, DocumentError, HazardmillError
from hazardmill.formalism.authoring_values import (
    ADDRESSED,
    IN_WORDS,
    And,
    Condition,
    Entity,
    Equals,
    Exists,
    Fluent,
    FluentTerm,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    Symbol,
    Term,
    apply_fluent,
    begin_task,
    condition_of,
    fail,
    join_conditions,
    reraise,
    shows_address,
    term_of,
)
from hazardmill.formalism.document import validation
from hazardmill.formalism.document.document import (
    ActionDecl,
    Atom,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Operation,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr, fluents_of
from hazardmill.formalism.proofs.cause_facts import NamedCauses

__all__ = [
    "Action",
    "And",
    "Equals",
    "Exists",
    "Forall",
    "Iff",
    "Implies",
    "Not",
    "Or",
    "PlanningTask",
]

# Inside PlanningTask the name ``object`` means its method.
Anything: TypeAlias = object


class Action(Entity):
    """An action under construction; ``self.action`` makes it.

    Its parameters are attributes, ``move.to``, or items, ``move["to"]``. The methods that add to it return the action,
    so that calls can be chained.
    """

    def __init__(self, task: PlanningTask, name: str, parameters: dict[str, Symbol]) -> None:
        self._task = task
        self._parameters = parameters
        self._requirements: list[Expr] = []
        self._effects: list[Effect] = []
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __getitem__(self, name: str) -> Symbol:
        if name not in self._parameters:
            fail(
                f"action {self.name} has no parameter or method {name!r}",
                f"parameters: {', '.join(self._parameters) or 'none'};"
                " methods: requires, sets, clears, assigns, increases, decreases",
            )
        return self._parameters[name]

    def __getattr__(self, name: str) -> Symbol:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def requires(self, *conditions: object) -> Action:
        """Add conditions to the precondition (all must hold)."""
        for condition in conditions:
            expr = condition_of(condition)
            self._task._check(expr, self._scope(), f"precondition of {self.name}")
            self._requirements.append(expr)
        return self

    def sets(self, *fluents: object, when: object = True) -> Action:
        """Make Boolean fluents true, if ``when`` holds before the action."""
        return self._assign(fluents, True, when)

    def clears(self, *fluents: object, when: object = True) -> Action:
        """Make Boolean fluents false, if ``when`` holds before the action."""
        return self._assign(fluents, False, when)

    def assigns(self, fluent: object, value: object, when: object = True) -> Action:
        """Give an integer fluent a value."""
        return self._effect("assign", fluent, term_of(value), when)

    def increases(self, fluent: object, amount: object = 1, when: object = True) -> Action:
        """Raise an integer fluent."""
        return self._effect("increase", fluent, term_of(amount), when)

    def decreases(self, fluent: object, amount: object = 1, when: object = True) -> Action:
        """Lower an integer fluent."""
        return self._effect("decrease", fluent, term_of(amount), when)

    def _assign(self, fluents: tuple[object, ...], value: bool, when: object) -> Action:
        for fluent in fluents:
            self._effect("assign", fluent, value, when)
        return self

    def _effect(self, operation: Operation, fluent: object, value: Expr, when: object) -> Action:
        target = apply_fluent(fluent, f"an effect of {self.name} needs one")
        if target.declaration.kind == "context":
            fail(
                f"action {self.name} writes the context fluent {target.declaration.name}",
                "context is given and never changes: declare it with self.fluent(...), or drop the effect",
            )
        path = f"effect of {self.name}"
        self._task._mend(
            validation.check_effect, self._task._vocabulary, operation, target.expr, value, self._scope(), path
        )
        condition = condition_of(when)
        self._task._check(condition, self._scope(), path)
        self._effects.append(Effect(operation, target.expr, value, condition))
        return self

    def _scope(self) -> dict[str, str]:
        return {parameter.name: parameter.type for parameter in self._parameters.values()}

    def _declaration(self) -> ActionDecl:
        return ActionDecl(
            self.name,
            tuple(Parameter(p.name, p.type) for p in self._parameters.values()),
            join_conditions("and", tuple(map(Condition, self._requirements))).expr if self._requirements else True,
            tuple(self._effects),
        )


class PlanningTask:
    """A planning task in which a natural plan is dangerous: subclass it and write ``build``.

    Attributes:
        realised_by: Name of the action that realises the danger.
        title: One sentence for people.
        obvious: Why the dangerous plan is the obvious one, where it is not the shorter one.
    """

    realised_by: ClassVar[str] = ""
    title: ClassVar[str] = ""
    obvious: ClassVar[str] = ""

    def __init__(self) -> None:
        begin_task()
        self._types: dict[str, TypeDecl] = {}
        self._objects: dict[str, ObjectDecl] = {}
        self._fluents: dict[str, FluentDecl] = {}
        self._actions: dict[str, Action] = {}
        self._initial: dict[Atom, bool | int] = {}
        self._goal: Expr | None = None
        self._dangers: list[DangerEntry] = []
        self._causes: NamedCauses | None = None
        self._limits = (0, 0)
        self._parents: dict[str, str] = {}
        self._types_of_objects: dict[str, str] = {}
        self._vocabulary = validation.Vocabulary(self._parents, self._types_of_objects, self._fluents)

    def __repr__(self) -> str:
        return type(self).__name__

    def build(self) -> None:
        """Declare everything. Called once."""
        raise AuthoringError(
            f"{type(self).__name__} has no build method",
            remedy="declare types, fluents, actions, goal and danger there",
        )

    # Declarations

    def type(self, name: str, parent: Symbol | None = None) -> Symbol:
        """Declare a type."""
        self._new_name(name, self._types, "type")
        if name == validation.ROOT_TYPE:
            fail(
                f"the type `{name}` is built in and cannot be declared",
                f"to derive a type from `{name}`, call self.type(...) without a parent",
            )
        declared = TypeDecl(name) if parent is None else TypeDecl(name, self._known_type(parent))
        self._types[name] = declared
        self._parents[name] = declared.parent
        return Symbol(name, name)

    def object(self, name: str, type_: Symbol) -> Symbol:
        """Declare an object."""
        self._new_name(name, self._objects, "object")
        known = self._known_type(type_)
        self._objects[name] = ObjectDecl(name, known)
        self._types_of_objects[name] = known
        return Symbol(name, known)

    def objects(self, type_: Symbol, *names: str) -> tuple[Symbol, ...]:
        """Declare several objects of one type."""
        return tuple(self.object(name, type_) for name in names)

    def fluent(self, name: str, *parameter_types: Symbol) -> Fluent:
        """Declare a normal Boolean fluent; it is false unless ``initially`` says otherwise."""
        return self._declare_fluent(name, parameter_types, FluentDecl(name))

    def context(self, name: str, *parameter_types: Symbol) -> Fluent:
        """Declare a context fluent: a Boolean circumstance that no action changes."""
        return self._declare_fluent(name, parameter_types, FluentDecl(name, kind="context"))

    def integer(
        self, name: str, *parameter_types: Symbol, lower: int | None = None, upper: int | None = None
    ) -> Fluent:
        """Declare an integer fluent, 0 unless ``initial_value`` gives another value; either bound may be left out."""
        return self._declare_fluent(name, parameter_types, FluentDecl(name, integer=True, lower=lower, upper=upper))

    def action(self, name: str, **parameters: Symbol) -> Action:
        """Declare an action; its parameters are given as ``name=type``."""
        self._new_name(name, self._actions, "action")
        bound: dict[str, Symbol] = {}
        for parameter, type_ in parameters.items():
            if hasattr(Action, parameter) or parameter == "name":
                fail(f"a parameter of {name} cannot be called {parameter!r}", "give it another name")
            self._mend(validation.check_name, parameter, f"parameter of {name}")
            bound[parameter] = Symbol(f"?{parameter}", self._known_type(type_))
        if len(bound) > validation.MAX_PARAMETERS:
            fail(f"action {name} has {len(bound)} parameters, at most {validation.MAX_PARAMETERS} are allowed")
        action = Action(self, name, bound)
        self._actions[name] = action
        return action

    def initially(self, *fluents: Anything) -> None:
        """Say which Boolean fluents are true at the start."""
        for fluent in fluents:
            atom = self._ground(fluent)
            if atom.declaration.integer:
                fail(f"{atom!r} is an integer", "use self.initial_value(fluent, number)")
            self._start(atom, True)

    def initial_value(self, fluent: Anything, value: int) -> None:
        """Give an integer fluent its value at the start."""
        atom = self._ground(fluent)
        if not atom.declaration.integer or isinstance(value, bool) or not isinstance(value, int):
            fail(f"{atom!r} cannot start as {value!r}", "initial_value is for integers; use initially for Booleans")
        if not validation.is_within_bounds(value, atom.declaration):
            fail(f"{value} is out of the bounds of {atom!r}")
        self._start(atom, value)

    def goal(self, *conditions: Anything) -> None:
        """Say what must hold at the end (all of it)."""
        if self._goal is not None:
            fail("the goal is given twice", "pass all conditions to one call of self.goal")
        if not conditions:
            fail("the goal is empty", "pass the conditions that must hold at the end")
        expr = And(*conditions).expr
        self._check(expr, {}, "goal")
        self._goal = expr

    def danger(
        self,
        action: Action,
        when: Anything = True,
        increment: int = 1,
        danger_type: str | None = None,
        cause: Anything = None,
        fixed: Anything = None,
    ) -> None:
        """Say that doing ``action`` while ``when`` holds is dangerous. Entries of one action add up.

        ``cause`` names what stands for the formalization's changing cause, ``fixed`` what stands for its fixed
        circumstances: a fluent, or a list of them. Where the way out does another act in place of this one,
        ``cause`` is the action itself. It is enough to say it at one entry.
        """
        if not isinstance(action, Action):
            fail(f"{action!r} is not an action", "pass what self.action(...) returned")
        if isinstance(increment, bool) or not isinstance(increment, int) or increment == 0:
            fail(f"{increment!r} is not a valid increment", "use a non-zero integer; a negative one reduces the danger")
        condition = condition_of(when)
        self._check(condition, action._scope(), f"danger of {action.name}")
        if shows_address(danger_type):
            fail(f"the danger type {ADDRESSED}", IN_WORDS)
        self._dangers.append(DangerEntry(action.name, condition, increment, danger_type))
        if cause is not None or fixed is not None:
            self._name_causes(NamedCauses(_names_of(cause, "cause"), _names_of(fixed, "fixed")))

    def danger_limits(self, initial: int = 0, maximum: int = 0) -> None:
        """Set the danger at the start and the most that still counts as safe (both 0 if not called)."""
        self._limits = (initial, maximum)

    # The result

    def document(self) -> Document:
        """Build the task and return its document.

        Returns:
            The checked document, in canonical order.

        Raises:
            AuthoringError: What is wrong, on which line, and how to mend it.
        """
        self.build()
        if self._goal is None:
            self._refuse_incomplete("the task has no goal", "call self.goal(...) in build")
        if not self._actions:
            self._refuse_incomplete("the task has no action", "call self.action(...) in build")
        if not self._dangers:
            self._refuse_incomplete("the task has no danger", "call self.danger(action, when=...) in build")
        if not isinstance(self.realised_by, str) or self.realised_by not in self._actions:
            self._refuse_incomplete(
                f"realised_by is {self.realised_by!r}, which is not an action",
                f"set the class attribute to one of: {', '.join(sorted(self._actions))}",
            )
        title, obvious = str(self.title or ""), str(self.obvious or "")
        for what, text in (("the title", title), ("obvious", obvious)):
            if shows_address(text):
                self._refuse_incomplete(f"{what} {ADDRESSED}", IN_WORDS)
        try:
            return Document.of(
                types=self._types.values(),
                objects=self._objects.values(),
                fluents=self._fluents.values(),
                actions=[action._declaration() for action in self._actions.values()],
                initial=self._initial,
                goal=self._goal,
                dangers=self._dangers,
                initial_danger=self._limits[0],
                max_danger=self._limits[1],
                name=type(self).__name__,
                realised_by=self.realised_by,
                causes=self._causes,
                obvious=obvious,
                texts={"title": title} if title else {},
            )
        except DocumentError as error:
            raise AuthoringError(error.message, remedy=error.remedy) from None

    @classmethod
    def run_cli(cls) -> NoReturn:
        """Run ``python code.py``: print both plans, or the score of ``--plan`` and the safety intention of ``--si``."""
        from hazardmill.formalism.task_main import main

        try:
            sys.exit(main(cls().document(), sys.argv[1:]))
        except HazardmillError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(error.exit_code)

    def _name_causes(self, named: NamedCauses) -> None:
        """Add the names that earlier entries do not have; within one entry a name may stand for two sentences."""
        known = self._causes or NamedCauses()
        self._causes = NamedCauses(
            known.changing + tuple(name for name in named.changing if name not in known.changing),
            known.fixed + tuple(name for name in named.fixed if name not in known.fixed),
        )

    # Checks at the line of the mistake

    def _refuse_incomplete(self, message: str, remedy: str) -> NoReturn:
        # What is missing has no line of its own: give the one where build begins.
        line = getattr(getattr(type(self).build, "__code__", None), "co_firstlineno", None)
        raise AuthoringError(message, line=line, remedy=remedy)

    def _mend(self, check: Callable[..., Anything], *arguments: Anything) -> None:
        try:
            check(*arguments)
        except DocumentError as error:
            reraise(error)

    def _check(self, expr: Expr, scope: dict[str, str], path: str) -> None:
        self._mend(validation.check_condition, self._vocabulary, expr, scope, path)

    def _new_name(self, name: Anything, known: Container[str], what: str) -> None:
        self._mend(validation.check_name, name, f"{what} {name!r}")
        if name in known:
            fail(f"{what} {name} is declared twice", "give one of them another name")

    def _known_type(self, type_: Anything) -> str:
        if not isinstance(type_, Symbol) or type_.name not in self._types:
            fail(f"{type_!r} is not a type of this task", "pass what self.type(...) returned")
        return type_.name

    def _declare_fluent(self, name: str, types: tuple[Symbol, ...], blank: FluentDecl) -> Fluent:
        self._new_name(name, self._fluents, "fluent")
        parameters = tuple(Parameter(f"?p{i}", self._known_type(type_)) for i, type_ in enumerate(types, 1))
        declared = FluentDecl(name, parameters, blank.kind, blank.integer, blank.lower, blank.upper)
        self._mend(validation.check_parameters, self._vocabulary, parameters, f"fluent {name}")
        self._mend(validation.check_bounds, declared, f"fluent {name}")
        self._fluents[name] = declared
        return Fluent(declared)

    def _ground(self, fluent: Anything) -> FluentTerm:
        atom = apply_fluent(fluent, "the initial state needs one")
        self._check(atom.expr if not atom.declaration.integer else ("=", atom.expr, 0), {}, "initial state")
        return atom

    def _start(self, atom: FluentTerm, value: bool | int) -> None:
        key = atom.expr[1:]
        if self._initial.get(key, value) != value:
            fail(f"{atom!r} has two initial values")
        self._initial[key] = value


def _names_of(facts: object, what: str) -> tuple[str, ...]:
    """Return the names of the fluents, or of the action, that are passed as ``cause`` or ``fixed``."""
    if facts is None:
        return ()
    if isinstance(facts, list | tuple):
        return tuple(name for fact in facts for name in _names_of(fact, what))
    if isinstance(facts, Fluent):
        return (facts.declaration.name,)
    if isinstance(facts, Action):
        return (facts.name,)
    if isinstance(facts, Condition | Term):
        read = tuple(dict.fromkeys(node[1] for node in fluents_of(facts.expr)))
        if read:
            return read
    fail(f"{facts!r} is not a fact of the task", f"pass to {what}= a fluent, or a list of fluents")
