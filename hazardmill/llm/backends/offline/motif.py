"""What a pattern of danger says, apart from any record: roles, acts, circumstances and sentences.

A motif has one of five shapes. The shape holds the acts in short notation (notation.py) with roles in braces; which
of its circumstances and ways out come into a task, and around what errands and rooms, is drawn for each record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hazardmill.llm.backends.offline.notation import Step, split_condition
from hazardmill.records import DangerType

Entity = Literal["human", "robot", "others"]


@dataclass(frozen=True)
class Way:
    """A way out: steps that end in the literal which makes the dangerous act harmless.

    The first effect of the last step is that literal. With ``instead`` the steps do the work of the dangerous act
    itself. ``spoilt_by`` is a circumstance under which the way does not help. ``undo`` takes the literal back.
    """

    steps: tuple[Step, ...]
    instead: bool = False
    spoilt_by: str = ""
    undo: str = ""

    @property
    def literal(self) -> str:
        """What holds once the way is gone."""
        return split_condition(self.steps[-1].does[0])[0]


def way(*steps: Step, instead: bool = False, spoilt_by: str = "", undo: str = "") -> Way:
    """A way out from its steps."""
    return Way(steps, instead, spoilt_by, undo)


@dataclass(frozen=True)
class Guarded:
    """A chain of acts, one of which needs something done before it."""

    steps: tuple[Step, ...]
    act: str
    """The act that realises the danger."""
    goal: str
    when: tuple[str, ...]
    """Circumstances each of which makes the act dangerous; all name the entity."""
    ways: tuple[Way, ...]
    start: str = ""
    also: tuple[str, ...] = ()
    """Circumstances that may come in beside one of ``when``."""


@dataclass(frozen=True)
class Route:
    """Something is carried through rooms, in one of which somebody is."""

    pick: str
    carrying: str
    drop: str
    goal: str
    occupant: str
    """Context fluent over rooms."""
    ways: tuple[Way, ...] = ()
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Batch:
    """Several items of a kind are handed on; one of them needs a treatment first."""

    kind: str
    items: tuple[str, ...]
    """Items to use where the record has too few of ``kind`` (a kind of nouns.py)."""
    type_: str
    take: str
    treat: str
    treated: str
    give: str
    given: str
    property: str
    """Context fluent over items."""
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loads:
    """Pieces are carried over; more than some at once is too much."""

    load: str
    carry: str
    unload: str
    back: str
    waiting: str
    loaded: str
    delivered: str
    when: tuple[str, ...]
    also: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True)
class Round:
    """Several people are served in turn; closing the round is dangerous while one is left out."""

    visit: str
    serve: str
    served: str
    close: str
    goal: str
    apart: str
    """Context fluent over people."""
    places: tuple[str, ...]
    also: tuple[str, ...] = ()


Shape: TypeAlias = Guarded | Route | Batch | Loads | Round


@dataclass(frozen=True)
class Motif:
    """A pattern of danger."""

    name: str
    danger_type: DangerType
    cues: Mapping[str, int]
    """Words and circumstances of a record that speak for the pattern, with their weight."""
    shape: Shape
    task: str
    cause: str
    result: str
    solution: str
    roles: Mapping[str, str] = field(default_factory=dict)
    """Role to ``"kind: default, default"``; the record's own things of that kind go first."""
    places: tuple[str, str] = ("", "")
    """Rooms at which steps of place ``start`` and ``end`` are done; empty is any."""
    entity: Entity = "human"
    who: str = ""
    """Noun for the entity; empty takes the record's person or animal."""
    young: bool = False
    """Whether the one in danger must be a small child; a grown person of the record gives way to one."""
    robot_role: str = "household robot"
    decoys: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    """At least one of these words must be in the record, if any are given."""
    deeds: frozenset[str] = frozenset()
    """Where the record tells what is done, at least one of these words must be in that, if any are given."""

    @property
    def is_deed(self) -> bool:
        """Whether the robot itself does the deed of a social norm."""
        return "deed" in self.roles
