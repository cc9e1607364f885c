"""The small parts of VirtualHome's syntax: things with an instance number, and action lines."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hazardmill.ingest.sources import InputRefusal

CHARACTER: Final = "character"
"""The name of the acting person; its instance may be any number."""
MAX_ARGUMENTS: Final = 2
VERBS: Final = (
    "Break Brush Call Climb Close Cover Crawl Cut Dance Dial Drink Drop Eat Enter Find Flush Fold Grab Greet Jump "
    "Laugh Leave Lie LookAt Open Play PlugIn PlugOut PointAt Pour Pull Push PutBack PutObjBack PutOff PutOn Read "
    "Rinse Run Scrub Sew Shake Shave Sing Sit Sleep Soak Speak Spit Spread Squeeze StandUp Stir Stretch Sweep "
    "SwitchOff SwitchOn Talk Text Throw Touch TurnTo Type Uncover Unfold Unwrap Vacuum Wait WakeUp Walk Wash "
    "Watch Wipe Wrap Write PutIn"
).split()
"""The verbs of the 2,807 published programs; the last one was added by the later release."""
_CAMEL: Final = {verb.lower(): verb for verb in VERBS}

# Names are lower_snake_case, with a few hyphens; older files have upper case and blanks.
_NAME = re.compile(r"\w[\w '.-]*")
# Executable programs write 1.417: instance 1 of the program is node 417 of the simulated flat.
_INSTANCE = re.compile(r"([0-9]{1,9})(?:\.[0-9]{1,9})?")
_ARGUMENT = re.compile(r"\s*<([^<>]*)>\s*\(([^()]*)\)")
_ACTION = re.compile(r"\[\s*([A-Za-z]+)\s*\]((?:\s*<[^<>]*>\s*\([^()]*\))*)")
_WRITE = "write [Verb], [Verb] <object> (1) or [Verb] <object> (1) <other> (1)"


class VirtualHomeError(Exception):
    """A half of a pair is refused; says why. Never leaves this source."""

    def __init__(self, reason: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.refusal = InputRefusal(reason, message, remedy)


class Thing(NamedTuple):
    """One object, room or person: ``Thing("coffee pot", 1)``."""

    name: str
    instance: int


class Action(NamedTuple):
    """One step: its verb in CamelCase, and zero to two things that it acts on."""

    verb: str
    things: tuple[Thing, ...]


def thing(name: str, instance: str) -> Thing | None:
    """Return a thing from its name and instance as written in any variant; None if they do not have that form."""
    plain = " ".join(name.replace("_", " ").split()).lower()
    number = _INSTANCE.fullmatch(instance.strip())
    return Thing(plain, int(number[1])) if number and _NAME.fullmatch(plain) else None


def action(line: str, number: int) -> Action:
    """Parse an action line, which is line ``number`` of its file.

    Raises:
        VirtualHomeError: It does not follow the grammar, or has more than two arguments.
    """
    match = _ACTION.fullmatch(line.strip())
    things = [thing(*argument) for argument in _ARGUMENT.findall(match[2])] if match else [None]
    known = tuple(one for one in things if one is not None)
    if match is None or len(known) < len(things):
        raise VirtualHomeError("action", f"line {number}: {quoted(line)} is not an action", _WRITE)
    if len(known) > MAX_ARGUMENTS:
        message = f"line {number}: {quoted(line)} has {len(known)} arguments, more than {MAX_ARGUMENTS}"
        raise VirtualHomeError("arguments", message, _WRITE)
    return Action(_CAMEL.get(match[1].lower(), match[1]), known)


def is_action(line: str) -> bool:
    """Whether a line has the outer form of an action: it may still have impossible arguments."""
    return _ACTION.fullmatch(line.strip()) is not None


def quoted(text: str) -> str:
    """Return a piece of a file, shortened for a message."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
