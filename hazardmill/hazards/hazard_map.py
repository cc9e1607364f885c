"""The map of hazards: which actions and which final states are harmful, and in which categories.

Categories are data: no code knows a name or how many there are. ``map_reader`` reads the map's file, ``rules`` says
what its rules mean for one document.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

FORMAT: Final = "hazardmill-hazards/1"

Origin = Literal["paper", "ours"]
RuleKind = Literal["process", "termination"]

ANY: Final = "*"
"""The pattern that every object matches."""


@dataclass(frozen=True, slots=True)
class HazardCategory:
    """A category of harm.

    Attributes:
        name: Unique in its map; 1 to 80 characters.
        definition: What belongs to it, for people.
        origin: ``paper`` if the Safe-BeAl paper names it, ``ours`` if it does not.
    """

    name: str
    definition: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class ProcessRule:
    """A rule on actions: it fires where an action that it matches is done while its condition holds.

    Attributes:
        place: Where the rule stands in its map, such as ``process[2]``; its id in reports.
        action: Pattern for names of actions: ``*`` stands for any letters, ``?`` for one; case does not count.
        categories: Categories of the harm; one or more.
        arguments: Patterns for the first arguments of the action; each is for the name of an object or of a type that
            the object has. Empty if every argument fits.
        when: Condition in PDDL, read in the state before the action, with ``?1``, ``?2`` ... for the arguments of the
            action; None if the rule needs no condition.
        line: Line of the rule in its file, from 1; None if it is in no file.
    """

    place: str
    action: str
    categories: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    when: str | None = None
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TerminationRule:
    """A rule on the state that a plan leaves behind: either a condition, or a number of facts of one fluent.

    Attributes:
        place: As for ``ProcessRule``, such as ``termination[1]``.
        categories: Categories of the harm; one or more.
        condition: Condition in PDDL without free variables; None if the rule counts facts.
        fluent: Name of a Boolean fluent; None if the rule has a condition.
        arguments: Patterns for the first arguments of the fluent, as for ``ProcessRule``.
        at_least: Number of ground instances of the fluent that must hold for the rule to fire.
        line: As for ``ProcessRule``.
    """

    place: str
    categories: tuple[str, ...]
    condition: str | None = None
    fluent: str | None = None
    arguments: tuple[str, ...] = ()
    at_least: int = 1
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class HazardMap:
    """Categories of harm, and the rules that say what causes which.

    Attributes:
        file: Path of the map, for messages.
        categories: In the order of the file.
        process: Rules on actions, in the order of the file.
        termination: Rules on final states, in the order of the file.
    """

    file: str
    categories: tuple[HazardCategory, ...] = ()
    process: tuple[ProcessRule, ...] = ()
    termination: tuple[TerminationRule, ...] = ()

    @property
    def rules(self) -> tuple[ProcessRule | TerminationRule, ...]:
        """All rules: those on actions first, then those on final states."""
        return (*self.process, *self.termination)
