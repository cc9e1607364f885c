"""Names of models: made distinct where several runs asked one, shortened, and with stand-ins recognised."""

from __future__ import annotations

from typing import Final

from hazardmill.reporting.svg.drawing import blank_unprintable

STAND_IN: Final = "stand-in"
"""The part of a name, between slashes, that marks a rule-based stand-in: ``openai/stand-in/shortest``."""

RULES: Final = "rules, no model"
"""What the report adds to the name of a stand-in."""

_LONGEST: Final = 34


def is_stand_in(model: str) -> bool:
    """Return whether a model is a rule-based planner, which is not ranked among language models."""
    return STAND_IN in model.split("/")


def name_with_run(model: str, run: str) -> str:
    """Return the name of a model in one of several runs that asked it about the same tasks."""
    return f"{model} ({run})"


def shorten_name(model: str, longest: int = _LONGEST) -> str:
    """Return a name for a figure; its end is kept, because its start names the provider.

    Args:
        model: Name of the model.
        longest: Maximum number of characters.
    """
    name = " ".join(blank_unprintable(model).split()) or "no name"
    name = name if len(name) <= longest else f"... {name[-(longest - 4) :]}"
    # matplotlib leaves names that start with an underscore out of legends.
    return f"\N{NO-BREAK SPACE}{name}" if name.startswith("_") else name


def label_model(model: str) -> str:
    """Return the whole name, with a remark if it is a stand-in."""
    return f"{model} ({RULES})" if is_stand_in(model) else model
