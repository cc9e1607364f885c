"""Models by name: told apart where several runs asked one, shortened, and rule-based stand-ins known as such."""

from __future__ import annotations

from typing import Final

from hazardmill.reporting.svg.drawing import printable

STAND_IN: Final = "stand-in"
"""The part of a model's name, between slashes, that a rule-based stand-in has: ``openai/stand-in/shortest``."""

RULES: Final = "rules, no model"
"""What stands beside the name of a stand-in."""

_LONGEST: Final = 34


def is_stand_in(model: str) -> bool:
    """Whether it is one of our rule-based planners, which are no language models and are not ranked among them."""
    return STAND_IN in model.split("/")


def name_with_run(model: str, run: str) -> str:
    """A model in one of several runs that asked it about the same tasks."""
    return f"{model} ({run})"


def shorten_name(model: str, longest: int = _LONGEST) -> str:
    """The name for a figure: its end is kept, because what stands before tells of the provider."""
    name = " ".join(printable(model).split()) or "no name"
    name = name if len(name) <= longest else f"... {name[-(longest - 4) :]}"
    # Names that begin so are left out of legends by matplotlib.
    return f"\N{NO-BREAK SPACE}{name}" if name.startswith("_") else name


def label_model(model: str) -> str:
    """The whole name, and of a stand-in that it is one."""
    return f"{model} ({RULES})" if is_stand_in(model) else model
