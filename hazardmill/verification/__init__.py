"""Verification: whether a task still says one thing in all of its parts.

Everything formal about a task follows from its document, so that it is worked out again and compared. What does not
follow from the document stands in several places, and these must agree.

    findings.py     what can be found
    load.py         reading a task folder
    task.py         a task's row, by itself
    proofs.py       what follows from a document
    folder.py       a task folder
    stored.py       the rows of a store, each against the rows that it was made of
    place.py        whichever of these holds tasks
    batch_check.py  the code of many tasks, run in the jail and proved
    batch_counts.py  what became of it, counted
"""

from hazardmill.verification.findings import TaskFinding as TaskFinding
from hazardmill.verification.task import verify_task as verify_task
