"""Everything that a reviewer is shown of one hazard task: in words, step by step, and as it is written.

Texts are as they came from models. Whoever puts them on a page must escape them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import ActionDecl, Document
from hazardmill.hazards.compiled_detector import CompiledDetector
from hazardmill.records import FrozenModel
from hazardmill.review import wording
from hazardmill.review.candidates import HazardTaskContent
from hazardmill.review.document_view import Card, DocumentView, ShownHarm, ShownItem, ShownPlan


class ShownCategory(FrozenModel):
    """A category of harm that some plan of the task does.

    Attributes:
        name: Its name.
        definition: What belongs to it; ``None`` if the store has lost the dialogue.
        rules: What counts as harm of this category in the base domain, one line per rule.
        plan: A plan to the goal that does its harm.
    """

    name: str
    definition: str | None
    rules: tuple[str, ...]
    plan: ShownPlan


class ShownHazardTask(ShownItem):
    """A hazard task as it is shown to people. All its plans say which harm they do, by the map of hazards.

    Attributes:
        harm: The harm, as its proposer says; ``None`` if it does not say.
        categories: The categories of harm that some plan does.
        reference: The reference script.
        harmless: The shortest plan that does no harm; ``None`` if there is none, or none is known.
        is_searched: Whether the search for it ended, so that ``None`` is a proof.
        compiled: The document with what the map calls harm as danger entries.
    """

    harm: str | None
    categories: tuple[ShownCategory, ...]
    reference: ShownPlan
    harmless: ShownPlan | None
    is_searched: bool
    compiled: dict[str, Any]


class HazardTaskView:
    """One hazard task, ready to be shown and to have plans tried on it.

    A view changes nothing and keeps no plan that was tried.
    """

    def __init__(self, content: HazardTaskContent) -> None:
        """Read both documents of a hazard task.

        Raises:
            DocumentError: One of them is no task document, or the task has no category.
        """
        if not content.categories:
            raise DocumentError(f"{content.item} has no category of harm", remedy="generate it again, or leave it out")
        self._content = content
        self._view = DocumentView(Document.from_json(dict(content.document)))
        self._compiled = Document.from_json(dict(content.compiled))
        self._detector = CompiledDetector(self._view.document, self._compiled)

    def try_plan(self, text: str) -> ShownPlan:
        """Return any plan with its verdict and its harm; see ``DocumentView.try_plan``.

        Raises:
            UsageError: The plan is too long.
        """
        return self._with_harm(self._view.try_plan(text))

    def show(self) -> ShownHazardTask:
        """Return everything that is shown of the hazard task.

        Neither the role nor the model that proposed it is part of this, nor is a rewrite of its reference: people judge
        rewrites on sheets of their own (``hazards.sheets``).
        """
        content, document = self._content, self._view.document
        domain, problem = self._view.pddl()
        return ShownHazardTask(
            **self._view.describe(content),
            title=content.instruction,
            harm=content.harm,
            categories=tuple(map(self._category, content.categories)),
            actions=tuple(map(self._card, document.actions)),
            reference=self._step_through(content.reference),
            harmless=None if content.harmless_plan is None else self._step_through(content.harmless_plan),
            is_searched=content.is_searched,
            document=document.to_json(),
            compiled=self._compiled.to_json(),
            domain_pddl=domain,
            problem_pddl=problem,
        )

    def _category(self, name: str) -> ShownCategory:
        known: Mapping[str, Any] = next((each for each in self._content.definitions if each["name"] == name), {})
        return ShownCategory(
            name=name,
            definition=known.get("definition"),
            rules=tuple(known.get("rules", ())),
            plan=self._step_through(self._content.witnesses[name]),
        )

    def _card(self, action: ActionDecl) -> Card:
        harmful = tuple(
            f"{entry.danger_type}: {wording.condition(entry.condition)}"
            for entry in self._compiled.dangers
            if entry.action == action.name
        )
        return self._view.card(action).model_copy(update={"dangers": harmful})

    def _step_through(self, text: str) -> ShownPlan:
        return self._with_harm(self._view.step_through(text))

    def _with_harm(self, plan: ShownPlan) -> ShownPlan:
        """Return a plan with the harm of each step and, if all of it can be done, that which it leaves behind."""
        by_step: dict[int, dict[tuple[str, ...], list[str]]] = {}
        for violation in self._detector.detect(" ".join(step.action for step in plan.steps)).violations:
            # On a compiled document, harm that is left behind is that of the action which closes the plan.
            assert violation.step is not None, "a compiled document has danger entries only"
            by_step.setdefault(violation.step, {}).setdefault(violation.literals, []).extend(violation.categories)
        harms = {
            step: tuple(ShownHarm(categories=tuple(dict.fromkeys(names)), literals=why) for why, names in found.items())
            for step, found in by_step.items()
        }
        return plan.model_copy(
            update={
                "steps": tuple(
                    step.model_copy(update={"harms": harms.get(step.index, ())}) if step.done else step
                    for step in plan.steps
                ),
                "left": harms.get(len(plan.steps) + 1, ()) if all(step.done for step in plan.steps) else (),
                "safe": plan.feasible and not harms,
            }
        )
