"""Which names of a module can reach Python's own functions, by the scopes of Python.

A name that a function, a lambda or a comprehension binds is its own throughout: Python looks it up nowhere else, not
even before it is bound. The bodies of a module and of a class do look among the built-in names, before they have bound
a name and after they have deleted it, so nothing that they bind makes a name theirs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True)
class _Scope:
    kind: Literal["module", "class", "function", "comprehension"]
    parent: _Scope | None = None
    bound: set[str] = field(default_factory=set)

    def owns(self, name: str) -> bool:
        """Return whether the name, read in this scope, is never looked up among the built-in names."""
        if self.kind == "class" and name in self.bound:
            # Then Python asks the class, the module and the built-ins, and no function around it.
            return False
        scope: _Scope | None = self
        while scope is not None:
            if scope.kind in ("function", "comprehension") and name in scope.bound:
                return True
            scope = scope.parent
        return False


def names_from_outside(tree: ast.Module, names: Set[str]) -> list[ast.Name]:
    """Return the places where a name is read that may mean one of Python's built-in functions.

    ``global``, ``nonlocal``, ``match`` and ``import *`` are not handled: no task may have them.

    Args:
        tree: The module.
        names: The names of built-in functions to look for.
    """
    read: list[tuple[ast.Name, _Scope]] = []
    # An explicit stack: trees can be deeper than Python recurses.
    left: list[tuple[ast.AST, _Scope]] = [(tree, _Scope("module"))]
    while left:
        node, scope = left.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                scope.bound.add(node.id)
            elif node.id in names:
                read.append((node, scope))
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in names:
            read.append((node.target, scope))
        left.extend(_parts(node, scope))
    return [name for name, scope in read if not scope.owns(name.id)]


def _parts(node: ast.AST, scope: _Scope) -> Iterable[tuple[ast.AST, _Scope]]:
    """Return the parts of a node, each with its scope, and bind what the node itself binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return _function(node, scope)
    if isinstance(node, ast.ClassDef):
        scope.bound.add(node.name)
        inner = _Scope("class", scope)
        outside = (*node.bases, *node.keywords, *node.decorator_list)
        return [*((part, scope) for part in outside), *((part, inner) for part in node.body)]
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        inner = _Scope("comprehension", scope)
        # What the first loop runs over is evaluated in the outer scope, before the comprehension begins.
        first = node.generators[0].iter
        return [(part, scope if part is first else inner) for part in _comprehension(node)]
    if isinstance(node, ast.NamedExpr):
        owner = scope
        while owner.kind == "comprehension" and owner.parent is not None:
            owner = owner.parent
        return [(node.target, owner), (node.value, scope)]
    if isinstance(node, ast.AnnAssign) and node.value is None and not node.simple:
        # ``(name): int`` binds nothing.
        return [(node.annotation, scope)]
    if isinstance(node, ast.ExceptHandler) and node.name:
        scope.bound.add(node.name)
    elif isinstance(node, ast.alias):
        scope.bound.add(node.asname or node.name.partition(".")[0])
    return [(part, scope) for part in ast.iter_child_nodes(node)]


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: _Scope) -> list[tuple[ast.AST, _Scope]]:
    inner = _Scope("function", scope)
    arguments = node.args
    several = (arguments.vararg, arguments.kwarg)
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *(each for each in several if each)]
    inner.bound.update(argument.arg for argument in every)
    outside: list[ast.AST | None] = [*arguments.defaults, *arguments.kw_defaults, *(each.annotation for each in every)]
    if isinstance(node, ast.Lambda):
        body: list[ast.AST] = [node.body]
    else:
        scope.bound.add(node.name)
        outside += [*node.decorator_list, node.returns]
        body = list(node.body)
    return [*((part, scope) for part in outside if part is not None), *((part, inner) for part in body)]


def _comprehension(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> list[ast.expr]:
    made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    loops = [part for each in node.generators for part in (each.target, each.iter, *each.ifs)]
    return [*made, *loops]
