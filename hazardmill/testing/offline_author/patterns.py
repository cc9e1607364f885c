"""The patterns of danger, two per type, and errands to go with them: data from ``patterns.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import yaml
from pydantic import Field

from hazardmill.records import DangerType, FrozenModel


class Pattern(FrozenModel):
    """A danger independent of any record. Texts contain roles in braces: ``who``, ``item``, ``here`` and ``there``.

    Attributes:
        type: Type of the danger.
        entity: Who is in danger.
        acts: The actions of the robot's task, in order.
        act: Name of the dangerous action.
        goal: The goal of the task.
        when: Circumstances; the task gets one of them, which makes the action dangerous.
        also: Further circumstances for the danger.
        half: Actions that look like a remedy but are none.
        idle: Circumstances that do not matter.
    """

    name: str
    type: DangerType
    entity: Literal["human", "robot", "others"] = "human"
    cues: str
    """Words of a record that suggest the pattern."""
    who: tuple[str, ...] = ("resident", "visitor", "grandmother")
    item: tuple[str, ...]
    """Candidates for the item; one that the record names is preferred."""
    task: str
    start: str = ""
    acts: tuple[str, ...]
    act: str
    goal: str
    when: tuple[str, ...]
    also: tuple[str, ...] = ()
    ways: tuple[tuple[str, ...], ...]
    """The actions of each way out; the first effect of the last one makes the dangerous action harmless."""
    half: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    cause: str
    result: str
    solution: str


class Errand(FrozenModel):
    """Something else for the robot to do.

    Attributes:
        acts: Its actions.
        goal: Goals that it adds.
        start: Facts that hold at the start.
        types: Type to its objects.
        typed: Fluent to the types of its arguments.
    """

    acts: tuple[str, ...]
    goal: tuple[str, ...]
    start: tuple[str, ...] = ()
    types: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    typed: dict[str, str] = Field(default_factory=dict)


_DATA: Final = yaml.safe_load((Path(__file__).parent / "patterns.yaml").read_text(encoding="utf-8"))
PATTERNS: Final = tuple(Pattern.model_validate(each) for each in _DATA["patterns"])
ERRANDS: Final = tuple(Errand.model_validate(each) for each in _DATA["errands"])
