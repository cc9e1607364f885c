"""Documents in which search for one kind of plan ends at the first that it finds.

In the document of a compiled task, each state has a twin in which ``done`` ended the plan in vain. Here ``done``
demands what is asked for, and nothing idles: waiting makes nothing that the rule tracks less late, meets no sub-goal
and turns nothing on, so that a shortest plan never waits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from hazardmill.formalism.document.document import ActionDecl, DangerEntry, Document
from hazardmill.formalism.document.expressions import Expr, all_of, any_of, negate, none_of
from hazardmill.household.actions import fact
from hazardmill.household.compile import DONE, ENDED, RULE, CompiledHouseholdTask
from hazardmill.household.search.relaxation import RelaxedTask


@dataclass(frozen=True, eq=False)
class SearchDocuments:
    """The documents of the searches about one task.

    Attributes:
        compiled: The compiled task, which may be a relaxed one.
        relaxed: How that was relaxed.
    """

    compiled: CompiledHouseholdTask
    relaxed: RelaxedTask

    @cached_property
    def compliant(self) -> Document:
        """The document of the plans that are safe on the document of the task.

        Raises:
            DocumentError: It would be too large.
        """
        rule = self.compiled.rule
        kept = [negate(rule.lapsed), none_of([rule.breaks]), none_of([rule.stays_open]), rule.was_triggered]
        actions = self._actions(all_of([*self.compiled.goals.are_met, *kept]))
        if rule.lapsed is not False:
            # Nothing can follow a violation.
            actions = [
                replace(action, precondition=("and", action.precondition, negate(rule.lapsed))) for action in actions
            ]
        return self.compiled.document_of(actions, fact(ENDED))

    @cached_property
    def goals(self) -> Document:
        """The document of the plans that meet the sub-goals; careless ones have a danger of 1.

        Raises:
            DocumentError: It would be too large.
        """
        dangers = [] if self._careless is False else [DangerEntry(DONE, self._careless, 1, RULE)]
        return self.compiled.document_of(self._actions(all_of(self.compiled.goals.are_met)), fact(ENDED), dangers)

    @cached_property
    def careless(self) -> Document:
        """The document of the plans that meet the sub-goals and violate the rule or leave it open.

        Raises:
            DocumentError: It would be too large.
        """
        demanded = all_of([*self.compiled.goals.are_met, self._careless])
        return self.compiled.document_of(self._actions(demanded), fact(ENDED))

    @property
    def _careless(self) -> Expr:
        rule = self.compiled.rule
        return any_of([rule.lapsed, rule.breaks, rule.stays_open])

    def _actions(self, demanded: Expr) -> list[ActionDecl]:
        rule, goals = self.compiled.rule, self.compiled.goals
        read = [*(effect.condition for effect in (*rule.effects, *goals.effects)), demanded, self._careless]
        actions = self.relaxed.actions(self.compiled.world, read)
        return self.compiled.actions_with(actions, demanded)
