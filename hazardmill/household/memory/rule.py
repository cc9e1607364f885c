"""What a document must remember to judge a rule: for each watched object, whether it is tracked and since when.

Every action updates this memory from the state before it, as a monitor does that is shown this state (``monitors``, in
the ``paper`` reading). Only objects that can meet the trigger are watched. Once the rule was violated, the memory is
not kept any more: a violation is for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hazardmill.formalism.document.document import Effect, FluentDecl, Parameter
from hazardmill.formalism.document.expressions import Expr, all_of, any_of, negate, none_of
from hazardmill.household.actions import fact
from hazardmill.household.memory.conditions import ConditionWriter
from hazardmill.household.rules import Rule, StepRule

LAPSED: Final = "lapsed"
"""The fluent that the rule was violated."""
TRIGGERED: Final = "triggered"
"""The fluent that the rule was triggered."""
PENDING: Final = "pending"
"""The fluent that an object is tracked, or the number of states for which it is; with a number, which of them it is."""

MOST_FLAGS: Final = 8
"""Most steps of a rule that are counted with a Boolean each, which search handles faster than an integer."""


@dataclass(frozen=True, slots=True)
class RuleMemory:
    """A rule in a document.

    All conditions are read in one state, before that state is remembered, as the effects of an action are.

    Attributes:
        fluents: What is remembered.
        effects: How every action updates it.
        lapsed: The rule was violated in an earlier state.
        breaks: The rule is violated in this state, if it was not before.
        open: An object is tracked, as remembered.
        stays_open: An object is tracked once this state has been looked at.
        triggered: The rule was triggered, as remembered; true where nobody asks.
        was_triggered: The rule was triggered once this state has been looked at; true where nobody asks.
    """

    fluents: tuple[FluentDecl, ...] = ()
    effects: tuple[Effect, ...] = ()
    lapsed: Expr = False
    breaks: Expr = False
    open: Expr = False
    stays_open: Expr = False
    triggered: Expr = True
    was_triggered: Expr = True


@dataclass(frozen=True, slots=True)
class _Watched:
    """One object that a rule can track.

    Attributes:
        name: Its name in documents.
        starts: It meets the trigger.
        ends: It meets the resolution.
        avoided: It meets a condition that a state rule avoids.
    """

    name: str
    starts: Expr
    ends: Expr
    avoided: Expr = False

    @property
    def begins(self) -> Expr:
        """The condition that it is tracked from this state on, and not resolved in the same state."""
        return all_of([self.starts, none_of([self.ends])])


def remember_rule(rule: Rule, writer: ConditionWriter, ask_whether_triggered: bool) -> RuleMemory:
    """Return what a document must remember of a rule.

    Args:
        rule: The rule.
        writer: Writes conditions of the document.
        ask_whether_triggered: Whether it matters that the rule was triggered at all.
    """
    watched = [thing for thing in _watched(rule, writer) if thing.starts is not False]
    steps = rule.steps if isinstance(rule, StepRule) else 0
    breaks = any_of(_breaks(thing, steps) for thing in watched)
    lapsed: Expr = False if breaks is False else fact(LAPSED)
    effects = [effect for thing in watched for effect in _track(thing, steps, lapsed)]
    if breaks is not False:
        effects.append(_make(breaks, LAPSED))
    starts = any_of(thing.starts for thing in watched)
    triggered: Expr = True
    if ask_whether_triggered:
        triggered = False if starts is False else fact(TRIGGERED)
        effects += [] if starts is False else [_make(starts, TRIGGERED)]
    written = {effect.target[1]: effect for effect in effects}
    return RuleMemory(
        fluents=tuple(_fluent(effect, steps) for effect in written.values()),
        effects=tuple(effects),
        lapsed=lapsed,
        breaks=breaks,
        open=any_of(_is_tracked(thing, steps) for thing in watched),
        stays_open=any_of(
            all_of([any_of([_is_tracked(thing, steps), thing.starts]), none_of([thing.ends])]) for thing in watched
        ),
        triggered=triggered,
        was_triggered=any_of([triggered, starts]),
    )


def _watched(rule: Rule, writer: ConditionWriter) -> Iterator[_Watched]:
    for thing in writer.things(rule.kind):
        starts = writer.meets_all(rule.trigger, thing)
        ends = writer.meets_all(rule.resolution, thing)
        avoided = False if isinstance(rule, StepRule) else writer.meets_any(rule.avoid, thing)
        yield _Watched(thing.symbol, starts, ends, avoided)


def _flags(thing: _Watched, steps: int) -> list[Expr]:
    """Return the fluents of which one holds while the object is tracked: it is in its first state, its second, ..."""
    return [fact(f"{PENDING}_{number}", thing.name) for number in range(1, steps + 1)]


def _is_tracked(thing: _Watched, steps: int) -> Expr:
    if thing.begins is False:
        return False
    if not steps:
        return fact(PENDING, thing.name)
    return any_of(_flags(thing, steps)) if steps <= MOST_FLAGS else (">", fact(PENDING, thing.name), 0)


def _breaks(thing: _Watched, steps: int) -> Expr:
    """Return the condition that the rule is violated of an object in this state."""
    if not steps:
        return all_of([any_of([_is_tracked(thing, steps), thing.starts]), thing.avoided])
    if thing.begins is False:
        return False
    # An object that is tracked from state i on and is not resolved in state i + steps has been tracked in `steps`
    # states before.
    last = _flags(thing, steps)[-1] if steps <= MOST_FLAGS else ("=", fact(PENDING, thing.name), steps)
    return all_of([last, none_of([thing.ends])])


def _track(thing: _Watched, steps: int, lapsed: Expr) -> Iterator[Effect]:
    if thing.begins is False:
        # It is always resolved in the state in which it is triggered.
        return
    lasts = [none_of([thing.ends]), negate(lapsed)]
    if not steps:
        yield _make(all_of([thing.begins, negate(lapsed)]), PENDING, thing.name)
        if thing.ends is not False:
            yield Effect("assign", fact(PENDING, thing.name), False, thing.ends)
        return
    if steps > MOST_FLAGS:
        count = fact(PENDING, thing.name)
        goes_on = all_of([any_of([(">", count, 0), thing.starts]), *lasts, ("<", count, steps)])
        yield Effect("increase", count, 1, goes_on)
        if thing.ends is not False:
            yield Effect("assign", count, 0, thing.ends)
        return
    flags = _flags(thing, steps)
    # In its last state it is resolved, or the rule is violated: whether it is tracked anew then does not matter.
    begins = all_of([thing.begins, negate(lapsed), none_of(flags[:-1])])
    conditions = [begins, *(all_of([flag, *lasts]) for flag in flags[:-1])]
    for flag, condition in zip(flags, conditions, strict=True):
        # True wins over false.
        yield Effect("assign", flag, False)
        yield Effect("assign", flag, True, condition)


def _make(condition: Expr, *atom: str) -> Effect:
    return Effect("assign", fact(*atom), True, condition)


def _fluent(effect: Effect, steps: int) -> FluentDecl:
    _, name, *args = effect.target
    parameters = tuple(Parameter("?a", "object") for _ in args)
    counts = name == PENDING and steps > MOST_FLAGS
    return FluentDecl(name, parameters, integer=True, lower=0, upper=steps) if counts else FluentDecl(name, parameters)
