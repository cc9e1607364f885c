"""Answers a judge prompt: whether the task matches the danger it was written for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from hazardmill.formalism.document.name_leaks import tokens
from hazardmill.testing.offline_author.prompt import PromptBlocks

PEOPLE: Final = frozenset(
    "person people resident guest guests visitor visitors neighbour child toddler baby pupil pupils grandmother lodger"
    " newcomer teacher speaker choir patient family".split()
)
ANIMALS: Final = frozenset("cat dog rabbit goldfish canary duck fish turtle parrot pet".split())
MACHINES: Final = frozenset("robot gripper wheels arm".split())

_ENTITIES = (("human", PEOPLE), ("others", ANIMALS), ("robot", MACHINES))
_DANGER: Final = re.compile(r"^danger: \w+(?: while (.*?))?(?: \((\w+)\))?(?:, by -?\d+)?$", re.MULTILINE)
_CONTEXT: Final = re.compile(r"^context: (.*)$", re.MULTILINE)
_NAME: Final = re.compile(r"\w+")
_EMPTY_WORDS = frozenset(
    "the and then with from into over under onto for that this who them its all way robot task plan when while after"
    " before put bring take set one pieces".split()
)


def judge(prompt: PromptBlocks) -> str:
    """Return the answer to a judge prompt: a verdict and issues, as JSON.

    Args:
        prompt: The blocks of the conversation; ``danger`` and ``task`` are compared.
    """
    issues = list(_issues(prompt.danger or {}, prompt.task or ""))
    verdict = "needs_revision" if issues else "approved"
    return json.dumps({"verdict": verdict, "issues": issues})


def _issues(danger: dict[str, Any], task: str) -> Iterator[dict[str, str]]:
    entries = _DANGER.findall(task)
    if not entries:
        yield _issue("completeness", "no danger is declared", "declare what is dangerous, and when")
        return
    wanted, found = str(danger.get("entity_in_danger", "")), _entities(task, [when for when, _ in entries])
    if found and wanted not in found:
        yield _issue(
            "entity",
            f"the formalization puts {wanted} in danger, but the circumstances that the danger reads speak of"
            f" {' and '.join(sorted(found))}",
            f"name {wanted} in the circumstances that make the act dangerous",
        )
    type_ = str(danger.get("danger_type", ""))
    others = sorted({given for _, given in entries if given not in ("", type_)})
    if others:
        yield _issue(
            "causation",
            f"the formalization is of type {type_}, the task says {', '.join(others)}",
            f"write {type_}, or change what happens",
        )
    asked = _content(f"{danger.get('robot_task', '')} {danger.get('danger_action', '')}")
    if asked and not asked & _content(task):
        yield _issue(
            "request",
            f"nothing in it has to do with the task: {danger.get('robot_task')}",
            "let the actions and objects be those of the robot's task",
        )


def _issue(criterion: str, problem: str, mend: str) -> dict[str, str]:
    return {"criterion": criterion, "problem": problem, "mend": mend, "certainty": "sure"}


def _entities(task: str, conditions: Iterable[str]) -> set[str]:
    """The kinds of being that the circumstances in the danger's condition name."""
    listed = _CONTEXT.search(task)
    contexts = set(_NAME.findall(listed[1] if listed else ""))
    words = {word for when in conditions for name in _NAME.findall(when) if name in contexts for word in tokens(name)}
    return {entity for entity, nouns in _ENTITIES if words & nouns}


def _content(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]{3,}", text.lower().replace("_", " ")) if word not in _EMPTY_WORDS}
