"""Parse Python code that others wrote, one module at a time.

The parser of Python 3.11 keeps one recursion depth for the whole interpreter: two threads that parse at the same time
can make it raise ``SystemError: AST constructor recursion depth mismatch``. Warnings, such as for an invalid escape in
the code, are ignored even where this process turns warnings into errors.
"""

from __future__ import annotations

import ast
import threading
import warnings
from typing import Final

MAX_BYTES: Final = 200_000
"""Largest module, in bytes of UTF-8: a larger one is neither run nor released."""
MAX_NODES: Final = 20_000
"""Most nodes in the syntax tree of a module."""

_one_at_a_time = threading.Lock()


def parse(code: str) -> ast.Module:
    """Return the syntax tree of a module. Threads wait for one another.

    Args:
        code: Source text. Its length is not checked: see ``MAX_BYTES``.

    Raises:
        SyntaxError: It is not Python.
        MemoryError: It is nested too deep.
        RecursionError: It is nested too deep.
        ValueError: It holds a null character.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def nodes(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a tree in the order of ``ast.walk``, breadth first, in half the time.

    Args:
        tree: The root; it comes first.
    """
    found: list[ast.AST] = [tree]
    for node in found:  # grows while it is read
        for value in node.__dict__.values():
            if isinstance(value, ast.AST):
                found.append(value)
            elif type(value) is list:
                found += [part for part in value if isinstance(part, ast.AST)]
    return found
