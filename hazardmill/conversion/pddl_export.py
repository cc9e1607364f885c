"""Exporting a task as a folder of PDDL files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from hazardmill.errors import InputError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl import writer

Goal = Literal["basic", "safe", "unsafe"]


def pddl_files(
    document: Document, *, augmented: bool = False, goal: Goal = "safe", rename: bool = False
) -> dict[str, str]:
    """Return ``domain.pddl``, ``problem.pddl`` and, unless the problem is augmented, the sidecar ``dangers.json``.

    Args:
        document: The document of the task.
        augmented: Whether to write the danger into the problem, as a numeric fluent, instead of the sidecar.
        goal: What the goal of an augmented problem requires of the danger: nothing, within the limit, or over it.
        rename: Whether to rename what PDDL cannot distinguish, such as names that differ only in case.

    Returns:
        File name to text.

    Raises:
        FormalismError: PDDL cannot express the task.
    """
    if augmented:
        domain, problem = writer.write_augmented(document, goal=goal, rename=rename)
        return {"domain.pddl": domain, "problem.pddl": problem}
    sidecar = json.dumps(writer.sidecar(document, rename=rename), indent=1, ensure_ascii=False)
    return {
        "domain.pddl": writer.domain_pddl(document, rename=rename),
        "problem.pddl": writer.problem_pddl(document, rename=rename),
        "dangers.json": sidecar + "\n",
    }


def export_pddl(
    document: Document, out: Path, *, augmented: bool = False, goal: Goal = "safe", rename: bool = False
) -> list[str]:
    """Write what ``pddl_files`` returns to a folder; existing files of these names are overwritten.

    Args:
        document: The document of the task.
        out: The folder; it is made if it does not exist.
        augmented: As ``pddl_files`` takes it.
        goal: As ``pddl_files`` takes it.
        rename: As ``pddl_files`` takes it.

    Returns:
        The names of the files.

    Raises:
        FormalismError: PDDL cannot express the task.
        InputError: The folder cannot be written.
    """
    files = pddl_files(document, augmented=augmented, goal=goal, rename=rename)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (out / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", file=str(out), remedy="name a folder that can be written"
        ) from error
    return list(files)
