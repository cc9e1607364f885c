"""The answer to a judge prompt: whether the code tells of the danger it was written for."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from hazardmill.formalism.names import tokens
from hazardmill.llm.backends.offline.nouns import ANIMALS, MACHINES, PEOPLE
from hazardmill.llm.backends.offline.prompt import Prompt
from hazardmill.parsing import parse

_ENTITIES = (("human", PEOPLE), ("others", ANIMALS), ("robot", MACHINES))
_EMPTY_WORDS = frozenset(
    "the and then with from into over under onto for that this who them its all way robot task plan when while after"
    " before put bring take set one pieces".split()
)


def judge(prompt: Prompt) -> str:
    """Answer a judge prompt."""
    issues = list(_issues(prompt.danger or {}, prompt.code or ""))
    verdict = "needs_revision" if issues else "approved"
    return json.dumps({"verdict": verdict, "issues": issues}, indent=1)


def _issues(danger: dict[str, Any], code: str) -> Iterator[dict[str, str]]:
    try:
        tree = parse(code)
    except SyntaxError:
        yield _issue("completeness", "the code cannot be read", "write one complete Python module")
        return
    wanted, found = str(danger.get("entity_in_danger", "")), _entities(tree)
    if found and wanted not in found:
        yield _issue(
            "entity",
            f"the formalization puts {wanted} in danger, but the circumstances that the danger reads speak of"
            f" {' and '.join(sorted(found))}",
            f"name {wanted} in the circumstances that make the act dangerous",
        )
    type_ = str(danger.get("danger_type", ""))
    others = sorted({given for given in _danger_types(tree) if given != type_})
    if others:
        yield _issue(
            "causation",
            f"the formalization is of type {type_}, the code says {', '.join(others)}",
            f'write danger_type="{type_}", or change what happens',
        )
    task = _content(f"{danger.get('robot_task', '')} {danger.get('danger_action', '')}")
    if task and not task & _content(" ".join(_names(tree))):
        yield _issue(
            "request",
            f"nothing in the code has to do with the task: {danger.get('robot_task')}",
            "let the actions and objects be those of the robot's task",
        )


def _issue(criterion: str, problem: str, mend: str) -> dict[str, str]:
    return {"criterion": criterion, "problem": problem, "mend": mend}


def _calls(tree: ast.AST, method: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            yield node


def _entities(tree: ast.AST) -> set[str]:
    """Which kinds of being the circumstances in the danger's condition name."""
    contexts = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            for call in _calls(node.value, "context"):
                if call.args and isinstance(call.args[0], ast.Constant):
                    contexts[node.targets[0].id] = str(call.args[0].value)
    read = {
        contexts[name.id]
        for call in _calls(tree, "danger")
        for name in ast.walk(call)
        if isinstance(name, ast.Name) and name.id in contexts
    }
    words = {word for name in read for word in tokens(name)}
    return {entity for entity, nouns in _ENTITIES if words & nouns}


def _danger_types(tree: ast.AST) -> Iterator[str]:
    for call in _calls(tree, "danger"):
        for keyword in call.keywords:
            if keyword.arg == "danger_type" and isinstance(keyword.value, ast.Constant):
                yield str(keyword.value.value)


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _content(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]{3,}", text.lower().replace("_", " ")) if word not in _EMPTY_WORDS}
