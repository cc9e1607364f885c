"""The workload for tasks on DESPITE's planner interface: Unified Planning, warmed up, and one planner per child.

``prepare`` runs in the zygote, before any wall; ``run`` in a forked child, behind all of them.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import types
from typing import Any, Final

from hazardmill.sandbox.process import reports

FILE_NAME: Final = "/task/code.py"
"""The path that the code has for itself. Absolute, because tasks look for their folder, and there is no current one."""
MODULE_NAME: Final = "__task__"
CLASS_NAME: Final = "DomainPlanner"

# What tasks import beside Unified Planning: behind the walls only loaded modules can be imported.
_PRELOADED: Final = (
    "abc argparse collections collections.abc contextlib copy dataclasses datetime enum fractions functools glob"
    " itertools logging math operator os pathlib pprint random shutil string subprocess tempfile textwrap time"
    " traceback typing warnings"
).split()
_PRELOADED_OF_UP: Final = ("unified_planning.engines.compilers", "unified_planning.io")

# Touches every part of Unified Planning that loads something when it is first used.
_WARMING: Final = """\
from unified_planning.shortcuts import *
from src.planner.solver import BasePlanner

class DomainPlanner(BasePlanner):
    def __init__(self):
        super().__init__()
        place = UserType("place")
        self.here = Object("here", place)
        self.at = Fluent("at", BoolType(), p=place)
        self.left = Fluent("left", IntType(0, 9))
        self.normal_fluents = [self.at, self.left]
        self.context_fluents = []
        self.safety_fluents = [Fluent("danger", IntType())]
        self.objects = [self.here]

    def create_base_actions(self):
        go = InstantaneousAction("go", p=self.here.type, q=self.here.type)
        p, q = go.parameter("p"), go.parameter("q")
        v = Variable("v", self.here.type)
        go.add_precondition(And(self.at(p), Or(Not(Equals(p, q)), Iff(self.at(q), self.at(p))), Forall(self.at(v), v)))
        go.add_precondition(LE(Plus(self.left, 1), Minus(9, self.left)))
        go.add_effect(self.at(q), True)
        go.add_effect(self.at(p), False, Exists(self.at(v), v))
        go.add_increase_effect(self.left, 1)
        return (go,)

    def create_danger_actions(self, base):
        return self.apply_danger_effects(base, {"go": Implies(self.at(self.here), LT(self.left, 3))})

    def _set_initial_state(self, problem):
        problem.set_initial_value(self.at(self.here), True)

    def _set_goals(self, problem):
        problem.add_goal(self.at(self.here))
"""


def prepare() -> None:
    """Import everything, and read a planner to try it.

    Raises:
        ImportError: Unified Planning is not installed.
        RuntimeError: It does not do what this version of hazardmill expects of it.
    """
    for name in _PRELOADED:
        importlib.import_module(name)
    _do_without_scipy()
    _do_without_settings()
    interface = importlib.import_module("hazardmill.sandbox.workloads.planner_api")
    reading = importlib.import_module("hazardmill.sandbox.workloads.planner_reader")
    for name in _PRELOADED_OF_UP:
        importlib.import_module(name)
    interface.install()
    answer = json.loads(run(_WARMING))
    json.loads(run("raise ValueError('as tasks do')"))
    if "document" not in answer:
        raise RuntimeError(f"Unified Planning does not work here: {answer['message']}")
    reading.fresh_environment()


def _do_without_scipy() -> None:
    """Keep Unified Planning from importing ConfigSpace, for a parameter of engines that nothing here runs.

    With it comes scipy: three quarters of the start, two thirds of the memory that each fork maps, and threads.
    """
    stand_in = types.ModuleType("ConfigSpace")
    stand_in.ConfigurationSpace = type("ConfigurationSpace", (), {})  # type: ignore[attr-defined]  # made by hand
    sys.modules.setdefault("ConfigSpace", stand_in)


def _do_without_settings() -> None:
    """Keep Unified Planning from reading ``up.ini`` in the user's home and in ``/``: it imports what such a file names.

    Whoever can write there has better ways to do harm, but the result of a draft must not depend on it.

    Raises:
        RuntimeError: The installed version of Unified Planning looks for its settings in another way.
    """
    factory: Any = importlib.import_module("unified_planning.engines.factory")
    if not callable(getattr(factory, "get_possible_config_locations", None)):
        raise RuntimeError(
            "this version of Unified Planning is not supported: hazardmill cannot keep it from reading up.ini; install "
            "the version that hazardmill[up] requires"
        )
    factory.get_possible_config_locations = list


def run(code: str) -> bytes:
    """Run a task's code and read its planner.

    Returns:
        A line of JSON: ``{"document": ..., "notes": ...}``, or why there is none (``reports.failure``).
    """
    module = types.ModuleType(MODULE_NAME)
    module.__file__ = FILE_NAME
    try:
        sys.modules[MODULE_NAME] = module
        exec(compile(code, FILE_NAME, "exec", dont_inherit=True), module.__dict__)
        reading: Any = sys.modules["hazardmill.sandbox.workloads.planner_reader"]
        document, notes = reading.read_planner(_planner_class(module)())
        return reports.line({"document": document, "notes": notes})
    except BaseException as error:  # SystemExit and KeyboardInterrupt are ways of failing like any other here
        return reports.failure(error, FILE_NAME, lambda message: _line_that_names(message, code))


def _planner_class(module: types.ModuleType) -> type[Any]:
    base: Any = sys.modules["hazardmill.sandbox.workloads.planner_api"].BasePlanner
    found = {
        value
        for value in module.__dict__.values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == MODULE_NAME
    }
    named = [cls for cls in found if cls.__name__ == CLASS_NAME] or list(found)
    if len(named) != 1:
        names = ", ".join(sorted(cls.__name__ for cls in found)) or "none"
        raise reports.NotATask(f"the module must define one subclass of BasePlanner, {CLASS_NAME}; it defines: {names}")
    return named[0]


def _line_that_names(message: str, code: str) -> int | None:
    """Return the first line with the name, as a string, of the action, fluent, object or type that is refused."""
    named = re.match(r"the (?:action|fluent|object|type|danger of) (\S+)", message)
    if named is None:
        return None
    quoted = {f'"{named[1]}"', f"'{named[1]}'"}
    lines = (number for number, line in enumerate(code.split("\n"), 1) if any(name in line for name in quoted))
    return next(lines, None)
