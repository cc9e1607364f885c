"""What a task's code may contain, checked on its text and its syntax tree before anything runs.

This is feedback, not a boundary: it shows an author early, with a line, what would fail in the jail or could not be
a task. Code can be hostile and pass; only the jail contains it, and nobody is given it to run.
"""

from __future__ import annotations

import ast
import builtins
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from hazardmill.formalism import authoring, json_task
from hazardmill.sandbox.scopes import names_from_outside
from hazardmill.text.parse import MAX_BYTES, MAX_NODES, parse
from hazardmill.text.parse import nodes as nodes_of

_MODULE: Final = authoring.__name__
_OFFERS: Final = {module.__name__: frozenset(module.__all__) for module in (authoring, json_task)}
"""What may be imported. Only the first module is named to authors; the other is for code that we render."""
_BASE: Final = authoring.PlanningTask.__name__
_BASES: Final = frozenset({_BASE, json_task.JsonTask.__name__})
_IMPORT_MEND: Final = f"import only names, from {_MODULE}: {', '.join(authoring.__all__)}"

ALLOWED_BUILTINS: Final = frozenset(
    "abs all any bool dict divmod enumerate filter frozenset int isinstance issubclass iter len list map max min next"
    " object print property range repr reversed round set slice sorted staticmethod classmethod str sum super tuple zip"
    " AssertionError Exception IndexError KeyError LookupError NotImplementedError RuntimeError StopIteration"
    " TypeError ValueError NotImplemented Ellipsis".split()
)

ALLOWED_DUNDERS: Final = frozenset({"__init__"})
"""Allowed for ``super().__init__()``."""

_REFUSED_BUILTINS: Final = frozenset(name for name in dir(builtins) if name[:1] != "_") - ALLOWED_BUILTINS

# Attributes that lead from a value to the interpreter without a double underscore in their name.
_INTERPRETER_ATTRIBUTES: Final = frozenset(
    "cr_frame f_back f_builtins f_code f_globals f_locals gi_code gi_frame mro tb_frame tb_next".split()
)

# Statements and expressions that declaring a task can need; all operators and contexts are harmless.
_ALLOWED_NODES: Final = (
    *(ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.ClassDef, ast.FunctionDef, ast.arguments, ast.arg),
    *(ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Raise, ast.Assert),
    *(ast.Try, ast.ExceptHandler, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.BinOp, ast.UnaryOp),
    *(ast.NamedExpr, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.comprehension, ast.Compare, ast.Call, ast.keyword, ast.FormattedValue, ast.JoinedStr),
    *(ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.Name, ast.List, ast.Tuple),
    *(ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)
# Looked up by the exact class, thousands of times per draft.
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

_TOP_MEND: Final = (
    "at the top of the module write only imports, constants made of literals, functions and the class; compute values"
    " in `build`, and write no `if __name__ == ...` block: hazardmill adds one"
)
# What a constant at the top is made of: nothing that calls.
_CONSTANT_KINDS: Final = frozenset(
    {
        *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.Name, ast.Load, ast.Store),
        *(ast.UnaryOp, ast.BinOp, ast.Subscript, *ast.unaryop.__subclasses__(), *ast.operator.__subclasses__()),
    }
)

_BUILTIN_MEND: Final = (
    "a task only declares; it needs no such function (bind a name of your own in the function that uses it)"
)

# PEP 263: editors and ``python file.py`` read the whole file as the comment says, the jail does not.
_CODING: Final = re.compile(r"[ \t]*#.*?coding[:=][ \t]*[-\w.]+")
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
# Control and format characters, line and paragraph separators: Python and editors treat them differently.
_STEERING: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class PolicyFinding:
    """One thing that the code may not contain.

    Attributes:
        line: Its line, from 1; None where it concerns the whole.
        message: What was found.
        mend: What to write instead.
    """

    rule: str
    """``syntax``, ``size``, ``import``, ``name``, ``node``, ``top`` or ``class``."""
    line: int | None
    message: str
    mend: str


def inspect(code: str) -> list[PolicyFinding]:
    """Check code against the policy, without running any of it.

    Args:
        code: A module on the authoring API.

    Returns:
        Findings in the order of their lines; none if the code may go to the jail. Code that cannot be read or is too
        large has one finding, and is not checked further.
    """
    try:
        size = len(code.encode("utf-8"))
    except UnicodeEncodeError as error:
        line = code.count("\n", 0, error.start) + 1
        return [PolicyFinding("syntax", line, "the code holds text that is not Unicode", "write plain UTF-8")]
    if size > MAX_BYTES:
        message = f"the code has {size} bytes, more than {MAX_BYTES}"
        return [PolicyFinding("size", None, message, "write a smaller task")]
    if (unreadable := _text_finding(code)) is not None:
        return [unreadable]
    try:
        tree = parse(code)
    except SyntaxError as error:
        mend = "answer with one complete Python module and nothing else"
        return [PolicyFinding("syntax", error.lineno, f"invalid syntax: {error.msg}", mend)]
    except (MemoryError, RecursionError, ValueError) as error:
        message = f"the code cannot be parsed: {type(error).__name__}"
        return [PolicyFinding("syntax", None, message, "nest expressions less deeply")]
    nodes = nodes_of(tree)
    if len(nodes) > MAX_NODES:
        message = f"the code has {len(nodes)} syntax nodes, more than {MAX_NODES}"
        return [PolicyFinding("size", None, message, "write a smaller task")]
    findings = [*_top_findings(tree), *_syntax_findings(tree, nodes), *_class_findings(tree)]
    return sorted(findings, key=lambda finding: finding.line or 0)


def _text_finding(code: str) -> PolicyFinding | None:
    """Return a finding for text that Python would read differently from the author, an editor or another Python."""
    for number, line in enumerate(code.split("\n", 2)[:2], 1):
        if _CODING.match(line):
            mend = "leave the comment out: code is UTF-8"
            return PolicyFinding("syntax", number, "a comment declares the encoding of the code", mend)
    lone = _LONE_RETURN.search(code)
    odd = {sign for sign in set(code) - set("\t\n\r") if unicodedata.category(sign) in _STEERING}
    places = [*([lone.start()] if lone else []), *map(code.index, odd)]
    if not places:
        return None
    sign = code[min(places)]
    names = {"\0": "a null byte", "\ufeff": "a byte order mark", "\r": "a carriage return without a line feed"}
    what = names.get(sign) or unicodedata.name(sign, "a control character").lower()
    message = f"the code holds {what} (U+{ord(sign):04X}), which editors and Python read differently"
    mend = "leave it out, or write it as an escape where it belongs in a text"
    return PolicyFinding("syntax", code.count("\n", 0, min(places)) + 1, message, mend)


def _top_findings(tree: ast.Module) -> Iterator[PolicyFinding]:
    for node in tree.body:
        kind = type(node)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef) or kind not in _ALLOWED_KINDS:
            continue  # allowed, or reported elsewhere
        if isinstance(node, ast.Assign | ast.AnnAssign):
            parts = {type(part) for part in nodes_of(ast.Module([node], []))} - {ast.Module, kind}
            if not parts <= _CONSTANT_KINDS:
                message = "a constant at the top of the module uses more than literals, names and arithmetic"
                yield PolicyFinding("top", node.lineno, message, _TOP_MEND)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            message = f"a statement of kind `{kind.__name__}` is not allowed at the top of the module"
            yield PolicyFinding("top", node.lineno, message, _TOP_MEND)


def _syntax_findings(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[PolicyFinding]:
    builtin = False
    for node in nodes:
        kind = type(node)
        if (name_of := _NAME_OF.get(kind)) is not None:
            name = name_of(node)
            if name and (name[:2] == "__" or name in _REFUSED_BUILTINS or name in _INTERPRETER_ATTRIBUTES):
                builtin = builtin or (kind is ast.Name and name in _REFUSED_BUILTINS)
                yield from _name_findings(node, name)
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
    if builtin:
        for found in names_from_outside(tree, _REFUSED_BUILTINS):
            yield PolicyFinding("name", found.lineno, f"use of {found.id}", _BUILTIN_MEND)


def _import_findings(node: ast.ImportFrom) -> Iterator[PolicyFinding]:
    if node.module == "__future__" and node.level == 0:
        return
    offered = _OFFERS.get(node.module or "") if node.level == 0 else None
    if offered is None:
        source = "." * node.level + (node.module or "")
        yield PolicyFinding("import", node.lineno, f"import from {source}", _IMPORT_MEND)
        return
    for alias in node.names:
        if alias.name not in offered:
            what = "import of everything" if alias.name == "*" else f"{node.module} offers no {alias.name}"
            yield PolicyFinding("import", node.lineno, what, _IMPORT_MEND)


def _name_findings(node: ast.AST, name: str) -> Iterator[PolicyFinding]:
    line = getattr(node, "lineno", None)
    mend = "leave the interpreter's own names alone"
    if name.startswith("__") and name.endswith("__") and name not in ALLOWED_DUNDERS:
        yield PolicyFinding("name", line, f"use of {name}", mend)
    elif isinstance(node, ast.Attribute) and name in _INTERPRETER_ATTRIBUTES:
        yield PolicyFinding("name", line, f"use of .{name}", mend)


def _class_findings(tree: ast.Module) -> Iterator[PolicyFinding]:
    bases = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module in _OFFERS
        for alias in node.names
        if alias.name in _BASES
    }
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    tasks = [node for node in classes if any(isinstance(base, ast.Name) and base.id in bases for base in node.bases)]
    mend = f"define exactly one class that subclasses {_BASE}, at the top of the module"
    if not tasks:
        yield PolicyFinding("class", None, f"no class subclasses {_BASE}", mend)
        return
    for extra in classes:
        if extra in tasks[1:]:
            yield PolicyFinding("class", extra.lineno, f"{extra.name} is a second subclass of {_BASE}", mend)
        elif extra is not tasks[0]:
            message = f"{extra.name} is a second class, but only the class of the task is allowed"
            yield PolicyFinding("class", extra.lineno, message, mend)
