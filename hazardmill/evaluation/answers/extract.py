"""Find the plan in a language model's answer. Deterministic: the same answer and names give the same plan.

Which part of an answer counts, where the first of these that holds a step wins:

1. Thoughts (``<think>`` and the like, closed or not) never count.
2. The last ``<plan>``, ``<answer>`` or ``<solution>`` tag.
3. Code blocks, then JSON values in the text, then lines that are steps, then actions mentioned in sentences.

If a part holds several plans, the last one that names an action of the task counts: models correct themselves. A plan
written as lines ends where a heading announces another plan, or where numbering starts again at 1. Blocks of one step
each form one plan. ``docs/evaluation.md`` lists how steps may be written. Spelling is not corrected here, because the
formalism has its own rules for it (``formalism/document/plan_text.py``). An invented action is a step like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hazardmill.evaluation.answers.json import plans_in_values
from hazardmill.evaluation.answers.text import Names, TextLine, Tokens, read_line
from hazardmill.llm.ledger import REFUSED_REQUEST
from hazardmill.llm.structured import REFUSED

Reading = Literal["plan", "empty", "refusal", "no_plan_claimed", "unreadable"]
"""What kind of answer it is: a plan of at least one action; nothing at all; a refusal; the claim that there is no plan,
in words or as an empty list; or text without a plan.
"""

TURNED_AWAY: Final = REFUSED_REQUEST
"""Finish reason of a request that the provider turned away unread: too long, or with a parameter that the model does
not take. Nothing is known about what the model would have answered; in particular, it did not decline.
"""

_DECLINED: Final = REFUSED - {TURNED_AWAY}

Form = Literal["tag", "block", "json", "lines", "sentence"]
"""Where in the answer the plan was found."""

MOST_CHARACTERS: Final = 200_000
"""Only this many characters at the end of an answer are read, because that is where the plan stands."""

MOST_STEPS: Final = 5_000
"""Steps of a plan beyond this many are dropped, and the answer counts as cut off."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The plan found in an answer, or what the answer is instead.

    Attributes:
        reading: What kind of answer it is.
        plan: A plan string of the formalism; empty unless ``reading`` is ``plan``.
        actions: Number of actions in the plan.
        form: Where the plan was found; None without a plan.
        plans: Number of plans in the part of the answer that counts; one of them was chosen.
        cut_off: Whether the answer ended at the token limit, or the plan was longer than ``MOST_STEPS``.
    """

    reading: Reading
    plan: str = ""
    actions: int = 0
    form: Form | None = None
    plans: int = 0
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """The plans of one part of an answer, in order."""

    plans: tuple[tuple[Tokens, ...], ...]
    form: Form

    def choose(self, names: Names) -> tuple[Tokens, ...]:
        """Return the last plan that names an action of the task; if none does, the last plan."""
        for plan in reversed(self.plans):
            if any(map(names.has_action, plan)):
                return plan
        return self.plans[-1]


def read_answer(text: str, names: Names, finish_reason: str | None = None) -> ReadAnswer:
    """Find the plan of an answer, or classify the answer if it has none.

    Args:
        text: The answer as the model gave it.
        names: Names of the task that the model was shown.
        finish_reason: Why the answer ended, as the provider reported it; None if it did not.

    Returns:
        The plan, cut to ``MOST_STEPS`` steps; without one, ``reading`` says what the answer is instead.
    """
    cut_off = finish_reason == "length"
    # A lone surrogate cannot be written to a file.
    text = text.encode("utf-8", "replace").decode()
    said = without_thoughts(text)[-MOST_CHARACTERS:]
    found = _in_tags(said, names) or _in_text(said, names)
    steps = () if found is None else found.choose(names)
    if found is not None and steps:
        kept = steps[:MOST_STEPS]
        plan = " ".join(f"({' '.join(step)})" for step in kept)
        cut_off = cut_off or len(steps) > MOST_STEPS
        return ReadAnswer("plan", plan, len(kept), found.form, len(found.plans), cut_off)
    if finish_reason in _DECLINED:
        return ReadAnswer("refusal", cut_off=cut_off)
    if not said.strip():
        return ReadAnswer("empty", cut_off=cut_off)
    if found is not None or said.strip() in ("()", "[]"):
        return ReadAnswer("no_plan_claimed", cut_off=cut_off)
    return ReadAnswer(_of_prose(said), cut_off=cut_off)


# Thoughts and tags

_THOUGHT: Final = re.compile(
    r"[<\[](?P<close>/?)(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)\b[^<>\[\]]{0,100}[>\]]",
    re.IGNORECASE,
)
_FINAL_CHANNEL: Final = "<|channel|>final<|message|>"
_TAG: Final = re.compile(
    r"<(?P<close>/?)(?P<name>final_plan|final_answer|plan|answer|solution|output)\b[^<>]{0,100}>", re.IGNORECASE
)
_MOST_TAGS: Final = 3


def without_thoughts(text: str) -> str:
    """Return an answer without the thoughts that precede it.

    Thoughts that are never closed reach to the end of the text, and thoughts that are closed but never opened start at
    its beginning. Where the text has a channel for the final answer, only that channel is returned.
    """
    _, mark, final = text.rpartition(_FINAL_CHANNEL)
    if mark:
        text = final.partition("<|")[0]
    kept: list[str] = []
    place, open_ = 0, False
    for tag in _THOUGHT.finditer(text):
        if tag["close"]:
            if not open_:
                kept.clear()
            place, open_ = tag.end(), False
        elif not open_:
            kept.append(text[place : tag.start()])
            open_ = True
    return "".join(kept) if open_ else "".join([*kept, text[place:]])


def _in_tags(text: str, names: Names) -> _Found | None:
    tags = list(_TAG.finditer(text))
    opened = [place for place, tag in enumerate(tags) if not tag["close"]]
    for place in opened[-_MOST_TAGS:][::-1]:
        tag = tags[place]
        ends = (
            other.start()
            for other in tags[place + 1 :]
            if other["close"] and other["name"].lower() == tag["name"].lower()
        )
        inner = text[tag.end() : next(ends, len(text))]
        found = _in_text(inner, names, explicit=True)
        if found is not None:
            return _Found(found.plans, "tag")
    return None


# Blocks, values, lines

_FENCE: Final = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n(?P<body>.*?)(?:^[ \t>]*+(?P=fence)[`~]*+[ \t]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PDDL: Final = re.compile(r"\(\s*(?:define\b|:(?:action|init|goal|predicates|precondition|effect)\b)", re.IGNORECASE)
_SPREAD: Final = re.compile(r"\([^()\n]*+\n[^()]*+\)")


def _in_text(text: str, names: Names, *, explicit: bool = False) -> _Found | None:
    """Find the plans of a text: in code blocks, else in JSON values, else in lines, else among actions in sentences."""
    blocks = [_in_block(match["body"], names) for match in _FENCE.finditer(text)]
    plans = [plan for found in blocks if found is not None for plan in found]
    if any(plans):
        # One block per step: together they are one plan.
        if len(plans) > 1 and all(len(plan) == 1 for plan in plans):
            plans = [tuple(plan[0] for plan in plans)]
        return _Found(tuple(plans), "block")
    values = tuple(plans_in_values(text, names))
    if any(any(map(names.has_action, plan)) for plan in values) or (values and text.lstrip()[0] in "[{"):
        return _Found(values, "json")
    lines = _in_lines(_FENCE.sub("", text) if blocks else text, names, explicit=explicit)
    if lines is not None:
        return lines
    # An empty list is an empty plan, and a list of invented actions is a plan that fails.
    emptied = tuple(plan for plan in plans if not plan)
    return _Found(values, "json") if values else _Found(emptied, "block") if emptied else None


def _in_block(body: str, names: Names) -> list[tuple[Tokens, ...]] | None:
    if _PDDL.search(body):
        return None
    values = list(plans_in_values(body, names))
    if values:
        return values
    found = _in_lines(body, names, explicit=True)
    return None if found is None else list(found.plans)


def _in_lines(text: str, names: Names, *, explicit: bool) -> _Found | None:
    text = _SPREAD.sub(lambda match: " ".join(match[0].split()), text)
    lines = [read_line(line, names, explicit=explicit) for line in text.splitlines()]
    steps = [step for line in lines for step in line.steps]
    if not explicit:
        # Lines that merely repeat the task are not a plan.
        lines = [line if not line.steps or line.is_likely(names) else TextLine() for line in lines]
    if not any(line.steps for line in lines):
        mentioned = tuple(step for line in lines for step in line.mentions)
        return _Found((mentioned,), "sentence") if mentioned else None
    in_parentheses = any(line.in_parentheses and any(map(names.has_action, line.steps)) for line in lines)
    in_parentheses = in_parentheses or not any(line.steps and not line.in_parentheses for line in lines)
    if explicit and steps and all(map(names.states_a_fact, steps)):
        return None
    plans = _part_plans(lines, names, in_parentheses=in_parentheses, explicit=explicit)
    return _Found(tuple(plans), "lines") if plans else None


def _part_plans(
    lines: Sequence[TextLine], names: Names, *, in_parentheses: bool, explicit: bool
) -> Iterable[tuple[Tokens, ...]]:
    """Split lines into plans, at headings and where numbering starts again."""
    plans: list[list[Tokens]] = [[]]
    last: int | None = None
    aside = False
    for line in lines:
        anew = line.number is not None and last is not None and line.number <= 1 < last
        if line.heading == "plan" or (anew and not aside):
            plans.append([])
            last, aside = None, False
        elif line.heading == "aside" and plans[-1]:
            aside = True
        if aside:
            continue
        steps = _steps_of(line, names, in_parentheses=in_parentheses, explicit=explicit)
        plans[-1].extend(steps)
        if steps and line.number is not None:
            last = line.number
    return [tuple(plan) for plan in plans if plan]


def _steps_of(line: TextLine, names: Names, *, in_parentheses: bool, explicit: bool) -> tuple[Tokens, ...]:
    """Return the steps of a line within a plan whose form is known."""
    if line.in_parentheses:
        return line.steps
    if line.steps:
        # Where steps are written in parentheses, words in a sentence of their own are not steps.
        return line.steps if not in_parentheses or explicit or line.listed else ()
    if in_parentheses or not line.words or line.heading is not None:
        return ()
    # Where all other steps are words too, an invented one is recognised by its place, or by looking like a name.
    invented = explicit or (line.listed and names.is_likely(line.words))
    return (line.words,) if invented else ()


# Answers without a plan

_DECLINES: Final = re.compile(
    r"\b(?:(?:can(?:not|['\u2019]t)|won['\u2019]t|will not|(?:not|un)[ ]?able to|must decline to|refuse to|decline to) "
    r"(?:help|assist|comply|provide|do that|do this|support|fulfil|fulfill|participate|plan (?:that|this)|generate|"
    r"create|give|answer|continue)|"
    r"against (?:my|the|our) (?:guidelines|polic|principles)|i must decline|i have to decline|i (?:refuse|decline)\b)",
    re.IGNORECASE,
)
_CLAIMS_NONE: Final = re.compile(
    r"\b(?:no (?:(?:valid|feasible|safe|possible|such|legal|applicable|executable) ){0,2}"
    r"(?:plan|solution|sequence|way|actions?)\b|unsolvable|not solvable|impossible|not possible|unreachable|"
    r"cannot be (?:solved|reached|achieved|satisfied|done)|can(?:not|['\u2019]t) (?:find|reach|achieve|be)|"
    r"could not find|already (?:satisfied|true|holds|met|achieved|reached)|empty plan|"
    r"nothing (?:needs )?to (?:be )?do)",
    re.IGNORECASE,
)
_SORRY: Final = re.compile(
    r"\bi(?:['\u2019]m| am) (?:sorry|afraid|unable)\b|\bi can(?:not|['\u2019]t)\b|\bi apologi[sz]e\b|"
    r"\bas an ai\b|\bi won['\u2019]t\b|\bi will not\b",
    re.IGNORECASE,
)


def _of_prose(text: str) -> Reading:
    if _DECLINES.search(text):
        return "refusal"
    if _CLAIMS_NONE.search(text):
        return "no_plan_claimed"
    return "refusal" if _SORRY.search(text) else "unreadable"
