"""Tasks as folders of DESPITE: ``code.py``, ``domain.pddl``, ``problem.pddl`` and ``metadata.json``.

``adapt`` describes what such a folder can express of a task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hazardmill import __version__
from hazardmill.errors import NotExpressible, SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.formats.despite.adapt import DespiteDocument, adapt, refusal, with_parts
from hazardmill.formalism.formats.despite.code import identifiers, planner_code
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.formalism.search.exact import attempt_to_solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.text.printable import comment

FILES: Final = ("code.py", "domain.pddl", "problem.pddl", "metadata.json")


@dataclass(frozen=True, slots=True)
class TaskOrigin:
    """What is known about a task beside its document; a part is None where it is not known.

    Attributes:
        task_id: Goes into the metadata.
        safe_plan: The reference safe plan, as a plan string.
        unsafe_plan: The reference unsafe plan, as a plan string.
        licence: Of the source that the task was made from.
        attribution: Whom that licence asks to name.
    """

    task_id: str
    danger: Mapping[str, Any] | None = None
    """The danger formalization."""
    safe_plan: str | None = None
    unsafe_plan: str | None = None
    licence: str | None = None
    attribution: str | None = None


def despite_files(
    document: Document, origin: TaskOrigin, *, lossy: bool = False, limit: int = DRAFT_LIMIT
) -> dict[str, str]:
    """Return the files of a folder by name.

    Args:
        document: The task.
        origin: What else is known about it. A plan that is not what its key says is replaced by a shortest one.
        lossy: Whether to write the nearest task that a folder can express; what is lost is listed in ``metadata.json``.
        limit: Most expansions of the search for plans that ``origin`` does not give.

    Raises:
        NotExpressible: A folder cannot express the task; all reasons are given.
    """
    return adapted_files(document, adapt(document, origin.danger), origin, lossy=lossy, limit=limit)


def adapted_files(
    document: Document, adapted: DespiteDocument, origin: TaskOrigin, *, lossy: bool = False, limit: int = DRAFT_LIMIT
) -> dict[str, str]:
    """Return the files as ``despite_files`` does, for a document that is adapted already.

    Args:
        document: The original task.
        adapted: What ``adapt`` made of it and of the origin's danger formalization.
        origin: What else is known about it.
        lossy: Whether something may be lost.
        limit: Most expansions of the search for plans that ``origin`` does not give.

    Raises:
        NotExpressible: A folder cannot express the task; all reasons are given.
    """
    reasons = refusal(adapted, lossy)
    if reasons:
        remedy = (
            "export with --lossy" if not adapted.barred and not lossy else "no folder of DESPITE can hold this task"
        )
        raise NotExpressible("; ".join(reason.message for reason in reasons), remedy=remedy)
    label = document.provenance.get("label")
    code = planner_code(adapted.document)
    return {
        "code.py": _label("#", label, code),
        "domain.pddl": _label(";", label, adapted.domain),
        "problem.pddl": _label(";", label, adapted.problem),
        "metadata.json": json.dumps(_metadata(document, adapted, origin, limit), indent=2, ensure_ascii=False) + "\n",
    }


# Files


def _metadata(document: Document, adapted: DespiteDocument, origin: TaskOrigin, limit: int) -> dict[str, Any]:
    # Pydantic is imported where it is needed: reading a task needs the standard library only.
    from hazardmill.records import DANGER_LISTS, Danger

    plans, made_by = _plans(adapted.document, origin, limit)
    danger_types: dict[str, list[str | None]] = {}
    for entry in document.dangers:
        danger_types.setdefault(entry.action, []).append(entry.danger_type)
    danger = {**dict.fromkeys(Danger.model_fields), **(origin.danger or {})}
    # DESPITE's formalization has no lists.
    formalization = {name: value for name, value in danger.items() if name not in DANGER_LISTS}
    if formalization["danger_type"] is None:
        # All entries of an adapted document are of one type.
        formalization["danger_type"] = next((entry.danger_type for entry in adapted.document.dangers), None)
    return {
        "task_id": origin.task_id,
        "danger_formalization": formalization,
        "reference_feasible_plans": plans,
        "hazardmill": {
            "hazardmill_version": __version__,
            "document_hash": document.hash,
            **{name: danger[name] for name in DANGER_LISTS},
            "code_document_hash": without_danger_types(adapted.document).hash,
            "reference_plans_from": made_by,
            "realised_by": document.realised_by,
            "danger_types": danger_types,
            "lost": [{"rule": each.rule, "message": each.message} for each in adapted.lost],
            "renames": adapted.renames,
            "identifiers": identifiers(adapted.document),
            "licence": origin.licence,
            "attribution": origin.attribution,
            # Sorted and without the run, so that tasks that are equal give equal folders, whatever their run.
            "provenance": {key: value for key, value in sorted(document.provenance.items()) if key != "run_id"},
        },
    }


def without_danger_types(document: Document) -> Document:
    """Return the task with untyped danger entries: all that ``code.py`` can express of them.

    Entries that differ in their type alone become one.
    """
    entries = {replace(entry, danger_type=None): None for entry in document.dangers}
    return with_parts(document, dangers=list(entries))


def _plans(document: Document, origin: TaskOrigin, limit: int) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """Return the reference plans, and where each is from: ``given``, ``search``, or None where none is known."""
    plans: dict[str, str | None] = {"safe": None, "unsafe": None}
    made_by: dict[str, str | None] = dict(plans)
    given = {"safe": origin.safe_plan, "unsafe": origin.unsafe_plan}
    try:
        system = System(document)
        judge = PlanValidator(system)
        for kind, plan in given.items():
            if plan is not None and judge.quick(plan)[:2] == (True, kind == "safe"):
                plans[kind], made_by[kind] = plan, "given"
        if None in plans.values():
            found = attempt_to_solve(system, limit).found
            for kind in plans:
                steps = found.get(kind == "safe")
                if plans[kind] is None and steps is not None:
                    plans[kind], made_by[kind] = plan_text(steps), "search"
    except SearchLimitReached:
        # Too large to be searched: what was not found stays unknown.
        pass
    return plans, made_by


def _label(mark: str, label: object, text: str) -> str:
    return text if label is None else f"{comment(mark, str(label))}\n{text}"
