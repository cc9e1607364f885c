"""What runs inside the jail: imports the authoring module, puts up the walls, runs one draft, reports, ends.

Started by ``process.py`` in an isolated interpreter, with an order (JSON) as argument and the code on standard input.
Two lines go out, JSON each: which layers stand (written before the code runs, so it can be trusted), then a report
(written after, so it cannot). Standard library and the authoring module only.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types

# The compiler needs it for identifiers and escapes beyond ASCII, and cannot load it once the walls stand.
import unicodedata
from typing import Any, Final, NoReturn

from hazardmill.errors import HazardmillError
from hazardmill.sandbox import layers

FILE_NAME: Final = "<task>"
MODULE_NAME: Final = "__task__"
BASE_CLASS: Final = "PlanningTask"

_OUT_OF_MEMORY: Final = b'{"reason":"memory","message":"MemoryError","line":null,"remedy":null}\n'


class _NotATask(Exception):
    """The code ran, but what it defines is not one task."""


def main(order_json: str) -> NoReturn:
    """Carry out one order; see ``jail.py`` for its parts."""
    order = json.loads(order_json)
    unicodedata.normalize("NFKC", "")
    code = sys.stdin.buffer.read().decode("utf-8")
    probing = order["probe"]
    if probing is not None:
        from hazardmill.sandbox import probe
    else:
        base = getattr(importlib.import_module(order["authoring"]), BASE_CLASS)
    # A draft may import what is loaded and nothing else, whether or not Landlock stands.
    sys.path.clear()
    os.environ.clear()
    out = layers.close_descriptors(order["output"])
    resources = layers.Resources(**order["resources"])
    standing, missing = layers.apply(order["layers"], resources, order["parent"])
    _write(out, _line({"layers": standing, "missing": missing}))
    if order["strict"] and set(standing) != set(order["layers"]):
        os._exit(1)
    if probing is not None:
        _write(out, _line({"abilities": probe.abilities(**probing, parent=order["parent"])}))
    else:
        _write(out, _run(code, base))
    os._exit(0)


def _run(code: str, base: type[Any]) -> bytes:
    module = types.ModuleType(MODULE_NAME)
    try:
        sys.modules[MODULE_NAME] = module
        exec(compile(code, FILE_NAME, "exec", dont_inherit=True), module.__dict__)
        return _line({"document": _only_task(module, base)().document().to_json()})
    except BaseException as error:  # SystemExit and KeyboardInterrupt are ways of failing like any other here
        caught = error
    try:
        return _line(_report(caught))
    except MemoryError:
        return _OUT_OF_MEMORY


def _only_task(module: types.ModuleType, base: type[Any]) -> type[Any]:
    found = {
        value
        for value in module.__dict__.values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == MODULE_NAME
    }
    if len(found) != 1:
        names = ", ".join(sorted(cls.__name__ for cls in found)) or "none"
        raise _NotATask(f"the module must define one subclass of {BASE_CLASS}; it defines: {names}")
    return found.pop()


def _report(error: BaseException) -> dict[str, str | int | None]:
    line = _line_in_task(error)
    remedy = None
    if isinstance(error, _NotATask):
        reason, message = "not_a_task", str(error)
    elif isinstance(error, MemoryError):
        reason, message = "memory", "the code ran out of memory"
    elif isinstance(error, SyntaxError) and error.filename == FILE_NAME:
        reason, message, line = "syntax", str(error.msg), error.lineno
    elif isinstance(error, HazardmillError):
        reason, message, remedy = "exception", error.message, error.remedy
    else:
        reason, message = "exception", f"{type(error).__name__}: {error}"
    # The whole of a long message helps nobody, and half a megabyte of it would count as output.
    return {"reason": reason, "message": message[:4000], "line": line, "remedy": remedy and remedy[:4000]}


def _line_in_task(error: BaseException) -> int | None:
    """The innermost line of the code that led to the error.

    From the traceback, and not from ``AuthoringError.line``, which takes this module for the task's code where a
    mistake shows only when ``document`` is called.
    """
    line = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == FILE_NAME:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
