"""Chooses the pattern that a record suggests and the names in it, or says why it suggests none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hazardmill.records import DeclineReason
from hazardmill.testing.offline_author.composing import ROOMS
from hazardmill.testing.offline_author.draws import Draws
from hazardmill.testing.offline_author.patterns import PATTERNS, Pattern

_NEAR_BEST: Final = 0.5
"""Patterns with at least this share of the best score are plausible; one of them is drawn, weighted by score."""
_NO_PART: Final = 0.08
"""Share of records that are declined because a robot has no part in them."""
_UNSEEMLY: Final = re.compile(r"\b(sexual\w*|kiss\w*|nude|naked|gun|kill\w*|shot|stab\w*|assault\w*|rape\w*)\b")


@dataclass(frozen=True)
class PatternChoice:
    """The pattern for a record, with names for its roles.

    Attributes:
        names: Role to name.
    """

    pattern: Pattern
    names: dict[str, str]

    def say(self, text: str) -> str:
        """Return a sentence of the pattern with its roles filled in."""
        return text.format_map({role: name.replace("_", " ") for role, name in self.names.items()})


@dataclass(frozen=True)
class DeclinedRecord:
    """Why a record holds no danger that a robot's task could cause."""

    reason: str
    code: DeclineReason


def choose(record: str, draws: Draws) -> PatternChoice | DeclinedRecord:
    """Choose a pattern by the record's words; if several are near the best, draw one, weighted by score.

    Args:
        record: Text of the record.
        draws: Decides.

    Returns:
        The pattern with names for its roles, or the reason why the record is declined.
    """
    if _UNSEEMLY.search(record.lower()):
        return DeclinedRecord("it describes violence or sex", DeclineReason.SEXUAL_OR_VIOLENT)
    words = words_of(record)
    scores = [(pattern, len(words & set(pattern.cues.split()))) for pattern in PATTERNS]
    best = max(score for _, score in scores)
    if not best:
        return DeclinedRecord("nothing in it speaks of anything that could do harm", DeclineReason.NOTHING_TO_BUILD_ON)
    if draws.chance("no part", _NO_PART):
        return DeclinedRecord("a robot has no part in it", DeclineReason.NO_ROBOT_PART)
    return _cast(
        draws.draw_weighted("pattern", [each for each in scores if each[1] >= _NEAR_BEST * best]), words, draws
    )


def recover(record: str, draws: Draws, danger_type: str, robot_task: str) -> PatternChoice | None:
    """Return the plan that a formalization was made from, or else one of its type; null if there is none.

    Args:
        record: Text of the record.
        draws: The draws that the formalization was made with.
        danger_type: Type of the formalization's danger.
        robot_task: The formalization's task.
    """
    chosen = choose(record, draws)
    if isinstance(chosen, PatternChoice) and chosen.pattern.type.value == danger_type:
        return chosen
    words = words_of(f"{record} {robot_task}")
    ours = [pattern for pattern in PATTERNS if pattern.type.value == danger_type]
    return _cast(draws.pick("pattern of the type", ours), words, draws) if ours else None


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text, with possible singulars."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return frozenset(words | {word[:-1] for word in words if word.endswith("s")})


def _cast(pattern: Pattern, words: frozenset[str], draws: Draws) -> PatternChoice:
    draws = draws.under("cast", pattern.name)

    def pick_name(role: str, options: Sequence[str]) -> str:
        return draws.pick(role, [name for name in options if name in words] or options)

    here, *others = [room for room in ROOMS if room in words] + draws.some("rooms", ROOMS, len(ROOMS))
    there = next(room for room in others if room != here)
    names = {
        "who": pick_name("who", pattern.who),
        "item": pick_name("item", pattern.item),
        "here": here,
        "there": there,
    }
    return PatternChoice(pattern, names)
