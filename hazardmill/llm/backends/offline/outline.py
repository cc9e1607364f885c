"""A task as the JSON outline that the author is asked for in the format ``document``."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import Final

from hazardmill.llm.backends.offline.code import TaskCode
from hazardmill.llm.backends.offline.notation import Step, change, python, split_condition
from hazardmill.parsing import parse

_SIGNS: Final = {"increases": "+=", "decreases": "-=", "assigns": "="}
_QUANTIFIERS: Final = {"Exists": "any", "Forall": "all"}


def write_outline(code: TaskCode) -> str:
    """The outline, with a line for each part and each action."""
    parts = {
        "title": json.dumps(code.title),
        "realised_by": json.dumps(code.realised_by),
        "types": json.dumps([f"{type_}: {', '.join(names)}" for type_, names in code.objects.items()]),
        "fluents": _listed(
            [_declared(name, types) + _true(name, code) for name, types in code.fluents.items()]
            + [
                f"{name}: {lower}..{upper}" + (f" = {first}" if first else "")
                for name, (lower, upper, first) in code.integers.items()
            ]
        ),
        "context": _listed([_declared(name, types) + _true(name, code) for name, types in code.contexts.items()]),
        "initially": _listed([literal for literal in code.initial if not _told(literal, code)]),
        "actions": "[" + ",".join(f"\n  {json.dumps(_act(each))}" for each in code.acts) + "]",
        "goal": json.dumps(_all_of(code.goal)),
        "dangers": json.dumps([f"{act}: {words(_without(act, condition))}" for act, condition in code.dangers]),
        "danger_type": json.dumps(code.danger_type),
        "causes": json.dumps(
            [f"{part}: {', '.join(names)}" for part, names in zip(("changing", "fixed"), code.causes(), strict=True)]
        ),
        "obvious": json.dumps(code.obvious),
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


def _listed(parts: list[str]) -> str:
    return json.dumps(", ".join(parts))


def _without(act: str, condition: str) -> str:
    """A condition of the module, where parameters are spoken of by the act's name."""
    return re.sub(rf"\b{act}\.", "", condition)


def _told(literal: str, code: TaskCode) -> bool:
    """Whether a value at the start is told where the fluent is declared."""
    return not {**code.fluents, **code.contexts}.get(literal, ("undeclared",))


def _true(name: str, code: TaskCode) -> str:
    return " = true" if name in code.initial and _told(name, code) else ""


def _act(each: Step) -> str:
    head = _declared(each.act, tuple(f"{name}: {type_}" for name, type_ in each.parameters))
    needs = f" {_all_of(each.needs)}" if each.needs else ""
    return f"{head}:{needs} -> {', '.join(map(_effect, each.does))}"


def _all_of(literals: Iterable[str]) -> str:
    return " and ".join(_joint(words(_plain(literal))) for literal in literals)


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
