"""Programs of VirtualHome into plan strings, and back.

``[GRAB] <cup> (1)`` is the action ``(GRAB cup_1)``, and ``[GRAB] <cup> (1.1000)``, of which 1 is the instance in the
program and 1000 the node in the scene, is ``(GRAB cup_1-1000)``: names of plans have neither dots nor parentheses.
Verbs and names keep their case, so that both ways give the same lines, without white space around them. The reader of
the source ``virtualhome`` makes records of programs instead, and levels out these variants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from hazardmill.errors import PlanningInputError
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.formalism.document.validation import NAME

Reason = Literal["no_action", "blank_in_name", "no_name", "no_instance", "no_verb"]
"""Why a step cannot be said: its line is no action; a name has blanks, or no form that plans have; an argument has no
instance number; the action has a name that no verb has."""

_LINE: Final = re.compile(r"\[([A-Za-z]+)\]((?: <[^<>]*> \([^()]*\))*)")
_ARGUMENT: Final = re.compile(r" <([^<>]*)> \(([^()]*)\)")
_INSTANCE: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_OBJECT: Final = re.compile(r"(.+)_([0-9]+)(?:-([0-9]+))?")
_VERB: Final = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class UnsaidStep:
    """A step that the other form cannot say.

    Attributes:
        place: Line of the program, or place of the action in the plan, from 1.
        text: The step as written.
        reason: Why.
    """

    place: int
    text: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """A program as a plan string.

    Attributes:
        plan: The plan, without the steps that it cannot say.
        unsaid: Those steps.
    """

    plan: str
    unsaid: tuple[UnsaidStep, ...]


@dataclass(frozen=True, slots=True)
class ProgramLines:
    """A plan as lines of a program.

    Attributes:
        lines: One line per action, without those that a program cannot say.
        unsaid: Those actions.
    """

    lines: tuple[str, ...]
    unsaid: tuple[UnsaidStep, ...]


class _Unsayable(Exception):
    """A step that cannot be said; its argument is the reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


def read_program(text: str, file: str | None = None) -> ProgramPlan:
    """Return a program as a plan string.

    Args:
        text: The program; lines before its first action are title and description, and are left out.
        file: Where it is from, for the error.

    Returns:
        The plan, and the lines that it cannot say.

    Raises:
        PlanningInputError: No line is an action.
    """
    actions: list[str] = []
    unsaid: list[UnsaidStep] = []
    began = False
    for number, line in enumerate(text.splitlines(), 1):
        step = line.strip()
        began = began or _LINE.fullmatch(step) is not None
        if not began or not step:
            continue
        try:
            actions.append(_action(step))
        except _Unsayable as error:
            unsaid.append(UnsaidStep(number, step, error.reason))
    if not began:
        raise PlanningInputError(
            "no line is an action", file=file, remedy="give a program with lines such as [GRAB] <cup> (1)"
        )
    return ProgramPlan(" ".join(actions), tuple(unsaid))


def write_program(plan: str) -> ProgramLines:
    """Return a plan string as lines of a program; a text without an action gives none."""
    lines: list[str] = []
    unsaid: list[UnsaidStep] = []
    for place, (verb, *names) in enumerate(parse_plan(plan), 1):
        try:
            lines.append(_line(verb, names))
        except _Unsayable as error:
            unsaid.append(UnsaidStep(place, f"({' '.join((verb, *names))})", error.reason))
    return ProgramLines(tuple(lines), tuple(unsaid))


def _action(step: str) -> str:
    match = _LINE.fullmatch(step)
    if match is None:
        raise _Unsayable("no_action")
    tokens = [match[1]]
    for name, instance in _ARGUMENT.findall(match[2]):
        numbers = _INSTANCE.fullmatch(instance)
        if numbers is None:
            raise _Unsayable("no_instance")
        token = f"{name}_{numbers[1]}" + (f"-{numbers[2]}" if numbers[2] else "")
        if NAME.match(token) is None:
            raise _Unsayable("blank_in_name" if " " in name else "no_name")
        tokens.append(token)
    return f"({' '.join(tokens)})"


def _line(verb: str, names: list[str]) -> str:
    if _VERB.fullmatch(verb) is None:
        raise _Unsayable("no_verb")
    parts = [f"[{verb}]"]
    for name in names:
        match = _OBJECT.fullmatch(name)
        if match is None:
            raise _Unsayable("no_instance")
        parts.append(f"<{match[1]}> ({match[2]}{f'.{match[3]}' if match[3] else ''})")
    return " ".join(parts)
