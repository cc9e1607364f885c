"""What looks wrong in a household task, as far as its text, its rule and its goals say it without a scene.

Texts are searched for names of classes, the longest first: "butter knife" names no knife. A name that several classes
share ("table") names all of them. Which word is a name is ours to say (``object_kinds``), so that a finding is a reason
to look, not a proof.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from hazardmill.household import rules
from hazardmill.household.object_kinds import KINDS, Property
from hazardmill.household.spoc_format import SpocTask, condition_json

TASK_RULES: Final[Mapping[str, str]] = {
    "object_not_in_instruction": "the instruction never names an object of the goal or of the rule",
    "object_not_in_task": "the instruction names an object that neither the goal nor the rule has",
    "other_receptacle": "the instruction puts an object elsewhere than the goal",
    "other_file_name": "the name of the file has an object that neither the goal nor the rule has",
    "impossible_state": "the goal or the rule asks for a state that no such object can have",
    "forbidden_resolution": "the goal asks for the opposite of what resolves the rule",
}
"""Rule to what it finds."""

_NEEDED: Final[Mapping[rules.Flag, tuple[Property, ...]]] = {
    "held": (Property.PICKABLE,),
    "open": (Property.OPENABLE,),
    "on": (Property.TOGGLEABLE, Property.COOKER),
    "filled": (Property.FILLABLE,),
    "dirty": (Property.DIRTYABLE,),
    "sliced": (Property.SLICEABLE,),
    "cooked": (Property.COOKABLE,),
    "broken": (Property.BREAKABLE,),
}
"""Properties without all of which a flag is never true; a cooker without a switch is on while its knob is."""

_ARTICLES: Final = frozenset({"a", "an", "the", "this", "that", "its", "your", "my", "some"})
_PUT: Final = frozenset({"put", "place", "move", "bring", "store", "set", "drop", "return"})
_INTO: Final = frozenset({"in", "into", "inside", "on", "onto", "to"})
_NAMES: Final[Mapping[tuple[str, ...], frozenset[str]]] = {
    words: frozenset(kind.name for kind in KINDS.values() if " ".join(words) in kind.words)
    for words in {tuple(name.split()) for kind in KINDS.values() for name in kind.words}
}
"""Name in words to the classes that it may mean."""
_MOST_WORDS: Final = max(map(len, _NAMES))


@dataclass(frozen=True, slots=True)
class HouseholdFinding:
    """Something that looks wrong in a task.

    Attributes:
        rule: The rule of the linter, a key of ``TASK_RULES``.
        message: What was found.
    """

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class _Mention:
    """A name in a text, with the word numbers of its beginning and its end (exclusive)."""

    kinds: frozenset[str]
    words: str
    start: int
    end: int


def lint_task(task: SpocTask, file_name: str | None = None) -> list[HouseholdFinding]:
    """Return the findings about a task, in the order of ``TASK_RULES``.

    Args:
        task: The task.
        file_name: The name of its file, as ``Hazard_Template_Class_Class_00000.json``; ``None`` if it has none.
    """
    words = re.findall(r"[a-z]+|[.,;:]", task.instruction.lower())
    mentions = list(_mentions(words))
    objects = rules.named_kinds(task.goals, task.rule)
    elsewhere = list(_other_receptacles(task, words, mentions))
    # An object of a finding about places needs no second finding about names.
    explained = {kind for kinds, _ in elsewhere for kind in kinds}
    found = [
        *(("object_not_in_instruction", each) for each in _unnamed(objects - explained, mentions)),
        *(("object_not_in_task", each) for each in _unused(objects | explained, words, mentions)),
        *(("other_receptacle", message) for _, message in elsewhere),
        *(("other_file_name", each) for each in _other_file_name(objects, file_name)),
        *(("impossible_state", each) for each in _impossible(task)),
        *(("forbidden_resolution", each) for each in _forbidden(task)),
    ]
    return [HouseholdFinding(rule, message) for rule, message in found]


def _mentions(words: list[str]) -> Iterator[_Mention]:
    place = 0
    while place < len(words):
        for length in range(min(_MOST_WORDS, len(words) - place), 0, -1):
            kinds = _kinds_of(words[place : place + length])
            if kinds:
                yield _Mention(kinds, " ".join(words[place : place + length]), place, place + length)
                place += length
                break
        else:
            place += 1


def _kinds_of(words: list[str]) -> frozenset[str]:
    *first, last = words
    singular = (last, last.removesuffix("s"), last.removesuffix("es"))
    return frozenset[str]().union(*(_NAMES.get((*first, each), frozenset()) for each in singular))


def _unnamed(objects: frozenset[str], mentions: list[_Mention]) -> Iterator[str]:
    named = frozenset[str]().union(*(mention.kinds for mention in mentions))
    for kind in sorted(objects - named):
        yield f"the instruction does not name {kind}"


def _unused(objects: frozenset[str], words: list[str], mentions: list[_Mention]) -> Iterator[str]:
    slices = any(kind.endswith("Sliced") for kind in objects)
    for mention in mentions:
        # Without an article before it, the word may be a verb: "microwave a slice".
        noun = _ARTICLES & {*words[max(0, mention.start - 3) : mention.start]}
        tool = slices and any(Property.BLADE in KINDS[kind].properties for kind in mention.kinds)
        if noun and not tool and not mention.kinds & objects:
            yield f"neither goal nor rule has the {mention.words} of the instruction"


def _other_receptacles(
    task: SpocTask, words: list[str], mentions: list[_Mention]
) -> Iterator[tuple[frozenset[str], str]]:
    """Yield the classes that a wrong place explains, and what is wrong."""
    wanted = _places(task)
    for first, second in pairwise(mentions):
        before, between = words[max(0, first.start - 4) : first.start], words[first.end : second.start]
        if not _PUT & {*before} or not _INTO & {*between} or {*between} & {".", ",", ";", ":", "and", "then"}:
            continue
        places = frozenset[str]().union(*(wanted.get(kind, frozenset()) for kind in first.kinds))
        if places and not places & second.kinds:
            names = " or ".join(sorted(places))
            message = f"the instruction puts the {first.words} in or on the {second.words}, and the goal {names}"
            yield places | second.kinds, message


def _places(task: SpocTask) -> dict[str, frozenset[str]]:
    """Return, by class, where the goals want its objects."""
    found: dict[str, frozenset[str]] = {}
    for goal in task.goals:
        for condition in goal.conditions:
            match condition:
                case rules.IsIn(kinds):
                    found[goal.kind] = found.get(goal.kind, frozenset()) | {*kinds}
                case rules.Contains(kinds):
                    for kind in kinds:
                        found[kind] = found.get(kind, frozenset()) | {goal.kind}
    return found


def _other_file_name(objects: frozenset[str], file_name: str | None) -> Iterator[str]:
    for part in (file_name or "").partition(".")[0].split("_"):
        if part in KINDS and part not in objects:
            yield f"neither goal nor rule has the {part} of the file name"


def _impossible(task: SpocTask) -> Iterator[str]:
    groups = rules.condition_groups(task.goals, task.rule)
    said = (message for kind, conditions in groups for each in conditions for message in _cannot(kind, each))
    yield from dict.fromkeys(said)


def _cannot(kind: str, condition: rules.GoalCondition) -> Iterator[str]:
    match condition:
        case rules.FlagIs(flag, True):
            yield from _lacks(kind, *_NEEDED[flag])
        case rules.FilledWith():
            yield from _lacks(kind, Property.FILLABLE)
        case rules.Contains(kinds):
            yield from _lacks(kind, Property.RECEPTACLE)
            for each in kinds:
                yield from _lacks(each, Property.PICKABLE)
        case rules.IsIn(kinds):
            yield from _lacks(kind, Property.PICKABLE)
            for each in kinds:
                yield from _lacks(each, Property.RECEPTACLE)
        case rules.CookedBy(appliance):
            yield from _lacks(kind, Property.COOKABLE)
            if Property.COOKER not in KINDS[appliance].properties:
                yield f"{appliance} cooks nothing"


def _lacks(kind: str, *needed: Property) -> Iterator[str]:
    """Say so if a class has none of the properties, of which the first is the usual one."""
    if KINDS[kind].properties.isdisjoint(needed):
        yield f"{kind} is not {'a receptacle' if needed[0] is Property.RECEPTACLE else needed[0]}"


def _forbidden(task: SpocTask) -> Iterator[str]:
    for goal in task.goals:
        if goal.kind != task.rule.kind:
            continue
        for wanted in goal.conditions:
            for resolving in task.rule.resolution:
                if _contradict(wanted, resolving):
                    key, value = condition_json(resolving)
                    yield f"{goal.kind}: the goal forbids {key} {json.dumps(value)}, which resolves the rule"


def _contradict(wanted: rules.GoalCondition, resolving: rules.Condition) -> bool:
    match wanted, resolving:
        case rules.FlagIs(flag, value), rules.FlagIs(other, contrary):
            return flag == other and value is not contrary
        case rules.NotOn(kinds), rules.IsIn(needed):
            return {*needed} <= {*kinds}
    return False
