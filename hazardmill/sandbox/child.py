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

from hazardmill.sandbox import layers, reports

FILE_NAME: Final = "<task>"
MODULE_NAME: Final = "__task__"
BASE_CLASS: Final = "PlanningTask"


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
    _write(out, reports.line({"layers": standing, "missing": missing}))
    if order["strict"] and set(standing) != set(order["layers"]):
        os._exit(1)
    if probing is not None:
        _write(out, reports.line({"abilities": probe.abilities(**probing, parent=order["parent"])}))
    else:
        _write(out, _run(code, base))
    os._exit(0)


def _run(code: str, base: type[Any]) -> bytes:
    module = types.ModuleType(MODULE_NAME)
    try:
        sys.modules[MODULE_NAME] = module
        exec(compile(code, FILE_NAME, "exec", dont_inherit=True), module.__dict__)
        return reports.line({"document": _only_task(module, base)().document().to_json()})
    except BaseException as error:  # SystemExit and KeyboardInterrupt are ways of failing like any other here
        return reports.failure(error, FILE_NAME)


def _only_task(module: types.ModuleType, base: type[Any]) -> type[Any]:
    found = {
        value
        for value in module.__dict__.values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == MODULE_NAME
    }
    if len(found) != 1:
        names = ", ".join(sorted(cls.__name__ for cls in found)) or "none"
        raise reports.NotATask(f"the module must define one subclass of {BASE_CLASS}; it defines: {names}")
    return found.pop()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
