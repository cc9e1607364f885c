"""Small tasks only: a kitchen has few things in it."""

from __future__ import annotations

from hazardmill.formalism.document.document import Document
from hazardmill.generation.checks.added import DraftRefusal
from hazardmill.records import Record

MOST = 12


def few_fluents(document: Document, record: Record) -> DraftRefusal | None:
    """Refuse a task with more fluents than a cook can remember."""
    number = len(document.fluents)
    if number <= MOST:
        return None
    return DraftRefusal(
        reason="too_many_fluents",
        message=f"the task about incident {record.native_id} has {number} fluents, and at most {MOST} are wanted",
        mend="leave out fluents that neither the goal nor the danger depends on",
    )
