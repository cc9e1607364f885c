"""Read steps in the lines of an answer: ``(a x)``, ``a(x)``, ``a x``, numbered, joined by arrows, followed by remarks.

Lines are interpreted with the names that the planner was shown. An unknown name is still a step where its form says so:
an invented action must make the plan fail, not vanish from it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from hazardmill.formalism.document.document import Document

Tokens: TypeAlias = tuple[str, ...]
"""One step: the name of its action and its arguments, as spelled."""

MOST_TOKENS: Final = 16
"""A step without parentheses that has more words than this is a sentence."""

_MOST_ARGUMENTS: Final = 200

_REMEMBERED: Final = 1000
"""The most lines of a task that are remembered, none longer than this many characters."""


@dataclass(frozen=True)
class Names:
    """The names that a planner was shown, in lower case because PDDL ignores case.

    Attributes:
        actions: Action to the numbers of parameters that it may have.
        objects: Names of objects.
        fluents: Names of fluents.
        lines: What lines said that were read with these names: answers to one task have many lines in common.
    """

    actions: Mapping[str, frozenset[int]]
    objects: frozenset[str]
    fluents: frozenset[str]
    lines: dict[tuple[str, bool], TextLine] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, document: Document) -> Names:
        """Return the names of a task."""
        actions: defaultdict[str, set[int]] = defaultdict(set)
        for action in document.actions:
            actions[action.name.lower()].add(len(action.parameters))
        return cls(
            {name: frozenset(numbers) for name, numbers in actions.items()},
            frozenset(thing.name.lower() for thing in document.objects),
            frozenset(fluent.name.lower() for fluent in document.fluents),
        )

    def has_action(self, step: Tokens) -> bool:
        """Return whether the step's action was shown."""
        return step[0].lower() in self.actions

    def fits(self, step: Tokens) -> bool:
        """Return whether words without parentheses are a step.

        They are if they start with a shown action, and it gets its number of arguments, or shown objects only.
        """
        numbers = self.actions.get(step[0].lower())
        return numbers is not None and (
            len(step) - 1 in numbers or (len(step) > 1 and all(arg.lower() in self.objects for arg in step[1:]))
        )

    def states_a_fact(self, step: Tokens) -> bool:
        """Return whether the words are an atom of the state rather than a step."""
        return step[0].lower() in self.fluents and not self.has_action(step)

    def is_likely(self, step: Tokens) -> bool:
        """Return whether parentheses outside a code block are a step rather than an aside."""
        if self.has_action(step):
            return True
        named = any(sign in step[0][1:-1] for sign in "_-")
        return not self.states_a_fact(step) and (named or any(arg.lower() in self.objects for arg in step[1:]))


class TextLine(NamedTuple):
    """What one line of an answer says.

    Attributes:
        steps: Steps that the line consists of, apart from remarks.
        in_parentheses: Whether ``steps`` are written in parentheses.
        mentions: Actions of the task that are mentioned within prose.
        words: The words of a short plain line, which may be a step with an unknown name.
        number: The number that the line starts with.
        listed: Whether the line starts with a number or a bullet.
        heading: ``plan`` where a plan begins, ``aside`` where anything else begins, None where the line is no heading.
    """

    steps: tuple[Tokens, ...] = ()
    in_parentheses: bool = False
    mentions: tuple[Tokens, ...] = ()
    words: Tokens = ()
    number: int | None = None
    listed: bool = False
    heading: str | None = None

    def is_likely(self, names: Names) -> bool:
        """Return whether the line's steps are likely to be meant as steps, outside any code block."""
        if not self.in_parentheses:
            return True
        short = all(len(step) <= 3 and not names.states_a_fact(step) for step in self.steps)
        return short or any(map(names.is_likely, self.steps))


_MARK: Final = re.compile(
    r"""\s*+(?:
        [>*+\u2022\u00b7\u2013\u2014-]\s+                                           # a bullet, a quotation
      | -(?=\()
      | \|                                                                # a cell
      | (?:(?:step|action|no\.?)\s*+)?[\#(\[]?(?P<number>\d{1,4})(?:\.\d{1,6})?\s*+(?:[.):\]|\u2013\u2014-]\s*+){1,3}
      | (?:(?:step|action)\s++)?(?P<bare>\d{1,4})\s++(?=\()
      | (?:step|action)\s*+:\s*+
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_ARROW: Final = re.compile(
    r"\s*+(?:-{1,3}>|={1,3}>|[\u2190-\u21ff\u279c\u2794\u27f6\u27f9]|\\(?:right|long|to)\w{0,20}|\bthen\b)\s*+",
    re.IGNORECASE,
)
_NAME: Final = r"(?<![\w-])[A-Za-z][A-Za-z0-9_-]*+"
_ITEM: Final = re.compile(rf"(?:(?P<name>{_NAME})(?P<gap>[ ]?))?\((?P<inner>[^()]*)\)")
_BETWEEN: Final = re.compile(
    r"(?:[\s;,.|&>()\[\]{}\"'\u201c\u201d\u2018\u2019-]|=>|"
    r"[\u2190-\u21ff\u279c\u2794\u27f6\u27f9]|\\(?:right|long|to)\w{0,20}|"
    r"\b(?:then|and|next|finally|first|lastly|afterwards|followed|by)\b)*+",
    re.IGNORECASE,
)
_REMARK: Final = re.compile(r"\s*+(?:[;:#%\u2190\[|]|//|<-|[-\u2013\u2014]{1,3}(?:\s|$))")
_CUT: Final = re.compile(r"\s++[-\u2013\u2014]{1,3}\s|\s*+(?:[#;:(\[%\u2190]|//|<-)")
_LABEL: Final = re.compile(r"(?P<label>[^():;]{1,80}):(?:\s++|(?=[(\[{\"']))")
_SPLIT: Final = re.compile(r"[\s,;]++")
_QUOTES: Final = "\"'`*\u201c\u201d\u2018\u2019"
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*+")

_PLAN_WORDS: Final = frozenset(
    "plan plans solution answer sequence option alternative alternatives actions steps revised corrected final".split()
)
_NO_PLAN_WORDS: Final = frozenset(
    "why explanation explanations explain explained reasoning rationale note notes justification analysis description "
    "precondition preconditions effect effects requires predicates facts verification check trace because result "
    "assumptions legend".split()
)
_STATE_WORDS: Final = frozenset("goal goals state states init initial initially objects where".split())


def read_line(line: str, names: Names, *, explicit: bool) -> TextLine:
    """Return what one line of an answer says.

    Args:
        line: The line.
        names: Names of the task that the planner was shown.
        explicit: Whether the line stands where a plan is expected, such as in a code block.
    """
    known = names.lines.get((line, explicit))
    if known is None:
        known = _read_line(line, names, explicit=explicit)
        if len(names.lines) < _REMEMBERED and len(line) <= _REMEMBERED:
            names.lines[line, explicit] = known
    return known


def _read_line(line: str, names: Names, *, explicit: bool) -> TextLine:
    text = " ".join(line.replace("\\_", "_").replace("`", "").replace("**", "").replace("$", "").split())
    if not text or text.startswith((";", "//", "%")) or (explicit and text.startswith("#")):
        return TextLine()
    text, number, listed = _strip_marks(text)
    label = _LABEL.match(text)
    said = None if label is None else _heading_kind(label["label"])
    if label is not None and (said is not None or not names.fits(_words(label["label"]) or ("",))):
        if said == "aside" and not explicit:
            return TextLine(number=number, listed=listed, heading=said)
        found = _steps(text[label.end() :], names)
        if found.steps:
            return found._replace(number=number, listed=listed, heading=said)
    found = _steps(text, names)
    if not found.steps:
        words = _words(_CUT.split(text, 1)[0])
        heading = None if listed and not text.endswith(":") else _heading(text)
        found = found._replace(words=words, heading=heading)
    return found._replace(number=number, listed=listed)


def _steps(text: str, names: Names) -> TextLine:
    found = _in_parentheses(text, names)
    return found if found.steps else found._replace(steps=_bare_steps(text, names))


def _strip_marks(text: str) -> tuple[str, int | None, bool]:
    """Return the line without its numbers and bullets, the first number, and whether there were any."""
    number: int | None = None
    place = 0
    for _ in range(4):
        mark = _MARK.match(text, place)
        # `(1)` counts as a marker even where nothing follows it.
        if mark is None or mark.end() == place:
            break
        place = mark.end()
        digits = mark["number"] or mark["bare"]
        if digits is not None and number is None:
            number = int(digits)
    return text[place:], number, place > 0


def _in_parentheses(text: str, names: Names) -> TextLine:
    """Return the steps in parentheses if the line consists of them and remarks; otherwise they are mentions."""
    leading: list[Tokens] = []
    others: list[Tokens] = []
    place, clean = 0, True
    for match in _ITEM.finditer(text):
        step, begins = _step(match, names)
        if not step or step[0].isdigit():
            continue
        if step[0].startswith((":", "?")):
            # A piece of PDDL, not a step of a plan.
            return TextLine()
        clean = clean and _is_between(text, place, begins)
        (leading if clean else others).append(step)
        if clean:
            place = match.end()
    if not leading:
        return TextLine(mentions=tuple(step for step in others if names.has_action(step)))
    if not others and _is_between(text, place, len(text)):
        return TextLine(tuple(leading), in_parentheses=True)
    if _REMARK.match(text, place):
        return TextLine(tuple(leading), in_parentheses=True)
    known = tuple(step for step in (*leading, *others) if names.has_action(step))
    if names.has_action(leading[0]):
        return TextLine(known, in_parentheses=True)
    return TextLine(mentions=known)


def _step(match: re.Match[str], names: Names) -> tuple[Tokens, int]:
    """Return the step of a pair of parentheses, and where it begins.

    It begins at a name before the parentheses, if that name takes them as arguments.
    """
    inner = _arguments(match["inner"])
    name = match["name"]
    if name is None:
        return inner, match.start()
    numbers = names.actions.get(name.lower())
    takes_them = numbers is not None and any(numbers) and bool(inner) and not names.has_action(inner)
    if not match["gap"] or takes_them:
        return (name, *(arg.rpartition("=")[2] or arg for arg in inner)), match.start()
    return inner, match.start("inner") - 1


def _arguments(inner: str) -> Tokens:
    tokens = (token.strip(_QUOTES) for token in _SPLIT.split(inner)[:_MOST_ARGUMENTS])
    return tuple(token for token in tokens if token)


def _is_between(text: str, start: int, end: int) -> bool:
    """Return whether nothing but separators stands between two places."""
    between = _BETWEEN.match(text, start, end)
    return between is not None and between.end() == end


def _bare_steps(text: str, names: Names) -> tuple[Tokens, ...]:
    """Return steps written without parentheses: all parts of the line, at least one of which fits a shown action."""
    for parts in (_ARROW.split(text), text.split(";"), text.split(",")):
        stripped = (part.strip(f" .,;[]{{}}{_QUOTES}") for part in parts)
        steps = [_words(_CUT.split(part, 1)[0]) for part in stripped if part]
        if steps and all(steps):
            known = [names.fits(step) for step in steps]
            if all(known) or (len(steps) > 1 and parts[0] != text and any(known) and _look_like_names(steps, names)):
                return tuple(steps)
    return ()


def _look_like_names(steps: Sequence[Tokens], names: Names) -> bool:
    return all(names.fits(step) or names.is_likely(step) or len(step) == 1 for step in steps)


def _words(text: str) -> Tokens:
    """Return the words of a short text of names; empty if it is anything else."""
    if len(text) > 1000:
        return ()
    tokens = tuple(filter(None, _SPLIT.split(text.strip(f" .,()[]{{}}{_QUOTES}"))))
    tokens = tuple(token.strip(_QUOTES) for token in tokens)
    ok = 0 < len(tokens) <= MOST_TOKENS and all(_WORD.fullmatch(token.strip("?.!")) for token in tokens)
    return tokens if ok else ()


def _heading(text: str) -> str | None:
    if len(text) > 100 or not (text.endswith((":", ":*")) or text.startswith("#") or len(text.split()) <= 4):
        return None
    return _heading_kind(text)


def _heading_kind(text: str) -> str | None:
    words = {word.lower() for word in _WORD.findall(text)}
    # `Explanation of the plan` does not announce a plan; `Steps to the goal` does.
    if words & _NO_PLAN_WORDS:
        return "aside"
    if words & _PLAN_WORDS:
        return "plan"
    return "aside" if words & _STATE_WORDS else None
