"""hazardmill: public records in, proved robot-safety planning tasks out.

The names in ``__all__`` are the promised API (docs/python.md); everything else is private, whatever its name.
"""

__version__ = "0.1.0"

_AUTHORING = "hazardmill.formalism.authoring"
_PLACES: dict[str, str | None] = {
    "And": _AUTHORING,
    "Equals": _AUTHORING,
    "Exists": _AUTHORING,
    "Forall": _AUTHORING,
    "Iff": _AUTHORING,
    "Implies": _AUTHORING,
    "Not": _AUTHORING,
    "Or": _AUTHORING,
    "PlanningTask": _AUTHORING,
    "Task": "hazardmill.api.task",
    "agenerate": "hazardmill.api.run",
    "errors": None,
    "generate": "hazardmill.api.run",
    "load_release": "hazardmill.release.read.release",
    "load_task": "hazardmill.api.task",
    "open_store": "hazardmill.store_access",
    "verdict": "hazardmill.formalism.semantics.plan_validator",
}
"""Name to the module that has it; None for a module of this package."""

__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> object:
    """Return a name of the API, imported when it is first asked for: every command imports this package."""
    if name in _PLACES:
        # By name, so that no module that asks for the version is taken to import all of this. `__init__.pyi` has types.
        from importlib import import_module

        place = _PLACES[name]
        found = import_module(f"{__name__}.{name}") if place is None else getattr(import_module(place), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
