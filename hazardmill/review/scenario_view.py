"""Everything that a reviewer is shown of one scenario: in words, step by step, and as it is written.

Texts are as they came from records and models. Whoever puts them on a page must escape them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hazardmill.errors import DocumentError
from hazardmill.review import wording
from hazardmill.review.candidates import ScenarioContent
from hazardmill.review.document_view import Card, DocumentView, Role, ShownItem, ShownPlan, ShownStep
from hazardmill.scenarios.declarations import conjuncts_of
from hazardmill.scenarios.draft import DraftAction
from hazardmill.scenarios.risk import Kind, Risk
from hazardmill.scenarios.scenario import Scenario
from hazardmill.scenarios.verify import careless_document


class ShownScenario(ShownItem):
    """A scenario as it is shown to people.

    Attributes:
        kind: ``mal``: the command is meant to harm; ``sit``: it is harmless, and the circumstances are risky.
        target: Who or what is in danger; ``None`` if it has none of the labels.
        hazard: The kind of harm; ``None`` likewise.
        harm: What would happen, as its author says; ``None`` if the author does not.
        harm_words: Those parts of the goal that are the harm, in words; empty for ``sit``.
        caution: What must hold before an action so that the risk is dealt with, in words, by action; empty for ``mal``.
        plan: The shortest plan.
        careless: The shortest plan without that caution and without mitigations, on the document without it; ``None``
            for ``mal``.
        risk: The risk, as in a scenario file.
    """

    kind: Kind
    target: str | None
    hazard: str | None
    harm: str | None
    harm_words: tuple[str, ...]
    caution: dict[str, tuple[str, ...]]
    plan: ShownPlan
    careless: ShownPlan | None
    risk: dict[str, Any]


class ScenarioView:
    """One scenario, ready to be shown and to have plans tried on it.

    A view changes nothing and keeps no plan that was tried.
    """

    def __init__(self, content: ScenarioContent) -> None:
        """Read a scenario.

        Raises:
            DocumentError: It is not a scenario with a risk, or its draft is not well formed.
        """
        self._content = content
        self._scenario = Scenario.from_json(dict(content.scenario))
        self._view = DocumentView(self._scenario.document)
        self._risk = _risk_of(self._scenario)

    def try_plan(self, text: str) -> ShownPlan:
        """Return any plan with its verdict; see ``DocumentView.try_plan``.

        Raises:
            UsageError: The plan is too long.
        """
        return self._with_roles(self._view.try_plan(text))

    def show(self) -> ShownScenario:
        """Return everything that is shown of the scenario.

        Neither the judge's verdict nor the model that wrote it is part of this.
        """
        content, document, risk = self._content, self._view.document, self._risk
        domain, problem = self._view.pddl()
        return ShownScenario(
            **self._view.describe(content),
            kind=risk.kind,
            title=risk.instruction,
            target=risk.target,
            hazard=risk.hazard,
            harm=_harm_said(self._scenario.origin),
            harm_words=tuple(map(wording.condition, risk.risk_literals)),
            actions=tuple(sorted(map(self._card, self._scenario.draft.actions), key=lambda card: not card.is_new)),
            caution={
                wording.name(action): tuple(map(wording.condition, literals))
                for action, literals in sorted(risk.safe_literals.items())
            },
            plan=self._with_roles(self._view.step_through(content.plan)),
            careless=None if content.careless_plan is None else self._step_through_carelessly(content.careless_plan),
            document=document.to_json(),
            risk=risk.to_json(),
            domain_pddl=domain,
            problem_pddl=problem,
        )

    def _card(self, action: DraftAction) -> Card:
        # As it was written: in the document, an effect that holds for all objects is there once per object.
        safe = self._risk.safe_literals.get(action.name, ())
        parts = conjuncts_of(action.precondition)
        return Card(
            name=action.name,
            words=wording.name(action.name),
            parameters=self._view.choices(action.parameters),
            needs=tuple(wording.condition(part) for part in parts if part not in safe and part is not True),
            does=wording.effects(action.effects),
            dangers=(),
            demands=tuple(wording.condition(part) for part in parts if part in safe),
            is_new=action.name in self._risk.new,
            role=self._role(action.name),
        )

    def _role(self, action: str) -> Role | None:
        if action in self._risk.mitigation:
            return "mitigation"
        return "hazardous" if action in self._risk.hazardous_actions else None

    def _with_roles(self, plan: ShownPlan) -> ShownPlan:
        steps = (step.model_copy(update={"role": self._role(_action_of(step))}) for step in plan.steps)
        return plan.model_copy(update={"steps": tuple(steps)})

    def _step_through_carelessly(self, text: str) -> ShownPlan:
        """Return a plan on the document without its caution, and at its first careless step what caution demands."""
        careless = DocumentView(careless_document(self._view.document, self._risk))
        plan = self._with_roles(careless.step_through(text))
        stopped = next((step for step in self._view.step_through(text).steps if not step.done), None)
        if stopped is None:
            return plan
        steps = (
            step.model_copy(update={"demanded": stopped.unmet}) if step.index == stopped.index and step.done else step
            for step in plan.steps
        )
        return plan.model_copy(update={"steps": tuple(steps)})


def _risk_of(scenario: Scenario) -> Risk:
    if scenario.risk is None:
        raise DocumentError(
            f"{scenario.id} has no risk",
            remedy="import it again with its risk: hazardmill scenario import --risk FILE.json",
        )
    return scenario.risk


def _harm_said(origin: Mapping[str, Any]) -> str | None:
    said = origin.get("author")
    harm = said.get("harm") if isinstance(said, dict) else None
    return harm if isinstance(harm, str) and harm.strip() else None


def _action_of(step: ShownStep) -> str:
    return next(iter(step.action.strip("() ").split()), "")
