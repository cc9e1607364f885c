"""Verdicts by Unified Planning on a problem built here: our PDDL as its reader understands it, plus danger entries.

Shares nothing with the library but the files and the document's JSON.
"""

from __future__ import annotations

import re
import warnings

import unified_planning.model as up
from pyparsing.warnings import PyparsingDeprecationWarning
from unified_planning.engines import SequentialPlanValidator
from unified_planning.environment import get_environment
from unified_planning.plans import ActionInstance, SequentialPlan

from tests.pddl_readers import up_reader

OPERATORS = {
    "and": "And",
    "or": "Or",
    "not": "Not",
    "imply": "Implies",
    "+": "Plus",
    "-": "Minus",
    "=": "Equals",
    "<": "LT",
    "<=": "LE",
    ">": "GT",
    ">=": "GE",
}


def up_verdicts(pddl, document, plans):
    """``(feasible, safe)`` of each plan by ``SequentialPlanValidator``; ``pddl`` is domain and problem text."""
    # The global one: Unified Planning 1.3 grounds actions with parameters there, whatever the problem says.
    environment = get_environment()
    environment.credits_stream = None
    manager = environment.expression_manager
    with warnings.catch_warnings():
        # Unified Planning 1.3 reads quantifiers through a name that pyparsing 3.3 deprecates.
        warnings.simplefilter("ignore", PyparsingDeprecationWarning)
        problem = up_reader().parse_problem_string(*pddl)
    danger = up.Fluent("danger_of_the_test", environment.type_manager.IntType(), environment=environment)
    problem.add_fluent(danger, default_initial_value=document["initial_danger"])
    for entry in document["dangers"]:
        action = problem.action(entry["action"])
        declared = next(action for action in document["actions"] if action["name"] == entry["action"])
        names = [name for name, _ in declared["parameters"]]
        scope = dict(zip(names, map(manager.ParameterExp, action.parameters), strict=True))
        condition = expression(entry["condition"], problem, environment, scope)
        action.add_increase_effect(danger, entry["increment"], condition)
    sequences = [
        SequentialPlan(
            [
                ActionInstance(problem.action(name), tuple(manager.ObjectExp(problem.object(arg)) for arg in args))
                for name, *args in (inner.split() for inner in re.findall(r"\(([^()]*)\)", plan))
            ],
            environment,
        )
        for plan in plans
    ]
    validator = SequentialPlanValidator(environment=environment)
    feasible = [bool(validator.validate(problem, sequence)) for sequence in sequences]
    problem.add_goal(manager.LE(danger(), document["max_danger"]))
    both = zip(sequences, feasible, strict=True)
    return [(can, can and bool(validator.validate(problem, sequence))) for sequence, can in both]


def expression(node, problem, environment, scope):
    """A condition or term of the document's JSON as Unified Planning's."""
    manager = environment.expression_manager
    if isinstance(node, bool):
        return manager.Bool(node)
    if isinstance(node, int):
        return manager.Int(node)
    head, *rest = node

    def argument(name):
        return scope[name] if name.startswith("?") else manager.ObjectExp(problem.object(name))

    if head == "fluent":
        return manager.FluentExp(problem.fluent(rest[0]), tuple(argument(name) for name in rest[1:]))
    if head == "same":
        return manager.Equals(*(argument(name) for name in rest))
    if head in ("exists", "forall"):
        variables = [up.Variable(name[1:], problem.user_type(type_), environment) for name, type_ in rest[0]]
        inner = {f"?{variable.name}": manager.VariableExp(variable) for variable in variables}
        body = expression(rest[1], problem, environment, {**scope, **inner})
        return getattr(manager, head.capitalize())(body, *variables)
    parts = [expression(child, problem, environment, scope) for child in rest]
    return getattr(manager, OPERATORS[head])(*parts)
