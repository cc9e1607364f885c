"""Parsing Python that is not ours, one at a time.

The parser of Python 3.11 keeps its recursion depth for the whole interpreter: two threads that parse at once can make
it raise ``SystemError: AST constructor recursion depth mismatch``. A doubtful escape in the code is no error either,
whatever this process does with warnings.
"""

from __future__ import annotations

import ast
import threading
import warnings

_one_at_a_time = threading.Lock()


def parse(code: str) -> ast.Module:
    """The syntax tree of a module.

    Raises:
        SyntaxError: It is no Python.
        MemoryError, RecursionError, ValueError: It is nested too deep, or holds a null character.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)
