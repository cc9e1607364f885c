"""Why each edit of a repaired plan is there: what goes wrong without it.

An edit is undone alone, the rest of the repaired plan is executed from there, and the first failure is the cause: a
step that names nothing or is not possible, a danger that fires, a goal that is missed. Where the change is a cheapest
one, something fails without each of its edits.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from hazardmill.formalism.document.expressions import render
from hazardmill.formalism.repair.edit_search import Move, Steps
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.explain import evaluate, ground_nnf, support, supporting_literals, unmet_literals
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import GroundAction

AS_A_WHOLE: Final = "needed for the plan as a whole"
"""The reason given where no single cause is found."""
NOT_LOOKED_FOR: Final = "the time was over before the reason was found"
"""The reason given for an edit once the time is over."""
_State: TypeAlias = tuple[int, Numbers]


class Causes:
    """The causes of the edits of one script, all of whose actions are applicable in turn.

    Args:
        judge: A validator of the task's plans.
        script: The moves from the given steps to the repaired plan.
        steps: The given steps.
        given: The given steps as text.
        most: Most danger at the end; None if danger does not matter.
        time_is_over: Says when to stop looking for causes: in a plan of thousands of steps each takes long.

    Attributes:
        script: The moves, keeps among them.
    """

    def __init__(
        self,
        judge: PlanValidator,
        script: Sequence[Move],
        steps: Steps,
        given: Sequence[str],
        most: int | None,
        time_is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._judge = judge
        self._system = judge.system
        self._steps = steps
        self._given = given
        self._most = most
        self._time_is_over = time_is_over
        self.script = list(script)
        self._states: list[_State] = []
        self._acting: list[int] = []
        self._danger = 0
        self._execute()

    def drop_needless_moves(self) -> None:
        """Undo edits without which nothing goes wrong, until there are none left or the time is over."""
        undone = True
        while undone:
            undone = False
            for number, move in reversed(list(enumerate(self.script))):
                if move.kind != "keep" and self.cause_of(number) is None:
                    kept = [] if move.kind == "insert" else [Move("keep", move.place, self._steps[move.place])]
                    self.script[number : number + 1] = kept
                    self._execute()
                    undone = True

    def cause_of(self, number: int) -> str | None:
        """Return the cause of the edit that is this move of the script; None if nothing fails without it."""
        if self._time_is_over():
            return NOT_LOOKED_FOR
        move, state = self.script[number], self._states[number]
        if move.kind == "insert":
            return self._consequence_without(number, "it")
        step = self._steps[move.place]
        after = None if step is None else step.step(*state)
        if step is None or after is None:
            cause: str | None = self._why_it_cannot_stay(move, step, state)
        else:
            later = self._later_consequence(number, after, "if it stays,", step)
            cause = None if later is None else self._consequence_of_gain(number, state, step)
            if cause is None:
                return later
        if move.action is None:
            return cause
        # Why the step goes is half of the reason; the other half is what the new one is for.
        return f"{cause}; {self._consequence_without(number, move.action.text) or 'to delete it would do as well'}"

    def _why_it_cannot_stay(self, move: Move, step: GroundAction | None, state: _State) -> str:
        if step is not None:
            return f"it is not possible there{self._why_not(step, state)}"
        (only,) = self._judge.verdict(self._given[move.place]).trace
        return f"it cannot be grounded, as {'; '.join(only.unmet)}"

    def _consequence_without(self, number: int, name: str) -> str | None:
        """Return what fails if the edit's action is left out; None if nothing does."""
        state = self._states[number]
        later = self._later_consequence(number, state, f"without {name}")
        return None if later is None else self._consequence_of_gain(number, state, None) or later

    def _execute(self) -> None:
        """Record the state before each move, one more at the end, and the danger of the whole plan."""
        state = (self._system.initial.bits, self._system.initial.numbers)
        self._danger = self._system.document.initial_danger
        self._states = [state]
        self._acting = [number for number, move in enumerate(self.script) if move.action is not None]
        for move in self.script:
            if move.action is not None:
                self._danger += move.action.danger(*state)
                state = _state_after(move.action, state)
            self._states.append(state)

    def _consequence_of_gain(self, number: int, state: _State, step: GroundAction | None) -> str | None:
        """Return that the step itself is too dangerous, or that the action in its place takes danger away, if so."""
        action = self.script[number].action
        old = 0 if step is None else step.danger(*state)
        new = 0 if action is None else action.danger(*state)
        if self._most is None or self._danger - new + old <= self._most:
            return None
        if step is not None and old > 0:
            return f"it adds {old} danger there: {self._fired_literals(step, state, 1)}"
        if action is not None and new < 0:
            return f"{action.text} takes {-new} danger away: {self._fired_literals(action, state, -1)}"
        return None

    def _later_consequence(
        self, number: int, state: _State, otherwise: str, step: GroundAction | None = None
    ) -> str | None:
        """Return what fails if the edit is undone; None if nothing does.

        Args:
            number: The move.
            state: The state after it if it is undone.
            otherwise: The beginning of the sentence, which says that it is undone.
            step: The step that is executed then.
        """
        action = self.script[number].action
        danger = self._danger - (0 if action is None else action.danger(*self._states[number]))
        danger += 0 if step is None else step.danger(*self._states[number])
        worse: str | None = None
        for place in self._acting[bisect(self._acting, number) :]:
            ours, action = self._states[place], self.script[place].action
            if state == ours:
                break
            assert action is not None, "deletions do not act"
            after = action.step(*state)
            if after is None:
                return f"{otherwise} {action.text} is not possible{self._why_not(action, state)}"
            more = action.danger(*state) - action.danger(*ours)
            danger += more
            if more > 0 and worse is None:
                worse = f"{otherwise} {action.text} adds {more} more danger{self._difference(action, state, ours)}"
            state = after
        else:
            if not self._system.goal.holds(*state):
                goal = ground_nnf(self._system, self._system.document.goal, {})
                return f"{otherwise} the goal lacks {'; '.join(unmet_literals(self._system, goal, *state))}"
        if self._most is None or danger <= self._most:
            return None
        return worse or AS_A_WHOLE

    def _why_not(self, action: GroundAction, state: _State) -> str:
        if action.pre.holds(*state):
            return ", because its effects conflict or leave the bounds of a fluent"
        precondition = ground_nnf(self._system, action.decl.precondition, action.binding)
        return f" for want of {'; '.join(unmet_literals(self._system, precondition, *state))}"

    def _fired_literals(self, action: GroundAction, state: _State, sign: int) -> str:
        """Return the literals that make entries of one sign fire."""
        conditions = (
            ground_nnf(self._system, entry.condition, action.binding)
            for entry in action.firing(*state)
            if entry.increment * sign > 0
        )
        found = (literal for condition in conditions for literal in support(self._system, condition, *state))
        return "; ".join(dict.fromkeys(found)) or "always"

    def _difference(self, action: GroundAction, state: _State, ours: _State) -> str:
        """Return the literals by which an action is more dangerous in one state than in ours: those that differ."""
        here, there = action.firing(*state), action.firing(*ours)
        fired: list[str] = []
        lost: list[str] = []
        for entry in self._system.dangers_of(action.name):
            condition = ground_nnf(self._system, entry.condition, action.binding)
            if entry.increment > 0 and entry in here and entry not in there:
                literals = supporting_literals(self._system, condition, *state)
                fired += (render(literal) for literal in literals if not evaluate(self._system, literal, *ours))
            elif entry.increment < 0 and entry in there and entry not in here:
                lost += unmet_literals(self._system, condition, *state)
        return _list(": ", fired) + _list(", for want of ", lost)


def _list(introduction: str, literals: list[str]) -> str:
    return introduction + "; ".join(dict.fromkeys(literals)) if literals else ""


def _state_after(action: GroundAction, state: _State) -> _State:
    after = action.step(*state)
    assert after is not None, "a repaired plan is executable"
    return after
