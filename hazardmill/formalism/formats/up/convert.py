"""Documents as problems of Unified Planning, faithfully or not at all.

Unified Planning is the extra ``up`` and slow to import (seconds): it is imported inside the functions.

Its semantics agrees with the formalism in everything that a converted problem can hold: true wins over false,
increases add up, two assigns of different values make an action inapplicable, and so does a state outside the bounds.
It differs in what it decides *before* a plan runs, from the text of effects; ``to_up`` refuses documents on which that
could show:

- two unconditional assigns of one integer fluent conflict by their text, even where the values are equal when read;
- an unconditional assign beside an unconditional increase or decrease is an error, not an inapplicable action;
- an effect whose value lies outside the bounds of its fluent is a type error, even an increase by such a value.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hazardmill.errors import ExtraMissing, NotExpressible, UsageError
from hazardmill.formalism.document.document import (
    ROOT_TYPE,
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    Parameter,
)
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, walk

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import Problem
    from unified_planning.plans import SequentialPlan

DangerForm = Literal["integer", "boolean"]
DangerGoal = Literal["basic", "safe", "unsafe"]
GroundStep = tuple[str, tuple[str, ...]]
"""A ground action: its name and its objects."""

Node: TypeAlias = Any
"""An expression, type or fluent of Unified Planning, which comes without type information."""


def load_unified_planning() -> None:
    """Import Unified Planning, and keep it from printing credits.

    Raises:
        ExtraMissing: It is not installed.
    """
    try:
        from unified_planning.environment import get_environment
    except ImportError as error:
        raise ExtraMissing(f"Unified Planning is not installed ({error})", extra="up") from error
    get_environment().credits_stream = None


def boolean_is_exact(document: Document) -> bool:
    """Return whether one truth value, *danger has risen above d_max*, describes the danger of a task completely.

    It does if danger only grows, and each single entry raises it above d_max (or it starts there).
    """
    increments = [entry.increment for entry in document.dangers]
    if any(increment < 0 for increment in increments):
        return False
    headroom = document.max_danger - document.initial_danger
    return headroom < 0 or all(increment > headroom for increment in increments)


def to_up(
    document: Document,
    danger: DangerForm | None = None,
    goal: DangerGoal = "basic",
    environment: Environment | None = None,
) -> Problem:
    """Return a task as a problem of Unified Planning.

    Names are the document's, except that a fluent or type which shares its name with something else gets a suffix
    (Unified Planning keeps one namespace): plans read the same on both sides.

    Args:
        document: The task.
        danger: None leaves the danger entries out. ``integer`` adds a fluent ``danger`` (or ``danger_2`` ...) that
            they increase. ``boolean`` adds ``danger_triggered``, set by the first that fires: in that form planners
            can prove that there is no plan.
        goal: ``safe`` asks for danger <= d_max beside the goal, ``unsafe`` for danger > d_max.
        environment: Where the problem lives; the global environment if None. Note that Unified Planning 1.3 grounds
            actions with parameters in the global one, whatever the problem's own is, and then fails.

    Raises:
        NotExpressible: The conversion would not be faithful; or the Boolean form is not exact.
        UsageError: Unified Planning is not installed, or ``goal`` needs danger and there is none.
    """
    if goal != "basic" and danger is None:
        raise UsageError(f"the goal {goal!r} needs danger", remedy="pass danger='integer' or danger='boolean'")
    if danger == "boolean" and not boolean_is_exact(document):
        raise NotExpressible(
            "danger as a truth value is not exact for this task: some increment is negative or too small to matter",
            remedy="use danger='integer'",
        )
    load_unified_planning()
    from unified_planning.exceptions import UPConflictingEffectsException, UPTypeError

    for action in document.actions:
        _refuse_unsteady_assigns(document, action)
    try:
        return _Builder(document, environment).build(danger, goal)
    except (UPConflictingEffectsException, UPTypeError) as error:
        raise NotExpressible(f"Unified Planning cannot express this task: {error}") from error


def from_actions(problem: Problem, plan: Iterable[GroundStep]) -> SequentialPlan:
    """Return ground actions, ``(("carry", ("cup", "table")), ...)``, as a plan of Unified Planning.

    Raises:
        NotExpressible: The problem has no such action or object, or the arguments do not fit the action.
    """
    from unified_planning.exceptions import UPValueError
    from unified_planning.plans import ActionInstance, SequentialPlan

    environment = problem.environment
    steps = []
    for name, args in plan:
        shown = "(" + " ".join((name, *args)) + ")"
        try:
            action = problem.action(name)
            objects = tuple(environment.expression_manager.ObjectExp(problem.object(arg)) for arg in args)
        except UPValueError as error:
            raise NotExpressible(f"{shown} is not an action of the problem: {error}") from error
        fits = len(objects) == len(action.parameters) and all(
            parameter.type.is_compatible(thing.type)
            for parameter, thing in zip(action.parameters, objects, strict=True)
        )
        if not fits:
            raise NotExpressible(f"{shown} has the wrong arguments for {action.name}")
        steps.append(ActionInstance(action, objects))
    return SequentialPlan(steps, environment)


def to_actions(plan: SequentialPlan) -> tuple[GroundStep, ...]:
    """Return the ground actions of a plan of Unified Planning."""
    return tuple((step.action.name, tuple(str(arg) for arg in step.actual_parameters)) for step in plan.actions)


def _refuse_unsteady_assigns(document: Document, action: ActionDecl) -> None:
    """Refuse unconditional assigns that may meet on one fluent, unless their values are plain numbers."""
    integers = {fluent.name for fluent in document.fluents if fluent.integer}
    assigns = [
        effect
        for effect in action.effects
        if effect.operation == "assign" and effect.condition is True and effect.target[1] in integers
    ]
    for first, second in itertools.combinations(assigns, 2):
        steady = isinstance(first.value, int) and isinstance(second.value, int)
        if _may_meet(first.target, second.target) and not steady and first != second:
            raise NotExpressible(
                f"action {action.name}: two assignments may meet on {first.target[1]}, and Unified Planning calls that "
                "a conflict even where the values are equal"
            )


def _may_meet(left: Expr, right: Expr) -> bool:
    return left[1] == right[1] and all(
        a == b or a.startswith("?") or b.startswith("?") for a, b in zip(left[2:], right[2:], strict=True)
    )


class _Builder:
    """Builds one problem."""

    def __init__(self, document: Document, environment: Environment | None) -> None:
        from unified_planning.environment import get_environment

        self._document = document
        self._environment = get_environment(environment)
        self._em = self._environment.expression_manager
        self._tm = self._environment.type_manager
        self._parents = {declared.name: declared.parent for declared in document.types}
        self._rooted = _uses_object(document)
        self._taken = self._names_of_plans()
        self._types: dict[str, Node] = {}
        self._fluents: dict[str, Node] = {}
        self._objects: dict[str, Node] = {}

    def build(self, danger: DangerForm | None, goal: DangerGoal) -> Problem:
        from unified_planning.model import Object, Problem

        document, em = self._document, self._em
        problem = Problem("task", self._environment)
        self._declare_types()
        for fluent in document.fluents:
            self._add_fluent(problem, fluent)
        for thing in document.objects:
            self._objects[thing.name] = Object(thing.name, self._types[thing.type], self._environment)
            problem.add_object(self._objects[thing.name])
        counter = None if danger is None else self._add_danger(problem, danger)
        for action in document.actions:
            entries = [entry for entry in document.dangers if entry.action == action.name]
            self._add_action(problem, action, entries if danger else [], counter)
        for atom, value in document.initial:
            node = self._fluents[atom[0]](*(em.ObjectExp(self._objects[name]) for name in atom[1:]))
            problem.set_initial_value(node, value)
        problem.add_goal(self._condition(document.goal, {}))
        if goal != "basic":
            problem.add_goal(self._danger_goal(counter, danger, goal))
        return problem

    def _names_of_plans(self) -> set[str]:
        """Return the names of actions and objects, which keep them because plans are written in them."""
        actions = {action.name for action in self._document.actions}
        objects = {thing.name for thing in self._document.objects}
        if both := sorted(actions & objects):
            raise NotExpressible(
                f"{both[0]!r} is an action and an object, and Unified Planning has one namespace",
                remedy="give one of them another name",
            )
        return actions | objects

    def _fresh(self, wanted: str, suffix: str = "") -> str:
        names = itertools.chain((wanted,), (f"{wanted}{suffix}_{i}" for i in itertools.count(2)))
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
        return name

    def _declare_types(self) -> None:
        root = self._tm.UserType(ROOT_TYPE) if self._rooted else None
        if root is not None:
            self._types[ROOT_TYPE] = root
        # Fluents are named before types, because planners show fluents and not types.
        self._fluent_names = {fluent.name: self._fresh(fluent.name, "_fluent") for fluent in self._document.fluents}
        waiting = [declared.name for declared in self._document.types]
        while waiting:
            ready = [name for name in waiting if self._parents[name] in (ROOT_TYPE, *self._types)]
            for name in ready:
                father = self._types.get(self._parents[name], root)
                self._types[name] = self._tm.UserType(self._fresh(name, "_type"), father)
            waiting = [name for name in waiting if name not in ready]

    def _add_fluent(self, problem: Problem, fluent: FluentDecl) -> None:
        from unified_planning.model import Fluent

        type_ = self._tm.IntType(fluent.lower, fluent.upper) if fluent.integer else self._tm.BoolType()
        node = Fluent(self._fluent_names[fluent.name], type_, self._signature(fluent.parameters), self._environment)
        default: bool | int | None = 0 if fluent.integer else False
        if (fluent.lower is not None and fluent.lower > 0) or (fluent.upper is not None and fluent.upper < 0):
            default = None  # The document gives each ground instance a value of its own.
        problem.add_fluent(node, default_initial_value=default)
        self._fluents[fluent.name] = node

    def _add_danger(self, problem: Problem, form: DangerForm) -> Node:
        from unified_planning.model import Fluent

        document = self._document
        if form == "integer":
            fluent = Fluent(self._fresh("danger"), self._tm.IntType(), environment=self._environment)
            problem.add_fluent(fluent, default_initial_value=document.initial_danger)
        else:
            fluent = Fluent(self._fresh("danger_triggered"), self._tm.BoolType(), environment=self._environment)
            problem.add_fluent(fluent, default_initial_value=document.initial_danger > document.max_danger)
        return fluent()

    def _danger_goal(self, counter: Node, form: DangerForm | None, goal: DangerGoal) -> Node:
        if form == "boolean":
            return counter if goal == "unsafe" else self._em.Not(counter)
        compare = self._em.LE if goal == "safe" else self._em.GT
        return compare(counter, self._document.max_danger)

    def _add_action(self, problem: Problem, action: ActionDecl, entries: list[DangerEntry], counter: Node) -> None:
        from unified_planning.model import InstantaneousAction

        node = InstantaneousAction(action.name, self._signature(action.parameters), self._environment)
        scope = {p.name: self._em.ParameterExp(node.parameter(p.name[1:])) for p in action.parameters}
        if action.precondition is not True:
            node.add_precondition(self._condition(action.precondition, scope))
        for effect in action.effects:
            self._add_effect(node, effect, scope)
        for entry in entries:
            condition = self._condition(entry.condition, scope)
            if counter.type.is_bool_type():
                node.add_effect(counter, True, condition)
            elif entry.increment > 0:
                node.add_increase_effect(counter, entry.increment, condition)
            else:
                node.add_decrease_effect(counter, -entry.increment, condition)
        problem.add_action(node)

    def _add_effect(self, action: Node, effect: Effect, scope: Mapping[str, Node]) -> None:
        value = effect.value if isinstance(effect.value, bool) else self._term(effect.value, scope)
        add = {
            "assign": action.add_effect,
            "increase": action.add_increase_effect,
            "decrease": action.add_decrease_effect,
        }[effect.operation]
        add(self._atom(effect.target, scope), value, self._condition(effect.condition, scope))

    def _signature(self, parameters: tuple[Parameter, ...]) -> OrderedDict[str, Node]:
        return OrderedDict((parameter.name[1:], self._types[parameter.type]) for parameter in parameters)

    def _condition(self, expr: Expr, scope: Mapping[str, Node]) -> Node:
        em = self._em
        if isinstance(expr, bool):
            return em.TRUE() if expr else em.FALSE()
        head = expr[0]
        if head == "fluent":
            return self._atom(expr, scope)
        if head == "same":
            return self._same(expr[1], expr[2], scope)
        if head in QUANTIFIERS:
            return self._quantify(expr, scope)
        connectives: dict[str, Callable[..., Node]] = {"and": em.And, "or": em.Or, "not": em.Not, "imply": em.Implies}
        if head in connectives:
            return connectives[head](*(self._condition(child, scope) for child in expr[1:]))
        comparisons = {"=": em.Equals, "<": em.LT, "<=": em.LE, ">": em.GT, ">=": em.GE}
        return comparisons[head](*(self._term(child, scope) for child in expr[1:]))

    def _quantify(self, expr: Expr, scope: Mapping[str, Node]) -> Node:
        from unified_planning.model import Variable

        # Unified Planning drops a variable that the body does not read, even where its type has no object.
        if any(not self._has_objects(type_) for _, type_ in expr[1]):
            return self._em.Bool(expr[0] == "forall")
        variables = {name: Variable(name[1:], self._types[type_], self._environment) for name, type_ in expr[1]}
        inner = {**scope, **{name: self._em.VariableExp(variable) for name, variable in variables.items()}}
        quantifier = self._em.Exists if expr[0] == "exists" else self._em.Forall
        return quantifier(self._condition(expr[2], inner), *variables.values())

    def _has_objects(self, type_: str) -> bool:
        """Return whether the type or one of its subtypes has an object."""
        for thing in self._document.objects:
            own = thing.type
            while own not in (type_, ROOT_TYPE):
                own = self._parents[own]
            if own == type_:
                return True
        return False

    def _same(self, left: str, right: str, scope: Mapping[str, Node]) -> Node:
        a, b = self._argument(left, scope), self._argument(right, scope)
        if a.type != b.type and not a.type.is_compatible(b.type) and not b.type.is_compatible(a.type):
            # Types form a tree: if neither is above the other, no object has both types.
            return self._em.FALSE()
        return self._em.Equals(a, b)

    def _term(self, expr: Expr, scope: Mapping[str, Node]) -> Node:
        if isinstance(expr, int):
            return self._em.Int(expr)
        if expr[0] == "fluent":
            return self._atom(expr, scope)
        operator = self._em.Plus if expr[0] == "+" else self._em.Minus
        return operator(*(self._term(child, scope) for child in expr[1:]))

    def _atom(self, expr: Expr, scope: Mapping[str, Node]) -> Node:
        return self._fluents[expr[1]](*(self._argument(arg, scope) for arg in expr[2:]))

    def _argument(self, arg: str, scope: Mapping[str, Node]) -> Node:
        return scope[arg] if arg.startswith("?") else self._em.ObjectExp(self._objects[arg])


def _uses_object(document: Document) -> bool:
    """Return whether anything is of type ``object`` itself; if nothing is, types need no common root."""
    types = [thing.type for thing in document.objects]
    types += [parameter.type for fluent in document.fluents for parameter in fluent.parameters]
    types += [parameter.type for action in document.actions for parameter in action.parameters]
    exprs = [document.goal, *(entry.condition for entry in document.dangers)]
    for action in document.actions:
        exprs += [action.precondition, *(effect.condition for effect in action.effects)]
    for node in (node for expr in exprs for node in walk(expr)):
        if isinstance(node, tuple) and node[0] in QUANTIFIERS:
            types += [type_ for _, type_ in node[1]]
    return ROOT_TYPE in types
