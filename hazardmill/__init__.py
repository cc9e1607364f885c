"""hazardmill: public records in, proved robot-safety planning tasks out."""

__version__ = "0.1.0"

__all__ = ["__version__", "load_release"]


def __getattr__(name: str) -> object:
    """``load_release``, imported when it is first asked for: every command imports this package, and few read one."""
    if name == "load_release":
        # By name, so that no module that asks for the version is taken to import releases. `__init__.pyi` has the type.
        from importlib import import_module

        return import_module("hazardmill.release.read.release").load_release
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
