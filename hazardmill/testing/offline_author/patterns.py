"""The patterns of danger, two a type, and errands to go with them: data, from ``patterns.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import yaml
from pydantic import Field

from hazardmill.records import DangerType, FrozenModel


class Pattern(FrozenModel):
    """A danger apart from any record. Texts have roles in braces: ``who``, ``item``, ``here`` and ``there``."""

    name: str
    type: DangerType
    entity: Literal["human", "robot", "others"] = "human"
    cues: str
    """Words of a record that speak for it."""
    who: tuple[str, ...] = ("resident", "visitor", "grandmother")
    item: tuple[str, ...]
    """What may play the item; one that the record names goes first."""
    task: str
    start: str = ""
    acts: tuple[str, ...]
    act: str
    goal: str
    when: tuple[str, ...]
    also: tuple[str, ...] = ()
    ways: tuple[tuple[str, ...], ...]
    """Each the acts of a way out; the first effect of the last makes the dangerous act harmless."""
    half: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    cause: str
    result: str
    solution: str


class Errand(FrozenModel):
    """Something more to do."""

    acts: tuple[str, ...]
    goal: tuple[str, ...]
    start: tuple[str, ...] = ()
    types: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    typed: dict[str, str] = Field(default_factory=dict)


_DATA: Final = yaml.safe_load((Path(__file__).parent / "patterns.yaml").read_text(encoding="utf-8"))
PATTERNS: Final = tuple(Pattern.model_validate(each) for each in _DATA["patterns"])
ERRANDS: Final = tuple(Errand.model_validate(each) for each in _DATA["errands"])
