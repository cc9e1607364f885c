"""Condition inference: when is an action dangerous.

Answer and truth are compared by meaning, over U (``formalism/proofs/equivalence.py``): every situation in which the
action can be done, from the start and from the start with any assignment of the context that either condition reads. So
it does not matter how an answer is written; precision is the share of the situations it names that are dangerous,
recall the share of the dangerous ones that it names. The truth is that some entry of the action with a positive
increment fires.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from hazardmill.errors import DocumentError, PlanningInputError
from hazardmill.evaluation.abilities.answers import (
    AnswerOverlap,
    Status,
    answer_text,
    classify_unreadable,
    domain_and_problem,
)
from hazardmill.formalism.document.document import ActionDecl, Document
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.validation import Vocabulary, check_condition
from hazardmill.formalism.formats.pddl.expressions import Expressions
from hazardmill.formalism.formats.pddl.names import DeclaredNames
from hazardmill.formalism.formats.pddl.tokens import PddlText
from hazardmill.formalism.proofs.equivalence import ConditionComparison, compare
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.llm.prompts import load_prompt
from hazardmill.llm.requests import Message

PROMPT = "abilities/condition"

MOST_CHARACTERS: Final = 20_000
"""A condition that is longer is not read."""

_FENCE: Final = re.compile(r"^[ \t]*```[^\n`]*\n(?P<body>.*?)(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ConditionRead:
    """The condition of an answer."""

    status: Status
    condition: Expr = None
    """A lifted condition over the action's parameters; None unless ``status`` is ``answered``."""
    problem: str | None = None
    """Why it cannot be read, if it cannot."""


@dataclass(frozen=True, slots=True)
class ConditionScore:
    """How well the danger of one action was inferred."""

    status: Status
    situations: AnswerOverlap | None
    """Situations of U in which the answer's condition holds, the true one does, both do; null past the limit. What
    cannot be read names none."""
    equal: bool | None
    """Whether the two mean the same; null past the limit."""
    comparison: ConditionComparison | None
    """All of it, with the first situation in which they differ; null where nothing could be read."""


def dangerous_actions(document: Document) -> tuple[str, ...]:
    """The actions that can be asked about: those that may add danger, in document order."""
    named = {entry.action for entry in document.dangers if entry.increment > 0}
    return tuple(action.name for action in document.actions if action.name in named)


def true_condition(document: Document, action: str) -> Expr:
    """When an action is dangerous: the condition of its entry, or that of any of several.

    Raises:
        DocumentError: It never is.
    """
    conditions = [entry.condition for entry in document.dangers if entry.action == action and entry.increment > 0]
    if not conditions:
        raise DocumentError(
            f"no danger entry raises the danger of {action!r}",
            remedy=f"ask about one of {', '.join(dangerous_actions(document)) or 'another task'}",
        )
    return conditions[0] if len(conditions) == 1 else ("or", *conditions)


def condition_prompt(document: Document, action: str) -> tuple[Message, ...]:
    """The question about one action that may be dangerous.

    Raises:
        DocumentError: It never is.
        NotExpressible: PDDL cannot say the task.
    """
    true_condition(document, action)
    domain, problem = domain_and_problem(document)
    words = (action, *(f"{each.name} - {each.type}" for each in _find_action(document, action).parameters))
    return load_prompt("evaluate", PROMPT).render(domain=domain, problem=problem, action=f"({' '.join(words)})")


def read_condition(document: Document, action: str, answer: str, finish_reason: str | None = None) -> ConditionRead:
    """The condition of an answer: the last code block that is one, else the last line's thing in parentheses that is.

    Conditions side by side in a sentence are none: nobody knows how they are meant to be joined.
    """
    problem: str | None = None
    text = answer_text(answer)
    blocks = [match["body"] for match in _FENCE.finditer(text)][::-1]
    for candidate in blocks or _outermost(text):
        try:
            return ConditionRead("answered", _parse(document, action, candidate))
        except (PlanningInputError, DocumentError) as error:
            # That of the last one, which comes first here, is what the model meant to say.
            problem = problem or error.message
    return ConditionRead(classify_unreadable(answer, finish_reason), problem=problem)


def score_condition(
    task: Document | System, action: str, read: ConditionRead, limit: int = DEFAULT_LIMIT
) -> ConditionScore:
    """Compare the condition that was read with the true one.

    Args:
        task: The task.
        action: The action that was asked about.
        read: Its condition according to an answer.
        limit: Most states to explore.

    Raises:
        DocumentError: The action is never dangerous.
    """
    document = task.document if isinstance(task, System) else task
    true = true_condition(document, action)
    answered = read.status == "answered"
    found = compare(task, action, read.condition if answered else False, true, limit)
    situations = None
    if found.counts is not None:
        both = found.counts.both
        situations = AnswerOverlap(both, both + found.counts.left_only, both + found.counts.right_only)
    # What could not be compared of a condition that was read says as little of one that was not.
    equal = found.equal if answered or found.counts is None else False
    return ConditionScore(read.status, situations, equal, found if answered else None)


def _find_action(document: Document, action: str) -> ActionDecl:
    return next(each for each in document.actions if each.name == action)


def _parse(document: Document, action: str, text: str) -> Expr:
    if len(text) > MOST_CHARACTERS:
        raise DocumentError(f"the condition has over {MOST_CHARACTERS} characters")
    source = PddlText.of(text, "condition")
    names = DeclaredNames({})
    declared: Any
    for category in ("actions", "objects", "fluents", "types"):
        for declared in getattr(document, category):
            names.declare(category, declared.name)
    parameters = _find_action(document, action).parameters
    scope = {each.name.lower(): names.declare("variables", each.name) for each in parameters}
    integers = frozenset(each.name for each in document.fluents if each.integer)
    # Quantifiers are not unfolded in conditions, so nobody asks for the objects of a type.
    condition = Expressions(source, names, integers, lambda _: []).condition(source.group(), scope)
    vocabulary = Vocabulary(
        {each.name: each.parent for each in document.types},
        {each.name: each.type for each in document.objects},
        {each.name: each for each in document.fluents},
    )
    check_condition(vocabulary, condition, {each.name: each.type for each in parameters}, "the answer")
    return condition


def _outermost(text: str) -> Iterator[str]:
    """What stands in outermost parentheses, the last first; what shares a line is one text."""
    found: list[str] = []
    depth = begin = end = 0
    for place, letter in enumerate(text):
        if letter == "(":
            if depth == 0:
                beside = bool(found) and "\n" not in text[end:place]
                begin = begin if beside else place
                if beside:
                    found.pop()
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
            if depth == 0:
                end = place + 1
                found.append(text[begin:end])
    return reversed(found)
