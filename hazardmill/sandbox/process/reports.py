"""How code that failed is reported, by whichever child ran it: one line of JSON.

Runs behind the walls. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from hazardmill.errors import HazardmillError, NotExpressible

_MOST: Final = 4_000
"""Most characters of a message. A longer one helps nobody, and half a megabyte of it would count as output."""
_OUT_OF_MEMORY: Final = b'{"reason":"memory","message":"MemoryError","line":null,"remedy":null}\n'


class NotATask(Exception):
    """The code ran, but does not define exactly one task.

    Its text says what the module defines instead; it is the ``message`` of the report.
    """


def line(value: dict[str, Any]) -> bytes:
    """Return a value as a line of compact JSON, newline included."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def failure(error: BaseException, file: str, line_of: Callable[[str], int | None] = lambda message: None) -> bytes:
    """Return an error as a line of JSON: ``reason``, ``message``, ``line`` of the code, ``remedy``.

    Args:
        error: What the code raised.
        file: The name under which the code was compiled.
        line_of: Finds the line that a refusal is about from its message, where no line of the code led to it.

    Returns:
        The line. If even that takes too much memory, one with the reason ``memory``.
    """
    try:
        return line(_report(error, file, line_of))
    except MemoryError:
        return _OUT_OF_MEMORY


def _report(error: BaseException, file: str, line_of: Callable[[str], int | None]) -> dict[str, str | int | None]:
    number = _line_in(error, file)
    remedy = None
    if isinstance(error, NotATask):
        reason, message = "not_a_task", str(error)
    elif isinstance(error, MemoryError):
        reason, message = "memory", "the code ran out of memory"
    elif isinstance(error, SyntaxError) and error.filename == file:
        reason, message, number = "syntax", str(error.msg), error.lineno
    elif isinstance(error, NotExpressible):
        reason, message, remedy = "not_expressible", error.message, error.remedy
        number = number or line_of(message)
    elif isinstance(error, HazardmillError):
        reason, message, remedy = "exception", error.message, error.remedy
    else:
        reason, message = "exception", f"{type(error).__name__}: {error}"
    return {"reason": reason, "message": message[:_MOST], "line": number, "remedy": remedy and remedy[:_MOST]}


def _line_in(error: BaseException, file: str) -> int | None:
    """Return the innermost line of the code that led to the error.

    It is taken from the traceback, not from ``AuthoringError.line``, which takes the child's module for the task's code
    where a mistake shows only when ``document`` is called.
    """
    number = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            number = traceback.tb_lineno
        traceback = traceback.tb_next
    return number
