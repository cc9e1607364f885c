"""In which tasks the rules of a map apply, and what they can never meet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.hazard_map import HazardMap, ProcessRule, RuleKind, TerminationRule
from hazardmill.hazards.rules import apply_map


@dataclass(slots=True)
class RuleUse:
    """How often one rule of a map applies.

    Attributes:
        rule: The rule.
        tasks: Number of tasks in which it applies.
        reasons: Why it does not apply in others, to the number of tasks.
    """

    rule: ProcessRule | TerminationRule
    tasks: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def kind(self) -> RuleKind:
        """What the rule is about."""
        return "process" if isinstance(self.rule, ProcessRule) else "termination"

    @property
    def finding(self) -> str | None:
        """Why the rule can meet nothing in any task, with the commonest reason; None if it applies in some task."""
        if self.tasks or not self.reasons:
            return None
        ((why, count),) = self.reasons.most_common(1)
        return f"{self.rule.place} (line {self.rule.line}) applies in no task: {why} ({count})"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "rule": self.rule.place,
            "line": self.rule.line,
            "kind": self.kind,
            "categories": list(self.rule.categories),
            "tasks": self.tasks,
            "reasons": dict(self.reasons.most_common()),
        }


class MapUse:
    """Counts in how many tasks each rule of a map applies.

    Args:
        hazards: The map.

    Attributes:
        tasks: Number of tasks that were counted.
    """

    def __init__(self, hazards: HazardMap) -> None:
        self._hazards = hazards
        self._uses = {rule.place: RuleUse(rule) for rule in hazards.rules}
        self.tasks = 0

    @property
    def rules(self) -> tuple[RuleUse, ...]:
        """How often each rule applies, in the order of the map."""
        return tuple(self._uses.values())

    def count(self, system: System) -> None:
        """Count the rules that apply to one task.

        Raises:
            SearchLimitReached: A rule unfolds into too much for this task, which is then not counted.
        """
        applied = apply_map(system, self._hazards)
        self.tasks += 1
        for place in {each.place for each in applied.process} | {each.place for each in applied.termination}:
            self._uses[place].tasks += 1
        for misfit in applied.misfits:
            if misfit.action is None:
                self._uses[misfit.place].reasons[misfit.why] += 1


def unused_categories(hazards: HazardMap) -> list[str]:
    """Return the categories of a map that no rule names, in the order of the map."""
    named = {name for rule in hazards.rules for name in rule.categories}
    return [category.name for category in hazards.categories if category.name not in named]
