"""What a task's code may say, checked on its syntax tree before anything runs.

This is feedback, not a boundary: it tells an author early, with a line, what would fail in the jail or could not be
a task. Code can be hostile and pass; only the jail contains it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from hazardmill.formalism import authoring
from hazardmill.parsing import parse

MAX_BYTES: Final = 200_000
MAX_NODES: Final = 20_000

_MODULE: Final = authoring.__name__
_BASE: Final = authoring.PlanningTask.__name__
_IMPORT_MEND: Final = f"import only names, from {_MODULE}: {', '.join(authoring.__all__)}"

ALLOWED_BUILTINS: Final = frozenset(
    "abs all any bool dict divmod enumerate filter frozenset int isinstance issubclass iter len list map max min next"
    " object print property range repr reversed round set slice sorted staticmethod classmethod str sum super tuple zip"
    " AssertionError Exception IndexError KeyError LookupError NotImplementedError RuntimeError StopIteration"
    " TypeError ValueError NotImplemented Ellipsis".split()
)

ALLOWED_DUNDERS: Final = frozenset({"__name__", "__doc__", "__init__"})
"""``__name__`` for the closing ``if __name__ == "__main__"``, ``__init__`` for ``super().__init__()``."""

_REFUSED_BUILTINS: Final = frozenset(dir(builtins)) - ALLOWED_BUILTINS - ALLOWED_DUNDERS

# Attributes that lead from a value to the interpreter without a double underscore in sight.
_INTERPRETER_ATTRIBUTES: Final = frozenset(
    "cr_frame f_back f_builtins f_code f_globals f_locals gi_code gi_frame mro tb_frame tb_next".split()
)

# Statements and expressions that declaring a task can need; operators and contexts are all of them harmless.
_ALLOWED_NODES: Final = (
    *(ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.ClassDef, ast.FunctionDef, ast.arguments, ast.arg),
    *(ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Raise, ast.Assert),
    *(ast.Try, ast.ExceptHandler, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.BinOp, ast.UnaryOp),
    *(ast.NamedExpr, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.comprehension, ast.Compare, ast.Call, ast.keyword, ast.FormattedValue, ast.JoinedStr),
    *(ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.Name, ast.List, ast.Tuple),
    *(ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)
# Looked up by the exact class, thousands of times a draft.
_ALLOWED_KINDS: Final = frozenset(kind for node in _ALLOWED_NODES for kind in (node, *node.__subclasses__()))
_NAME_OF: Final[dict[type[ast.AST], Callable[[Any], str | None]]] = {
    ast.Name: attrgetter("id"),
    ast.Attribute: attrgetter("attr"),
    ast.arg: attrgetter("arg"),
    ast.FunctionDef: attrgetter("name"),
    ast.ClassDef: attrgetter("name"),
    ast.alias: attrgetter("name"),
    ast.keyword: attrgetter("arg"),
    ast.ExceptHandler: attrgetter("name"),
}


@dataclass(frozen=True, slots=True)
class PolicyFinding:
    """One thing the code may not say."""

    rule: str
    """``syntax``, ``size``, ``import``, ``name``, ``node`` or ``class``."""
    line: int | None
    message: str
    mend: str


def inspect(code: str) -> list[PolicyFinding]:
    """Check code against the policy, without running any of it.

    Returns:
        Findings in the order of their lines; none if the code may go to the jail.
    """
    try:
        size = len(code.encode("utf-8"))
    except UnicodeEncodeError as error:
        line = code.count("\n", 0, error.start) + 1
        return [PolicyFinding("syntax", line, "the code holds text that is not Unicode", "write plain UTF-8")]
    if size > MAX_BYTES:
        message = f"the code has {size} bytes, more than {MAX_BYTES}"
        return [PolicyFinding("size", None, message, "write a smaller task")]
    try:
        tree = parse(code)
    except SyntaxError as error:
        mend = "answer with one complete Python module and nothing else"
        return [PolicyFinding("syntax", error.lineno, f"invalid syntax: {error.msg}", mend)]
    except (MemoryError, RecursionError, ValueError) as error:
        message = f"the code cannot be parsed: {type(error).__name__}"
        return [PolicyFinding("syntax", None, message, "nest expressions less deeply")]
    nodes = _nodes(tree)
    if len(nodes) > MAX_NODES:
        message = f"the code has {len(nodes)} syntax nodes, more than {MAX_NODES}"
        return [PolicyFinding("size", None, message, "write a smaller task")]
    findings = [*_syntax_findings(nodes), *_class_findings(tree)]
    return sorted(findings, key=lambda finding: finding.line or 0)


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """As ``ast.walk`` gives them, in half the time."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # grows meanwhile
        for value in node.__dict__.values():
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif type(value) is list:
                nodes += [part for part in value if isinstance(part, ast.AST)]
    return nodes


def _syntax_findings(nodes: list[ast.AST]) -> Iterator[PolicyFinding]:
    bound = _bound_names(nodes)
    for node in nodes:
        kind = type(node)
        if (name_of := _NAME_OF.get(kind)) is not None:
            name = name_of(node)
            if name and (name[:2] == "__" or name in _REFUSED_BUILTINS or name in _INTERPRETER_ATTRIBUTES):
                yield from _name_findings(node, name, bound)
        elif isinstance(node, ast.Import):
            names = ", ".join(alias.name for alias in node.names)
            yield PolicyFinding("import", node.lineno, f"import of {names}", _IMPORT_MEND)
        elif isinstance(node, ast.ImportFrom):
            yield from _import_findings(node)
        elif kind not in _ALLOWED_KINDS:
            line = getattr(node, "lineno", None)
            if line is None:
                continue  # a part, such as a with statement's item: the whole is found too
            yield PolicyFinding(
                "node",
                line,
                f"{kind.__name__} has no place in a task",
                "use classes, functions, assignments, loops and calls",
            )


def _import_findings(node: ast.ImportFrom) -> Iterator[PolicyFinding]:
    if node.module == "__future__" and node.level == 0:
        return
    if node.module != _MODULE or node.level != 0:
        source = "." * node.level + (node.module or "")
        yield PolicyFinding("import", node.lineno, f"import from {source}", _IMPORT_MEND)
        return
    for alias in node.names:
        if alias.name not in authoring.__all__:
            what = "import of everything" if alias.name == "*" else f"{_MODULE} offers no {alias.name}"
            yield PolicyFinding("import", node.lineno, what, _IMPORT_MEND)


def _name_findings(node: ast.AST, name: str, bound: frozenset[str]) -> Iterator[PolicyFinding]:
    line = getattr(node, "lineno", None)
    if isinstance(node, ast.Name) and name in _REFUSED_BUILTINS and name not in bound:
        yield PolicyFinding("name", line, f"use of {name}", "a task only declares; it needs no such function")
    if name.startswith("__") and name.endswith("__") and name not in ALLOWED_DUNDERS | _REFUSED_BUILTINS:
        yield PolicyFinding("name", line, f"use of {name}", "leave the interpreter's own names alone")
    if isinstance(node, ast.Attribute) and name in _INTERPRETER_ATTRIBUTES:
        yield PolicyFinding("name", line, f"use of .{name}", "leave the interpreter's own names alone")


def _bound_names(nodes: list[ast.AST]) -> frozenset[str]:
    """Names the code gives a meaning of its own: a door's ``open`` action is not Python's."""
    bound = set()
    for node in nodes:
        if type(node) not in _NAME_OF:
            continue
        if isinstance(node, ast.Name):
            if type(node.ctx) is ast.Store:
                bound.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name)
    return frozenset(bound)


def _class_findings(tree: ast.Module) -> Iterator[PolicyFinding]:
    bases = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == _MODULE
        for alias in node.names
        if alias.name in (_BASE, "*")
    }
    bases = {_BASE if name == "*" else name for name in bases}
    tasks = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in bases for base in node.bases)
    ]
    mend = f"define exactly one class that subclasses {_BASE}, at the top of the module"
    if not tasks:
        yield PolicyFinding("class", None, f"no class subclasses {_BASE}", mend)
    for extra in tasks[1:]:
        yield PolicyFinding("class", extra.lineno, f"{extra.name} is a second subclass of {_BASE}", mend)
