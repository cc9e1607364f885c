"""The workload for drafts: run code on our authoring module, and write out the document of its task.

``prepare`` runs before any wall stands; ``run`` behind all of them. Standard library and the authoring module only.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
from typing import Any, Final

from hazardmill.sandbox.process import reports

FILE_NAME: Final = "<task>"
MODULE_NAME: Final = "__task__"
BASE_CLASS: Final = "PlanningTask"

_AUTHORING: Final = "hazardmill.formalism.authoring"
_JSON: Final = "hazardmill.formalism.json_task"
# Memory that is written at first use is written here, once, instead of in each child on a page of its own.
_WARMING: Final = """\
from hazardmill.formalism.authoring import PlanningTask

class OpenDoor(PlanningTask):
    realised_by = "open_door"

    def build(self):
        door = self.type("door")
        front = self.object("front", door)
        is_open = self.fluent("is_open", door)
        slow = self.fluent("slow")
        hot = self.context("hot")
        action = self.action("open_door").requires(~is_open(front)).sets(is_open(front))
        self.action("slow_down").sets(slow)
        self.initially(hot)
        self.goal(is_open(front))
        self.danger(action, when=hot & ~slow, danger_type="thermal")
"""


def prepare() -> None:
    """Import what drafts are written on, and run a draft to try it.

    Raises:
        RuntimeError: The draft did not give a document.
    """
    importlib.import_module(_AUTHORING)
    importlib.import_module(_JSON)
    answer = json.loads(run(_WARMING))
    json.loads(run("raise ValueError('as drafts do')"))
    sys.modules.pop(MODULE_NAME, None)
    if "document" not in answer:
        raise RuntimeError(f"the authoring module does not work here: {answer['message']}")


def run(code: str) -> bytes:
    """Run a draft, and return a line of JSON: ``{"document": ...}``, or why there is none (``reports.failure``)."""
    module = types.ModuleType(MODULE_NAME)
    try:
        base = getattr(sys.modules[_AUTHORING], BASE_CLASS)
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
