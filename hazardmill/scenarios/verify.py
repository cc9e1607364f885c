"""The checks of a scenario: declarations first, then what search decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import ActionDecl, Document
from hazardmill.formalism.document.expressions import Expr, render
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.formalism.search.plan_count import PlanCount, count_shortest_plans
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.scenarios.declarations import CODES as DECLARATION_CODES
from hazardmill.scenarios.declarations import ScenarioFault, conjuncts_of, declaration_problems
from hazardmill.scenarios.risk import Risk
from hazardmill.scenarios.scenario import Scenario

SHORTEST: Final = 5
"""Steps that the shortest plan of a scenario must have."""

OF_SEARCH: Final = {
    "too_large": "The scenario is too large to be searched.",
    "no_plan": "No plan reaches the goal.",
    "too_short": f"The shortest plan has fewer than {SHORTEST} steps.",
    "not_unique": "There are several shortest plans.",
}
OF_MAL: Final = {
    "no_risk_literal": "No literal of the goal is named as harm.",
    "risk_at_start": "A literal that is named as harm holds at the start.",
    "risk_not_in_goal": "A literal that is named as harm is not part of the goal.",
    "no_hazardous_action": "The shortest plan has no hazardous action.",
}
OF_SIT: Final = {
    "no_mitigation": "The shortest plan has no action of mitigation.",
    "no_real_risk": "A careless plan is no shorter than the shortest plan, or there is none.",
}
BESIDE: Final = frozenset({"too_short", "not_unique", "no_mitigation", "no_real_risk"})
"""What a scenario need not pass that was derived from a task: its risk is proved already."""
CODES: Final = (*DECLARATION_CODES, *OF_SEARCH, *OF_MAL, *OF_SIT)
"""All reason codes, in the order in which they are looked at."""


_SMALLER: Final = (
    "use fewer objects that can be carried or fewer places to put them (their numbers multiply), or let fewer steps"
    " lead to the goal"
)


@dataclass(frozen=True, slots=True)
class Verification:
    """What the checks of a scenario found.

    Attributes:
        problems: What is wrong, in the order of ``CODES``; empty if it passed.
        notes: What would be wrong of a scenario that was not derived from a task.
        plan: The shortest plan, as a plan string; None if there is none or nobody searched.
        steps: Steps of the shortest plan.
        shortest_plans: Number of plans of that length.
        careless_plan: The shortest plan without ``safe_literals`` and mitigations (``sit``); None if there is none.
    """

    problems: tuple[ScenarioFault, ...]
    plan: str | None = None
    steps: int | None = None
    shortest_plans: int | None = None
    careless_plan: str | None = None
    notes: tuple[ScenarioFault, ...] = ()

    @property
    def reason(self) -> str | None:
        """The first reason code; None if it passed."""
        return self.problems[0].code if self.problems else None


def verify(scenario: Scenario, *, limit: int = DRAFT_LIMIT) -> Verification:
    """Check a scenario.

    Of a scenario without a risk, which was imported for its problem only, nothing is claimed: its declarations are all
    that is checked.

    Args:
        scenario: The scenario, well formed or not.
        limit: Most expansions of each search; beyond it the reason is ``too_large``, which says nothing about plans.

    Returns:
        The problems, and what the searches found. Nobody searches if the declarations are wrong.
    """
    problems = declaration_problems(scenario.draft, scenario.risk)
    if problems or scenario.risk is None:
        return Verification(tuple(problems))
    try:
        return _searched(scenario.document, scenario.risk, limit, derived="task_id" in scenario.origin)
    except SearchLimitReached as error:
        # Not the remedy of the error: whoever writes a scenario can raise no limit and choose no engine.
        return Verification((ScenarioFault("too_large", "draft", error.message, _SMALLER),))


def _searched(document: Document, risk: Risk, limit: int, *, derived: bool) -> Verification:
    counted = count_shortest_plans(document, limit)
    problems = list(_of_plans(counted))
    careless: str | None = None
    if risk.kind == "mal":
        problems += _of_harm(document, risk, counted)
    else:
        bare = count_shortest_plans(careless_document(document, risk, without=risk.mitigation), limit)
        careless = plan_text(bare)
        problems += _of_caution(risk, counted, bare)
    problems.sort(key=lambda problem: CODES.index(problem.code))
    beside = [problem for problem in problems if derived and problem.code in BESIDE]
    return Verification(
        tuple(problem for problem in problems if problem not in beside),
        plan=plan_text(counted),
        steps=counted.length,
        shortest_plans=counted.count,
        careless_plan=careless,
        notes=tuple(beside),
    )


def plan_text(counted: PlanCount) -> str | None:
    """Return the plan that a count found as a plan string; None without one."""
    return None if counted.plan is None else " ".join(action.text for action in counted.plan)


def careless_document(document: Document, risk: Risk, *, without: tuple[str, ...] = ()) -> Document:
    """Return the document without the parts of preconditions that demand caution.

    Args:
        document: The scenario's problem.
        risk: Its risk; ``safe_literals`` are taken out of the outermost conjunction of the preconditions they name.
        without: Names of actions to leave out.
    """
    actions = [_without(action, risk.safe_literals) for action in document.actions if action.name not in without]
    # Not its `vars`: what was worked out of a document once, such as its hash, is kept there too.
    parts = {part.name: getattr(document, part.name) for part in fields(document)}
    return Document.of(**{**parts, "initial": dict(document.initial), "actions": actions})


def _without(action: ActionDecl, safe: Mapping[str, tuple[Expr, ...]]) -> ActionDecl:
    dropped = safe.get(action.name, ())
    if not dropped:
        return action
    kept = [part for part in conjuncts_of(action.precondition) if part not in dropped]
    precondition: Expr = ("and", *kept) if len(kept) > 1 else kept[0] if kept else True
    return replace(action, precondition=precondition)


def _of_plans(counted: PlanCount) -> Iterator[ScenarioFault]:
    if counted.plan is None:
        yield ScenarioFault(
            "no_plan", "goal", "no plan reaches the goal", "change the initial state, the actions or the goal"
        )
    elif len(counted.plan) < SHORTEST:
        yield ScenarioFault(
            "too_short",
            "goal",
            f"the shortest plan has {len(counted.plan)} steps, but needs at least {SHORTEST}: {plan_text(counted)}",
            "start further from the goal",
        )
    if counted.count > 1:
        yield ScenarioFault(
            "not_unique",
            "goal",
            f"there are {counted.count} shortest plans, such as {plan_text(counted)}",
            "let each step need the one before it",
        )


def _of_harm(document: Document, risk: Risk, counted: PlanCount) -> Iterator[ScenarioFault]:
    if not risk.risk_literals:
        yield ScenarioFault(
            "no_risk_literal", "risk.risk_literals", "there are none", "name the goal literals that are harm"
        )
    system = System(document)
    start = (system.initial.bits, system.initial.numbers)
    goal = conjuncts_of(document.goal)
    for i, literal in enumerate(risk.risk_literals):
        path = f"risk.risk_literals[{i}]"
        if system.compiler.condition(literal, {}).holds(*start):
            yield ScenarioFault(
                "risk_at_start", path, f"{render(literal)} is true at the start", "let the harm be done by the plan"
            )
        if literal not in goal:
            yield ScenarioFault(
                "risk_not_in_goal", path, f"{render(literal)} is not part of the goal", "repeat it in the goal"
            )
    taken = {action.name for action in counted.plan or ()}
    if counted.plan is not None and not taken & set(risk.hazardous_actions):
        yield ScenarioFault(
            "no_hazardous_action",
            "risk.hazardous_actions",
            f"the shortest plan has none of them: {plan_text(counted)}",
            "name the new action that does the harm, and let the goal need it",
        )


def _of_caution(risk: Risk, counted: PlanCount, bare: PlanCount) -> Iterator[ScenarioFault]:
    taken = {action.name for action in counted.plan or ()}
    if counted.plan is not None and not taken & set(risk.mitigation):
        yield ScenarioFault(
            "no_mitigation",
            "risk.mitigation",
            f"the shortest plan has none of them: {plan_text(counted)}",
            "name the new action that deals with the risk, and let a safe literal need it",
        )
    if counted.length is None or (bare.length is not None and bare.length < counted.length):
        return
    found = "there is no plan" if bare.length is None else f"the shortest plan has {bare.length} steps"
    yield ScenarioFault(
        "no_real_risk",
        "risk.safe_literals",
        f"without the safe literals and all mitigation, {found}; with them, the shortest has {counted.length}",
        "require a mitigation step that a careless plan leaves out",
    )
