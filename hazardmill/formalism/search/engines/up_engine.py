"""Exact search as an engine of Unified Planning: ``register()``, then ``OneshotPlanner(name="hazardmill")``.

A problem becomes a document without dangers, and exact search finds its shortest plan. Supported are classical and
integer problems of instantaneous actions, with conditional and quantified effects, every kind of condition, and plan
length as the only metric; not costs, real numbers, fluents that hold objects, or anything with time.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Final

from hazardmill.errors import DocumentError, ExtraMissing, NotExpressible, SearchLimitReached
from hazardmill.formalism.document.document import (
    ROOT_TYPE,
    ActionDecl,
    Atom,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Operation,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.validation import NAME
from hazardmill.formalism.formats.up.convert import Node
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.search.exact import attempt_to_solve
from hazardmill.formalism.semantics.transition_system import GroundAction

try:
    from unified_planning.engines import Engine, PlanGenerationResult, PlanGenerationResultStatus
    from unified_planning.engines.mixins.oneshot_planner import OneshotPlannerMixin, OptimalityGuarantee
    from unified_planning.engines.results import LogLevel, LogMessage
    from unified_planning.environment import Environment, get_environment
    from unified_planning.exceptions import UPProblemDefinitionError
    from unified_planning.model import Problem, ProblemKind
    from unified_planning.plans import ActionInstance, SequentialPlan
except ImportError as error:
    raise ExtraMissing(f"Unified Planning is not installed ({error})", extra="up") from error

ENGINE_NAME: Final = "hazardmill"
MAX_FACTOR: Final = 1_000
"""Largest constant that a fluent may be multiplied by: the formalism has sums only, so products are written out."""

_FEATURES: Final = (
    "ACTION_BASED",
    "SIMPLE_NUMERIC_PLANNING",
    "FLAT_TYPING",
    "HIERARCHICAL_TYPING",
    "BOUNDED_TYPES",
    "INT_FLUENTS",
    "NEGATIVE_CONDITIONS",
    "DISJUNCTIVE_CONDITIONS",
    "EQUALITIES",
    "EXISTENTIAL_CONDITIONS",
    "UNIVERSAL_CONDITIONS",
    "CONDITIONAL_EFFECTS",
    "INCREASE_EFFECTS",
    "DECREASE_EFFECTS",
    "STATIC_FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
    "STATIC_FLUENTS_IN_NUMERIC_ASSIGNMENTS",
    "FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
    "FLUENTS_IN_NUMERIC_ASSIGNMENTS",
    "FORALL_EFFECTS",
    "PLAN_LENGTH",
)
# It covers conditional effects on integers and assigned sums, which documents can express, and products of fluents,
# which they cannot. So it is not promised, but callers who skip the check of kinds get an answer where there is one.
_GENERAL: Final = "GENERAL_NUMERIC_PLANNING"


def register(environment: Environment | None = None) -> None:
    """Make the engine known to an environment of Unified Planning; doing so twice does no harm.

    Args:
        environment: The environment; None for the global one.
    """
    factory = get_environment(environment).factory
    if ENGINE_NAME not in factory.engines:
        factory.add_engine(ENGINE_NAME, __name__, HazardmillEngine.__name__)


class HazardmillEngine(Engine, OneshotPlannerMixin):  # type: ignore[misc]  # Unified Planning has no type information
    """Exact search as a planner of Unified Planning: every plan is a shortest one, and absence of a plan is proved.

    Args:
        limit: Expansions after which it refuses to go on (status ``MEMOUT``, with a message).
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        self._limit = limit

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        return ENGINE_NAME

    @staticmethod
    def supported_kind() -> ProblemKind:
        """Return the features of problems that it supports."""
        return ProblemKind(_FEATURES)

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Return whether it supports all features of a kind."""
        return bool(problem_kind <= HazardmillEngine.supported_kind())

    @staticmethod
    def satisfies(optimality_guarantee: OptimalityGuarantee) -> bool:
        """Return whether it meets an optimality guarantee: all that Unified Planning has."""
        return optimality_guarantee in (OptimalityGuarantee.SATISFICING, OptimalityGuarantee.SOLVED_OPTIMALLY)

    def _solve(
        self,
        problem: Problem,
        heuristic: Callable[[Node], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> PlanGenerationResult:
        status = PlanGenerationResultStatus
        if heuristic is not None:
            warnings.warn(f"{ENGINE_NAME} uses no heuristic", stacklevel=3)
        if output_stream is not None:
            warnings.warn(f"{ENGINE_NAME} writes nothing while it searches", stacklevel=3)
        try:
            translation = translate(problem)
        except (NotExpressible, DocumentError) as error:
            return self._without_plan(status.UNSUPPORTED_PROBLEM, str(error))
        try:
            attempt = attempt_to_solve(translation.document, self._limit, timeout)
        except SearchLimitReached as error:
            return self._without_plan(status.MEMOUT, str(error))
        if attempt.refusal is not None:
            return self._without_plan(status.TIMEOUT if attempt.timed_out else status.MEMOUT, str(attempt.refusal))
        metrics = {"expanded": str(attempt.expanded)}
        found = attempt.found[True]
        if found is None:
            return PlanGenerationResult(status.UNSOLVABLE_PROVEN, None, ENGINE_NAME, metrics)
        return PlanGenerationResult(status.SOLVED_OPTIMALLY, translation.plan(found), ENGINE_NAME, metrics)

    @staticmethod
    def _without_plan(status: PlanGenerationResultStatus, why: str) -> PlanGenerationResult:
        return PlanGenerationResult(status, None, ENGINE_NAME, log_messages=[LogMessage(LogLevel.INFO, why)])


@dataclass(frozen=True)
class Translation:
    """A problem of Unified Planning as a document, and what is needed to translate its plans back."""

    document: Document
    problem: Problem
    actions: Mapping[str, Node]
    """Action of the problem by name in the document."""
    objects: Mapping[str, Node]
    """Object of the problem by name in the document."""

    def plan(self, steps: Iterable[GroundAction]) -> SequentialPlan:
        """Return a plan of the document as a plan of the problem."""
        environment = self.problem.environment
        as_argument = environment.expression_manager.ObjectExp
        instances = [
            ActionInstance(self.actions[step.name], tuple(as_argument(self.objects[arg]) for arg in step.args))
            for step in steps
        ]
        return SequentialPlan(instances, environment)


def translate(problem: Problem) -> Translation:
    """Translate a problem of Unified Planning into a document without dangers.

    Names stay as they are where the formalism allows them. Goal, effects and bounds mean the same on both sides.

    Returns:
        The document, with the problem's actions and objects by their names in it.

    Raises:
        NotExpressible: The formalism cannot express the problem.
        DocumentError: The document would be larger than a document may be.
    """
    beyond = problem.kind.features - {*_FEATURES, _GENERAL}
    if beyond:
        raise NotExpressible(f"the problem uses {', '.join(sorted(beyond))}")
    return _Translator(problem).run()


class _Translator:
    """Translates one problem."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._variables = itertools.count(1)
        # A type named ``object`` would be taken for the root of all types.
        self._types = _names(problem.user_types, "type", taken={ROOT_TYPE})
        self._objects = _names(problem.all_objects, "object")
        self._fluents = _names(problem.fluents, "fluent")
        self._actions = _names(problem.actions, "action")

    def run(self) -> Translation:
        problem = self._problem
        types, objects = self._types, self._objects
        document = Document.of(
            types=[TypeDecl(types[t], ROOT_TYPE if t.father is None else types[t.father]) for t in problem.user_types],
            objects=[ObjectDecl(objects[thing], types[thing.type]) for thing in problem.all_objects],
            fluents=[self._fluent(fluent) for fluent in problem.fluents],
            actions=[self._action(action) for action in problem.actions],
            initial=dict(self._initial()),
            goal=("and", *(self._condition(goal, {}) for goal in problem.goals)),
        )
        actions = {name: action for action, name in self._actions.items()}
        return Translation(document, problem, actions, {name: thing for thing, name in objects.items()})

    def _fluent(self, fluent: Node) -> FluentDecl:
        parameters = tuple(Parameter(f"?p{i}", self._types[p.type]) for i, p in enumerate(fluent.signature))
        if fluent.type.is_bool_type():
            return FluentDecl(self._fluents[fluent], parameters)
        bounds = fluent.type.lower_bound, fluent.type.upper_bound
        return FluentDecl(self._fluents[fluent], parameters, "normal", True, *bounds)

    def _initial(self) -> Iterable[tuple[Atom, bool | int]]:
        try:
            values = self._problem.initial_values
        except UPProblemDefinitionError as error:
            raise NotExpressible(f"the initial state is not complete: {error}") from error
        for atom, value in values.items():
            ground = (self._fluents[atom.fluent()], *(self._objects[arg.object()] for arg in atom.args))
            if value.is_bool_constant():
                yield ground, value.bool_constant_value()
            else:
                yield ground, _whole(value)

    def _action(self, action: Node) -> ActionDecl:
        scope = {p.name: f"?p{i}" for i, p in enumerate(action.parameters)}
        return ActionDecl(
            self._actions[action],
            tuple(Parameter(scope[p.name], self._types[p.type]) for p in action.parameters),
            ("and", *(self._condition(part, scope) for part in action.preconditions)),
            tuple(
                effect
                for quantified in action.effects
                for single in quantified.expand_effect(self._problem)
                for effect in self._effect(single, scope)
            ),
        )

    def _effect(self, effect: Node, scope: Mapping[str, str]) -> Iterable[Effect]:
        target = self._application(effect.fluent, scope)
        condition = self._condition(effect.condition, scope)
        if not effect.fluent.type.is_bool_type():
            operation: Operation = "assign"
            if not effect.is_assignment():
                operation = "increase" if effect.is_increase() else "decrease"
            yield Effect(operation, target, self._term(effect.value, scope), condition)
        elif effect.value.is_bool_constant():
            yield Effect("assign", target, effect.value.bool_constant_value(), condition)
        else:
            value = self._condition(effect.value, scope)
            yield Effect("assign", target, True, ("and", condition, value))
            yield Effect("assign", target, False, ("and", condition, ("not", value)))

    def _condition(self, node: Node, scope: Mapping[str, str]) -> Expr:
        if node.is_bool_constant():
            return bool(node.bool_constant_value())
        if node.is_fluent_exp():
            return self._application(node, scope)
        if node.is_exists() or node.is_forall():
            return self._quantify(node, scope)
        if node.is_iff():
            left, right = (self._condition(arg, scope) for arg in node.args)
            return ("and", ("imply", left, right), ("imply", right, left))
        connectives = {"and": node.is_and, "or": node.is_or, "not": node.is_not, "imply": node.is_implies}
        for head, fits in connectives.items():
            if fits():
                return (head, *(self._condition(arg, scope) for arg in node.args))
        if node.is_equals() and node.arg(0).type.is_user_type():
            return ("same", *(self._object(arg, scope) for arg in node.args))
        comparisons = {"=": node.is_equals, "<=": node.is_le, "<": node.is_lt}
        for head, fits in comparisons.items():
            if fits():
                return (head, *(self._term(arg, scope) for arg in node.args))
        raise NotExpressible(f"{node} is not a condition of the formalism")

    def _quantify(self, node: Node, scope: Mapping[str, str]) -> Expr:
        # The types of a problem are those of its objects and parameters: any other type has no objects.
        if any(variable.type not in self._types for variable in node.variables()):
            return bool(node.is_forall())
        inner = {**scope, **{variable.name: f"?v{next(self._variables)}" for variable in node.variables()}}
        variables = tuple((inner[variable.name], self._types[variable.type]) for variable in node.variables())
        return ("exists" if node.is_exists() else "forall", variables, self._condition(node.arg(0), inner))

    def _term(self, node: Node, scope: Mapping[str, str]) -> Expr:
        if node.is_int_constant() or node.is_real_constant():
            return _whole(node)
        if node.is_fluent_exp():
            return self._application(node, scope)
        if node.is_times():
            return self._product(node, scope)
        if not (node.is_plus() or node.is_minus()):
            raise NotExpressible(f"{node} is not an integer term of the formalism")
        head, parts = "+" if node.is_plus() else "-", [self._term(arg, scope) for arg in node.args]
        return parts[0] if len(parts) == 1 else (head, *parts)

    def _product(self, node: Node, scope: Mapping[str, str]) -> Expr:
        factor, varying = 1, []
        for arg in node.args:
            simple = arg.simplify()
            if simple.is_constant():
                factor *= _whole(simple)
            else:
                varying.append(arg)
        if not varying:
            return factor
        if len(varying) > 1 or abs(factor) > MAX_FACTOR:
            raise NotExpressible(f"{node} is not a sum, and is too long or not linear when written out as one")
        term = self._term(varying[0], scope)
        if factor in (0, 1):
            return term if factor else 0
        total = term if abs(factor) == 1 else ("+", *[term] * abs(factor))
        return total if factor > 0 else ("-", 0, total)

    def _application(self, node: Node, scope: Mapping[str, str]) -> Expr:
        return ("fluent", self._fluents[node.fluent()], *(self._object(arg, scope) for arg in node.args))

    def _object(self, node: Node, scope: Mapping[str, str]) -> str:
        if node.is_object_exp():
            return self._objects[node.object()]
        if node.is_parameter_exp():
            return scope[node.parameter().name]
        if node.is_variable_exp():
            return scope[node.variable().name]
        raise NotExpressible(f"{node} is neither an object nor a parameter")


def _whole(node: Node) -> int:
    value = node.constant_value()
    if isinstance(value, bool) or value != int(value):
        raise NotExpressible(f"{node} is not an integer")
    return int(value)


def _names(things: Iterable[Node], kind: str, taken: Iterable[str] = ()) -> dict[Node, str]:
    """Return a legal name for each thing: its own where that is legal, else ``kind_1``, ``kind_2`` ..."""
    things = list(things)
    names = {thing: thing.name for thing in things if NAME.match(thing.name) and thing.name not in taken}
    free = (name for i in itertools.count(1) if (name := f"{kind}_{i}") not in {*names.values(), *taken})
    return {thing: names[thing] if thing in names else next(free) for thing in things}
