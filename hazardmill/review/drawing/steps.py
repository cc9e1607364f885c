"""Two plans side by side: equal steps in the same row, each step in words, and what is true after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final, Literal

from hazardmill.review import wording
from hazardmill.review.document_view import Role, ShownHarm, ShownPlan, ShownStep

Tone = Literal["good", "bad", "plain"]

_TOKEN: Final = re.compile(r"[()]|[^\s()]+")
_COMPARED: Final = {"<": "is less than", "<=": "is at most", ">": "is more than", ">=": "is at least", "=": "is"}


@dataclass(frozen=True, slots=True)
class StepChange:
    """A fluent that a step changes.

    Attributes:
        kind: ``now`` and ``no longer`` for a boolean fluent, ``number`` for an integer one.
        words: The fluent in words; for an integer one with its old and new value.
    """

    kind: Literal["now", "no longer", "number"]
    words: str


@dataclass(frozen=True, slots=True)
class HarmView:
    """A harm as it is shown.

    Attributes:
        categories: Its categories.
        because: In words, what makes it harm; empty if it always is.
    """

    categories: tuple[str, ...]
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepView:
    """A step as it is shown.

    Attributes:
        index: Number of the step in its plan, from 1.
        row: Row of the step in the comparison, from 1.
        action: The action as written.
        words: The action in words.
        own: Whether the other plan has no equal step in this row.
        done: Whether the step can be carried out.
        changes: The fluents that it changes.
        increment: How much it adds to danger.
        danger: Total danger after it.
        fired: In words, the literals that made danger fire.
        unmet: In words, why it cannot be carried out.
        demanded: In words, what caution demands of it and does not hold.
        role: What its action is for in a scenario; ``None`` for any other.
        harms: The harm that it does; in plans of hazard tasks only.
    """

    index: int
    row: int
    action: str
    words: str
    own: bool
    done: bool
    changes: tuple[StepChange, ...]
    increment: int
    danger: int
    fired: tuple[str, ...]
    unmet: tuple[str, ...]
    demanded: tuple[str, ...]
    role: Role | None
    harms: tuple[HarmView, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is true after a step.

    Attributes:
        words: The fact in words.
        new: Whether the step made it true.
    """

    words: str
    new: bool


@dataclass(frozen=True, slots=True)
class StepState:
    """What is true from a row on.

    Attributes:
        row: The row, from 1; 0 is the start.
        facts: The facts, new ones first, those from the start last.
    """

    row: int
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan as it is shown.

    Attributes:
        plan: The plan as written.
        cells: One per row; ``None`` in a row in which only the other plan has a step.
        states: What is true at the start and after each step.
        says: The verdict in a sentence.
        tone: Whether that sentence is good news, bad news or neither.
        first_danger: Number of the first step at which danger fires; ``None`` if there is none.
        left: The harm that it leaves behind; in plans of hazard tasks only.
    """

    plan: str
    cells: tuple[StepView | None, ...]
    states: tuple[StepState, ...]
    says: str
    tone: Tone
    first_danger: int | None
    left: tuple[HarmView, ...]

    @property
    def steps(self) -> int:
        """Number of steps of the plan."""
        return sum(cell is not None for cell in self.cells)


def view_plan(plan: ShownPlan) -> PlanView:
    """Return a plan that is shown without another one beside it."""
    return _view(plan, [(step, False) for step in plan.steps])


def side_by_side(left: ShownPlan, right: ShownPlan) -> tuple[PlanView, PlanView]:
    """Return two plans with equally many cells, and with equal steps in the same row.

    Args:
        left: One plan.
        right: The other plan.
    """
    matched = SequenceMatcher(
        None, [step.action for step in left.steps], [step.action for step in right.steps], autojunk=False
    )
    lefts: list[tuple[ShownStep | None, bool]] = []
    rights: list[tuple[ShownStep | None, bool]] = []
    for tag, left_from, left_to, right_from, right_to in matched.get_opcodes():
        pairs = zip_longest(left.steps[left_from:left_to], right.steps[right_from:right_to])
        for here, there in pairs:
            lefts.append((here, tag != "equal"))
            rights.append((there, tag != "equal"))
    return _view(left, lefts), _view(right, rights)


def _view(plan: ShownPlan, steps: Sequence[tuple[ShownStep | None, bool]]) -> PlanView:
    cells = tuple(None if step is None else _step(step, row, own) for row, (step, own) in enumerate(steps, start=1))
    says, tone = _verdict_sentence(plan)
    left = tuple(map(_harm, plan.left or ()))
    return PlanView(plan.plan, cells, tuple(_states(plan, steps)), says, tone, plan.first_danger, left)


def _harm(harm: ShownHarm) -> HarmView:
    return HarmView(harm.categories, tuple(map(in_words, harm.literals)))


def _step(step: ShownStep, row: int, own: bool) -> StepView:
    return StepView(
        index=step.index,
        row=row,
        action=step.action,
        words=step.words or step.action,
        own=own,
        done=step.done,
        changes=tuple(map(_change, step.changes)),
        increment=step.increment,
        danger=step.danger,
        fired=tuple(map(in_words, step.fired)),
        unmet=tuple(map(in_words, step.unmet)),
        demanded=tuple(map(in_words, step.demanded)),
        role=step.role,
        harms=tuple(map(_harm, step.harms)),
    )


def _states(plan: ShownPlan, steps: Sequence[tuple[ShownStep | None, bool]]) -> Iterable[StepState]:
    before = plan.start
    start = both_ways(before)
    yield StepState(0, tuple(Fact(words, new=False) for words in start))
    for row, (step, _) in enumerate(steps, start=1):
        if step is not None:
            known = {*before, *both_ways(before)}
            facts = [Fact(words, new=words not in known) for words in both_ways(step.state)]
            # What the step made true comes first, what was true at the start last: there may not be room for all of it.
            yield StepState(row, tuple(sorted(facts, key=lambda fact: (not fact.new, fact.words in start))))
            before = step.state


def both_ways(facts: Sequence[str]) -> tuple[str, ...]:
    """Return facts with pairs such as ``door: a, b`` and ``door: b, a`` merged into one, marked ``(both ways)``.

    Connections between rooms are mostly such pairs, and would hide the other facts.
    """
    pairs: list[str] = []
    others: list[str] = []
    for fact in facts:
        head, _, things = fact.partition(": ")
        first, _, second = things.partition(", ")
        back = f"{head}: {second}, {first}"
        if not second or ", " in second or first == second or back not in facts:
            others.append(fact)
        elif first < second:
            pairs.append(f"{fact} (both ways)")
    return (*others, *pairs)


def _verdict_sentence(plan: ShownPlan) -> tuple[str, Tone]:
    says, tone = _verdict_on_the_goal(plan)
    if plan.left is None:
        return says, tone
    steps = plan.harmful_steps
    done = [f"Does harm at step{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps))}."] if steps else []
    left = ["Leaves harm behind."] if plan.left else []
    if not done and not left:
        return (f"{says} Does no harm." if plan.feasible else says), tone
    return " ".join((says, *done, *left)), "bad"


def _verdict_on_the_goal(plan: ShownPlan) -> tuple[str, Tone]:
    stuck = next((step for step in plan.steps if not step.done), None)
    if stuck is not None:
        return f"Step {stuck.index} cannot be done.", "plain"
    if not plan.feasible:
        lacking = "; ".join(map(in_words, plan.missing_goal))
        return f"Does not reach the goal: it lacks {lacking}." if lacking else "Does not reach the goal.", "plain"
    if not plan.dangers:
        return "Reaches the goal.", "good"
    first = plan.first_danger
    if not plan.safe:
        return f"Reaches the goal. Danger fires at step {first}." if first else "Reaches the goal, in danger.", "bad"
    if first is not None:
        return f"Reaches the goal. Danger is {plan.danger}; {plan.max_danger} is allowed.", "good"
    return "Reaches the goal. No danger fires.", "good"


def _change(text: str) -> StepChange:
    if text[:1] in "+-" and text[1:2] == "(":
        return StepChange("now" if text[0] == "+" else "no longer", in_words(text[1:]))
    fluent, _, numbers = text.rpartition(") ")
    if fluent and " -> " in numbers:
        return StepChange("number", f"{in_words(f'{fluent})')}: {numbers.replace('->', '→')}")
    return StepChange("number", text)


def in_words(text: str) -> str:
    """Return a literal in words; text that is not a literal is returned as it is.

    Args:
        text: A literal as the formalism renders it, such as ``(not (wet floor))``, or a sentence.
    """
    tokens = _TOKEN.findall(text)
    if not text.startswith("(") or not text.endswith(")"):
        return text
    try:
        parsed, end = _parse(tokens, 0)
        return _tree_in_words(parsed) if end == len(tokens) else text
    except (IndexError, RecursionError):
        return text


_Tree = str | list["_Tree"]


def _parse(tokens: Sequence[str], place: int) -> tuple[_Tree, int]:
    if tokens[place] != "(":
        return tokens[place], place + 1
    inner: list[_Tree] = []
    place += 1
    while tokens[place] != ")":
        tree, place = _parse(tokens, place)
        inner.append(tree)
    return inner, place + 1


def _tree_in_words(tree: _Tree) -> str:
    if isinstance(tree, str):
        return wording.name(tree)
    if not tree:
        return "()"
    head = tree[0]
    if head == "not" and len(tree) == 2:
        return f"not {_tree_in_words(tree[1])}"
    if isinstance(head, str) and head in _COMPARED and len(tree) == 3:
        return f"{_tree_in_words(tree[1])} {_COMPARED[head]} {_tree_in_words(tree[2])}"
    if head in ("and", "or") and len(tree) > 2:
        return f" {head} ".join(
            _tree_in_words(part) if _is_plain(part) else f"({_tree_in_words(part)})" for part in tree[1:]
        )
    if all(isinstance(part, str) for part in tree):
        return wording.phrase(*(str(part) for part in tree))
    return _tree_as_text(tree)


def _is_plain(tree: _Tree) -> bool:
    return isinstance(tree, str) or all(isinstance(part, str) for part in tree) or tree[0] == "not"


def _tree_as_text(tree: _Tree) -> str:
    return tree if isinstance(tree, str) else f"({' '.join(map(_tree_as_text, tree))})"
