"""A task as the JSON outline that the author is asked for in the format ``document``."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import Final

from hazardmill.llm.backends.offline.code import TaskCode
from hazardmill.llm.backends.offline.notation import change, python, split_condition
from hazardmill.parsing import parse

_SIGNS: Final = {"increases": "+=", "decreases": "-=", "assigns": "="}
_QUANTIFIERS: Final = {"Exists": "any", "Forall": "all"}


def write_outline(code: TaskCode) -> str:
    """The outline, with a line for each part and each action."""
    parts = {
        "title": json.dumps(code.title),
        "realised_by": json.dumps(code.realised_by),
        "types": json.dumps([f"{type_}: {', '.join(names)}" for type_, names in code.objects.items()]),
        "fluents": json.dumps(
            [_declared(name, types) for name, types in code.fluents.items()]
            + [f"{name}: {lower}..{upper}" for name, (lower, upper, _) in code.integers.items()]
        ),
        "context": json.dumps([_declared(name, types) for name, types in code.contexts.items()]),
        "actions": _lines(
            {
                "name": _declared(each.act, tuple(f"{name}: {type_}" for name, type_ in each.parameters)),
                "requires": " and ".join(_joint(words(_plain(literal))) for literal in each.needs),
                "effects": [_effect(effect) for effect in each.does],
            }
            for each in code.acts
        ),
        "initially": json.dumps(
            [*code.initial, *(f"{name} = {first}" for name, (_, _, first) in code.integers.items() if first)]
        ),
        "goal": json.dumps(" and ".join(_joint(words(_plain(literal))) for literal in code.goal)),
        "dangers": _lines(
            # The condition speaks of the act's parameters by the act's name.
            {"action": act, "when": words(re.sub(rf"\b{act}\.", "", condition)), "danger_type": code.danger_type}
            for act, condition in code.dangers
        ),
    }
    return "{" + ",\n ".join(f"{json.dumps(name)}: {text}" for name, text in parts.items()) + "}\n"


def words(condition: str) -> str:
    """A condition of the authoring module with ``and``, ``or``, ``not``, ``any`` and ``all`` in place of its own."""
    module = parse(condition)
    assert isinstance(module.body[0], ast.Expr)
    return ast.unparse(_InWords().visit(module.body[0].value))


class _InWords(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if not isinstance(node.op, ast.BitAnd | ast.BitOr):
            return ast.BinOp(left, node.op, right)
        joint = ast.And() if isinstance(node.op, ast.BitAnd) else ast.Or()
        first = left.values if isinstance(left, ast.BoolOp) and type(left.op) is type(joint) else [left]
        return ast.BoolOp(joint, [*first, right])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        return ast.UnaryOp(ast.Not() if isinstance(node.op, ast.Invert) else node.op, operand)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Name(id="Equals"), args=[left, right]):
                return ast.Compare(left, [ast.Eq()], [right])
            case ast.Call(func=ast.Name(id=name), args=[type_, ast.Lambda(args=bound, body=body)]):
                target = ast.Name(bound.args[0].arg, ast.Store())
                loop = ast.comprehension(target, type_, [], 0)
                return ast.Call(ast.Name(_QUANTIFIERS[name]), [ast.GeneratorExp(self.visit(body), [loop])], [])
        return node


def _plain(literal: str) -> str:
    # The scope says by itself what is a parameter.
    return python(literal.replace("?", ""))


def _declared(name: str, inside: tuple[str, ...]) -> str:
    return f"{name}({', '.join(inside)})" if inside else name


def _lines(items: Iterable[dict[str, object]]) -> str:
    return "[" + ",".join(f"\n  {json.dumps(item)}" for item in items) + "]"


def _joint(condition: str) -> str:
    """A condition as a part of a conjunction."""
    return f"({condition})" if re.search(r"\bor\b", condition) else condition


def _effect(effect: str) -> str:
    what, condition = split_condition(effect)
    if changed := change(what):
        method, target, value = changed
        text = f"{target} {_SIGNS[method]} {_plain(value)}"
    else:
        text = words(_plain(what))
    return f"{text} if {words(_plain(condition))}" if condition else text
