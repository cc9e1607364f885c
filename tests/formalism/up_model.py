"""A task's document (JSON) as a problem of Unified Planning, and what Unified Planning's own simulator makes of it.

Nothing of hazardmill is used here. Where Unified Planning decides by the *text* of effects what the formalism decides
by their values, the translation gives it values to decide by, so that no task has to be left out:

- It refuses two unconditional assigns of one integer with different texts, and an assign beside an increase, before
  any plan runs. Every effect on an integer is therefore conditional on a fluent ``tick``, which is always true; each
  action sets it again, so that it counts as changing and is not simplified away.
- It finds an effect by a value outside the bounds of its fluent ill-typed, and drops an action that is left without
  effects. Integers are unbounded here and their bounds are state invariants (which is what bounds become inside the
  simulator); ``tick`` is an effect that each action keeps.
- It refuses to compare objects of types that share no object; that comparison is written as false.
- It drops a quantified variable that the body does not read, although there may be nothing to put in its place: a
  quantifier over a type without objects is written as the constant that it is.
- It has one namespace; names get a prefix by kind.
- It has no plan strings: an action that names nothing cannot be asked about, and no plan with one is.

Danger is an unbounded integer fluent that the danger entries increase (a negative increment too: adding is all there
is to it), read at the end.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict

import unified_planning.model as up
from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
from unified_planning.engines.sequential_simulator import UPSequentialSimulator
from unified_planning.environment import get_environment
from unified_planning.exceptions import UPInvalidActionError
from unified_planning.plans import ActionInstance, SequentialPlan

# The global one: Unified Planning 1.3 grounds actions with parameters there, whatever the problem says.
ENVIRONMENT = get_environment()
ENVIRONMENT.credits_stream = None
EM = ENVIRONMENT.expression_manager
TM = ENVIRONMENT.type_manager

_OPERATORS = {
    "and": EM.And,
    "or": EM.Or,
    "not": EM.Not,
    "imply": EM.Implies,
    "+": EM.Plus,
    "-": EM.Minus,
    "=": EM.Equals,
    "<": EM.LT,
    "<=": EM.LE,
    ">": EM.GT,
    ">=": EM.GE,
}


class UpTask:
    """The problem; verdicts by ``SequentialPlanValidator``; breadth-first search by ``SequentialSimulator``."""

    def __init__(self, task):
        self.task = task
        self.parents = dict(task["types"])
        self.types = {"object": TM.UserType("t_object")}
        self.problem = up.Problem("task")
        while missing := [name for name in self.parents if name not in self.types]:
            for name in missing:
                if self.parents[name] in self.types:
                    self.types[name] = TM.UserType(f"t_{name}", self.types[self.parents[name]])
        self.kinds = dict(task["objects"])
        self.objects = {name: up.Object(f"o_{name}", self.types[kind]) for name, kind in task["objects"]}
        self.problem.add_objects(self.objects.values())
        self.fluents = {declared["name"]: self._fluent(declared) for declared in task["fluents"]}
        self.tick = up.Fluent("tick")
        self.problem.add_fluent(self.tick, default_initial_value=True)
        self.danger = up.Fluent("danger", TM.IntType())
        self.problem.add_fluent(self.danger, default_initial_value=task["initial_danger"])
        for (name, *args), value in task["initial"]:
            self.problem.set_initial_value(self._application(name, args, {}), value)
        self.actions = {declared["name"]: self._action(declared) for declared in task["actions"]}
        self._invariants()
        self.problem.add_goal(self.condition(task["goal"], {}))
        self.validator = SequentialPlanValidator()

    # What a plan does

    def verdict(self, plan):
        """``(feasible, safe, danger)`` of ground actions ``[(name, args), ...]``."""
        steps = [ActionInstance(self.actions[name], self._arguments(args)) for name, args in plan]
        result = self.validator.validate(self.problem, SequentialPlan(steps))
        if result.status is not ValidationResultStatus.VALID:
            return False, False, None
        danger = result.trace[-1].get_value(self.danger()).constant_value()
        return True, danger <= self.task["max_danger"], danger

    def shortest(self, most_depth, most_nodes):
        """Length of the shortest safe and of the shortest unsafe plan up to a depth, and the depth that was reached.

        The depth is infinite where no state is left. A node is a state with its danger, which is cut off above the
        limit only where no increment is negative.
        """
        task = self.task
        simulator = UPSequentialSimulator(self.problem)
        actions = [
            (action, self._arguments(args))
            for name, action in self.actions.items()
            for args in itertools.product(*(self._members(kind) for _, kind in self._declared(name)["parameters"]))
        ]
        # As whoever made the fluents knows, these are all the parts of a state.
        atoms = [
            self._application(fluent["name"], args, {})
            for fluent in task["fluents"]
            for args in itertools.product(*(self._members(kind) for _, kind in fluent["parameters"]))
        ]
        grows = all(entry["increment"] >= 0 for entry in task["dangers"])
        ceiling = task["max_danger"] + 1

        def key(state):
            danger = state.get_value(self.danger()).constant_value()
            values = tuple(state.get_value(atom).constant_value() for atom in atoms)
            return values, min(danger, ceiling) if grows else danger

        found = {}
        start = simulator.get_initial_state()
        layer, seen, expanded = {key(start): start}, {key(start)}, 0
        for depth in itertools.count():
            for (_, danger), state in layer.items():
                if simulator.is_goal(state):
                    found.setdefault(danger < ceiling, depth)
            if not layer or len(found) == 2:
                return found.get(True), found.get(False), float("inf")
            expanded += len(layer)
            if depth == most_depth or expanded > most_nodes:
                return found.get(True), found.get(False), depth
            following = {}
            for state in layer.values():
                for action, args in actions:
                    after = self._apply(simulator, state, action, args)
                    if after is not None and (node := key(after)) not in seen:
                        seen.add(node)
                        following[node] = after
            layer = following

    @staticmethod
    def _apply(simulator, state, action, args):
        try:
            return simulator.apply(state, action, args)
        except UPInvalidActionError:
            # With these arguments the precondition is a contradiction.
            return None

    # The translation

    def condition(self, node, scope):
        """A condition or term of the document's JSON."""
        if isinstance(node, bool):
            return EM.Bool(node)
        if isinstance(node, int):
            return EM.Int(node)
        head, *rest = node
        if head == "fluent":
            return self._application(rest[0], rest[1:], scope)
        if head == "same":
            left, right = (self._argument(name, scope) for name in rest)
            alike = left.type.is_compatible(right.type) or right.type.is_compatible(left.type)
            return EM.Equals(left, right) if alike else EM.FALSE()
        if head in ("exists", "forall"):
            if not all(self._members(kind) for _, kind in rest[0]):
                return EM.Bool(head == "forall")
            variables = {name: up.Variable(name[1:], self.types[kind]) for name, kind in rest[0]}
            inner = {name: EM.VariableExp(variable) for name, variable in variables.items()}
            quantifier = EM.Exists if head == "exists" else EM.Forall
            return quantifier(self.condition(rest[1], {**scope, **inner}), *variables.values())
        return _OPERATORS[head](*(self.condition(part, scope) for part in rest))

    def _argument(self, name, scope):
        return scope[name] if name in scope else EM.ObjectExp(self.objects[name])

    def _arguments(self, names):
        return tuple(EM.ObjectExp(self.objects[name]) for name in names)

    def _application(self, name, args, scope):
        return self.fluents[name](*(self._argument(arg, scope) for arg in args))

    def _signature(self, parameters):
        return OrderedDict((name[1:], self.types[kind]) for name, kind in parameters)

    def _fluent(self, declared):
        integer = declared["value"] == "integer"
        kind = TM.IntType() if integer else TM.BoolType()
        fluent = up.Fluent(f"f_{declared['name']}", kind, self._signature(declared["parameters"]))
        self.problem.add_fluent(fluent, default_initial_value=0 if integer else False)
        return fluent

    def _action(self, declared):
        action = up.InstantaneousAction(f"a_{declared['name']}", self._signature(declared["parameters"]))
        scope = {name: EM.ParameterExp(action.parameter(name[1:])) for name, _ in declared["parameters"]}
        action.add_precondition(self.condition(declared["precondition"], scope))
        action.add_effect(self.tick, True)
        for operation, target, value, when in declared["effects"]:
            add = {
                "assign": action.add_effect,
                "increase": action.add_increase_effect,
                "decrease": action.add_decrease_effect,
            }[operation]
            condition = EM.And(self.tick(), self.condition(when, scope))
            add(self.condition(target, scope), self.condition(value, scope), condition)
        for entry in self.task["dangers"]:
            if entry["action"] == declared["name"]:
                condition = EM.And(self.tick(), self.condition(entry["condition"], scope))
                action.add_increase_effect(self.danger, entry["increment"], condition)
        self.problem.add_action(action)
        return action

    def _invariants(self):
        for declared in self.task["fluents"]:
            for args in itertools.product(*(self._members(kind) for _, kind in declared["parameters"])):
                value = self._application(declared["name"], args, {})
                if declared["lower"] is not None:
                    self.problem.add_state_invariant(EM.LE(declared["lower"], value))
                if declared["upper"] is not None:
                    self.problem.add_state_invariant(EM.LE(value, declared["upper"]))

    def _declared(self, name):
        return next(action for action in self.task["actions"] if action["name"] == name)

    def _members(self, kind):
        return [name for name, own in self.task["objects"] if self._under(own, kind)]

    def _under(self, kind, wanted):
        return kind == wanted or (kind != "object" and self._under(self.parents[kind], wanted))
