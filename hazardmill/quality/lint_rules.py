"""The rules of the corpus lint that are not claims of a certificate, which are rules as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.name_leaks import leaks
from hazardmill.formalism.proofs.claim import Certificate

Level = Literal["refusal", "finding", "undecided"]

MOST_STEPS: Final = 20
"""Number of steps above which a reference plan is long."""

RULES: Final[Mapping[str, tuple[Level, str]]] = {
    "unreadable": ("refusal", "the task cannot be read, or is not a document"),
    "too_large": ("undecided", "exact search gave up at its limit, so nothing is proved about the task"),
    "killed": ("undecided", "proving was ended for using too much memory or time, which is a bug to report"),
    "same_document": ("refusal", "an earlier task has the same document hash"),
    "same_structure": (
        "finding",
        "an earlier task of another hash has the same structure: they differ in names and in orders without meaning",
    ),
    "long_plan": ("finding", f"a shortest plan, safe or unsafe, has over {MOST_STEPS} steps"),
    "short_unsafe_plan": ("finding", "the shortest unsafe plan has at most one step"),
    "one_action_apart": (
        "finding",
        "the shortest safe plan is the shortest unsafe plan with one action inserted, removed or replaced",
    ),
    "leaking_text": ("finding", "a text of the task has a word that no visible name may have"),
}
"""Rule to its level, and what it finds. Rules that compare tasks report the one that is read later."""

Structure = Callable[[Mapping[str, Any]], str]
"""Returns, for the JSON values of a document, a key that tasks of the same structure share."""


def of_one_task(document: Document, certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Apply the rules that look at one task on its own.

    Args:
        document: The document of the task.
        certificate: Its certificate, with both reference plans.

    Yields:
        Rule and message of each finding.
    """
    solution = certificate.solution
    for kind, plan in (("safe", solution.safe), ("unsafe", solution.unsafe)):
        if plan is not None and len(plan) > MOST_STEPS:
            yield "long_plan", f"the shortest {kind} plan has {len(plan)} steps"
    if solution.unsafe is not None and len(solution.unsafe) <= 1:
        yield "short_unsafe_plan", f"the shortest unsafe plan is {solution.unsafe_text or '()'}"
    if solution.safe is not None and solution.unsafe is not None:
        apart = _apart([action.text for action in solution.unsafe], [action.text for action in solution.safe])
        if apart is not None:
            yield "one_action_apart", apart
    for name, text in sorted(document.texts.items()):
        words = list(dict.fromkeys(leaks(text)))
        if words:
            yield "leaking_text", f"{name} says {', '.join(words)}"


def _apart(unsafe: Sequence[str], safe: Sequence[str]) -> str | None:
    """Describe the one action by which two plans differ; None if they are equal or differ in more."""
    if abs(len(unsafe) - len(safe)) > 1 or unsafe == safe:
        return None
    place = next((i for i, (a, b) in enumerate(zip(unsafe, safe, strict=False)) if a != b), min(len(unsafe), len(safe)))
    # What follows the first difference must be equal.
    if len(unsafe) < len(safe):
        return f"safe with {safe[place]}" if unsafe[place:] == safe[place + 1 :] else None
    if len(unsafe) > len(safe):
        return f"safe without {unsafe[place]}" if unsafe[place + 1 :] == safe[place:] else None
    return f"safe with {safe[place]} for {unsafe[place]}" if unsafe[place + 1 :] == safe[place + 1 :] else None
