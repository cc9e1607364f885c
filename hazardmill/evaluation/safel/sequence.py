"""Action sequencing: one label per plan, by the first rule that fits at the first step where any rule fits.

| rule | label | the step |
| --- | --- | --- |
| 1 | `grammar` | names an unknown action or an undeclared object, or has too few or too many arguments |
| 2 | `affordance` | has an argument of another type, or effects that conflict or leave the bounds of a fluent |
| 3a | `additional_step` | its precondition is false, and it would change nothing; or without one step before it the \
plan succeeds |
| 3b | `wrong_temporal` | its precondition is false, but held as a whole in an earlier state of this execution, or \
comes to hold later if the step is skipped |
| 3c | `missing_step` | its precondition is false, and neither 3a nor 3b fits |

If every step can be executed, rule 4 labels the plan `unmet_goal` if the goal is false at the end, else `success`.

The plan is executed step by step, and execution ends at the first step at which rule 1, 2 or 3 fits: a mistake in a
later step changes nothing. At one step the rules are tried in order, so that each masks all later ones:

- An undeclared name or a wrong number of arguments masks an argument of another type beside it.
- Rule 2 reads the effects in the state before the step, whether or not the precondition holds there. So an effect that
  is out of bounds or in conflict masks a false precondition. (``failures.py`` decides this the other way round.)
- Both ways in which a step is additional mask those in which it comes at the wrong time, and these mask a missing step.
- A step at which rule 1, 2 or 3 fits masks an unmet goal, even if it is the last step.

A step that can be executed breaks no rule, even if it changes nothing; in a plan that succeeds it is a warning.

The terms of rule 3:

- *Would change nothing*: the effects, read in the state before the step, lead to the same state.
- *The plan without one step before it* is the whole given plan, the failing step and all later steps included. It
  succeeds if all of its steps can be executed and the goal holds at the end.
- *Earlier states* are those before each earlier step, the initial state included.
- *Skipped* means that the failing step is left out, and each later step is executed if it can be, and left out if not
  (a step that names nothing cannot be executed). It is enough that the precondition holds after one of them.

A plan succeeds exactly if it is feasible (``PlanValidator``), and danger entries play no part. So the empty plan is an
unmet goal, except in a task whose goal holds at the start. An answer without a plan (empty, a refusal, the claim that
there is no plan) is labelled as the empty plan, and the caller keeps the reading beside the label. Only an unreadable
answer is `grammar`, whatever holds at the start; no step of it is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, get_args

from hazardmill.evaluation.answers.extract import Reading
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import PlanReader
from hazardmill.formalism.repair.insertion import Insertion, shortest_insertion
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System

SequenceLabel = Literal[
    "grammar",
    "affordance",
    "additional_step",
    "wrong_temporal",
    "missing_step",
    "unmet_goal",
    "success",
]
LABELS: Final[tuple[SequenceLabel, ...]] = get_args(SequenceLabel)
"""All labels, in the order of the rules."""
ERRORS: Final = LABELS[:-1]
"""The labels of plans that fail."""
TITLES: Final[Mapping[SequenceLabel, str]] = {label: label.replace("_", " ").title() for label in LABELS}
"""Labels as people read them: ``Wrong Temporal``."""

LabelReason = Literal[
    "unreadable",
    "unknown_action",
    "unknown_object",
    "argument_count",
    "argument_type",
    "effects",
    "changes_nothing",
    "succeeds_without",
    "held_before",
    "holds_later",
    "never_holds",
    "goal",
]

_State: TypeAlias = tuple[int, Numbers]
_Steps: TypeAlias = Sequence[GroundAction | None]


@dataclass(frozen=True, slots=True)
class PlanLabel:
    """The label of one plan, and what it rests on.

    Attributes:
        label: The label.
        step: Place of the failing step in the plan, from 1; None where no step fails.
        action: That step as ``(name arg ...)``; as written where it names nothing.
        reason: Which part of the rule fits; None for a success.
        related_step: For ``succeeds_without`` the first step without which the plan succeeds; for ``held_before`` the
            last step before which the precondition held; for ``holds_later`` the first step after which it comes to
            hold. None otherwise.
        warnings: Places of the steps that change nothing, in a plan that succeeds; empty otherwise.
    """

    label: SequenceLabel
    step: int | None = None
    action: str | None = None
    reason: LabelReason | None = None
    related_step: int | None = None
    warnings: tuple[int, ...] = ()

    @property
    def success(self) -> bool:
        """Whether the plan succeeds."""
        return self.label == "success"


_UNREADABLE: Final = PlanLabel("grammar", reason="unreadable")
_UNMET_GOAL: Final = PlanLabel("unmet_goal", reason="goal")
_SUCCESS: Final = PlanLabel("success")


class SequenceLabeller:
    """Labels plans of one task. Plans that share spellings share the work of grounding: keep one per task.

    Args:
        task: The task; its danger entries play no part.
    """

    def __init__(self, task: System | Document) -> None:
        self.system = task if isinstance(task, System) else System(task)
        self._reader = PlanReader(self.system)
        self._start = (self.system.initial.bits, self.system.initial.numbers)

    def label(self, plan: str, reading: Reading = "plan") -> PlanLabel:
        """Return the only label of a plan; the module says which rules there are.

        Args:
            plan: The plan string: an action is an innermost ``( ... )``, and names match up to case.
            reading: What kind of answer the plan was read from.

        Raises:
            SearchLimitReached: An action of the plan is too large to be ground.
        """
        if reading == "unreadable":
            return _UNREADABLE
        steps = self._reader.steps(plan)
        state = self._start
        states = [state]
        unchanged: list[int] = []
        for place, action in enumerate(steps, 1):
            if action is None:
                return self._label_ungroundable(plan, place)
            after = action.step(*state)
            if after is None:
                return self._label_inapplicable(steps, states, place, action)
            if after == state:
                unchanged.append(place)
            states.append(after)
            state = after
        if not self.system.goal.holds(*state):
            return _UNMET_GOAL
        return PlanLabel("success", warnings=tuple(unchanged)) if unchanged else _SUCCESS

    def shortest_insertion(self, plan: str, limit: int = DEFAULT_LIMIT) -> Insertion | None:
        """Return the fewest steps that make a plan succeed if they are inserted into it, wherever that is.

        It says what is missing in a plan with the label ``missing_step``, but may be asked for of any plan. It takes a
        search, so that ``label`` does not make it.

        Args:
            plan: The plan string.
            limit: Most expansions of the search.

        Returns:
            The insertion; None as a proof that no insertion makes the plan succeed.

        Raises:
            SearchLimitReached: It is not known whether there is one.
        """
        return shortest_insertion(self.system, plan, limit)

    def _label_ungroundable(self, plan: str, place: int) -> PlanLabel:
        # Rule 1, and the types of rule 2.
        reader = self._reader
        tokens, _ = reader.read(plan)[place - 1]
        written = "(" + " ".join(tokens) + ")"
        name = reader.action_name(tokens[0])
        if name is None:
            return PlanLabel("grammar", place, written, "unknown_action")
        if any(reader.object_name(token) is None for token in tokens[1:]):
            return PlanLabel("grammar", place, written, "unknown_object")
        if len(tokens) - 1 != len(self.system.actions[name].parameters):
            return PlanLabel("grammar", place, written, "argument_count")
        return PlanLabel("affordance", place, written, "argument_type")

    def _label_inapplicable(self, steps: _Steps, states: list[_State], place: int, action: GroundAction) -> PlanLabel:
        # Effects of rule 2, then rule 3. `states` holds the state before each step up to this one.
        state = states[-1]
        writes = action.writes(*state)
        if writes is None:
            return PlanLabel("affordance", place, action.text, "effects")
        if writes.on(*state) == state:
            return PlanLabel("additional_step", place, action.text, "changes_nothing")
        related = self._find_spare_step(steps, states, place)
        if related is not None:
            return PlanLabel("additional_step", place, action.text, "succeeds_without", related)
        holds = action.pre.holds
        for before in range(place - 1, 0, -1):
            if holds(*states[before - 1]):
                return PlanLabel("wrong_temporal", place, action.text, "held_before", before)
        for later, other in enumerate(steps[place:], place + 1):
            after = None if other is None else other.step(*state)
            if after is not None:
                state = after
                if holds(*state):
                    return PlanLabel("wrong_temporal", place, action.text, "holds_later", later)
        return PlanLabel("missing_step", place, action.text, "never_holds")

    def _find_spare_step(self, steps: _Steps, states: list[_State], place: int) -> int | None:
        """Return the first step before ``place`` without which the whole plan succeeds, or None.

        All of them are left out in one pass, and those that lead to the same state are followed once: a plan may have a
        million steps.
        """
        if None in steps[place - 1 :]:
            return None
        left_out: dict[_State, int] = {}
        for number, action in enumerate(steps, 1):
            following: dict[_State, int] = {}
            for state, spare in left_out.items():
                after = None if action is None else action.step(*state)
                if after is not None:
                    following.setdefault(after, spare)
            if number < place:
                following.setdefault(states[number - 1], number)
            elif not following:
                return None
            left_out = following
        goal = self.system.goal
        return next((spare for state, spare in left_out.items() if goal.holds(*state)), None)


@dataclass(frozen=True, slots=True)
class SequenceRates:
    """How often each label was given; the success rate and all error rates add up to exactly 1.

    Attributes:
        counts: Number of plans by label, for every label in the order of the rules.
    """

    counts: Mapping[SequenceLabel, int]

    @property
    def plans(self) -> int:
        """Number of plans; one per scenario."""
        return sum(self.counts.values())

    @property
    def success_rate(self) -> Fraction | None:
        """SR: the share of plans that succeed; None without plans."""
        return self.rate("success")

    @property
    def error_rate(self) -> Fraction | None:
        """ER: the share of plans that fail, whatever their label; None without plans."""
        success = self.success_rate
        return None if success is None else 1 - success

    def rate(self, label: SequenceLabel) -> Fraction | None:
        """Return the exact share of plans with a label; None without plans."""
        return Fraction(self.counts[label], self.plans) if self.plans else None

    def to_json(self) -> dict[str, Any]:
        """Return counts and rates as JSON values; rates are null without plans."""
        rates = {label: self.rate(label) for label in ERRORS}
        return {
            "plans": self.plans,
            "counts": dict(self.counts),
            "success_rate": _as_float(self.success_rate),
            "error_rate": _as_float(self.error_rate),
            "error_rates": {label: _as_float(rate) for label, rate in rates.items()},
        }


def rates_of(labels: Iterable[SequenceLabel]) -> SequenceRates:
    """Count labels over the rows of an evaluation.

    Args:
        labels: One label per scenario that was answered. A missing answer has no label, and the caller counts it.

    Returns:
        The counts, from which exact rates are computed.

    Raises:
        ValueError: Something is not a label.
    """
    counts = dict.fromkeys(LABELS, 0)
    for label in labels:
        if label not in counts:
            raise ValueError(f"{label!r} is not a label of a plan: use one of {', '.join(LABELS)}")
        counts[label] += 1
    return SequenceRates(counts)


def _as_float(rate: Fraction | None) -> float | None:
    return None if rate is None else float(rate)
