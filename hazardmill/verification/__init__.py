"""Verification: whether a task still says one thing in all of its parts.

Everything formal about a task follows from its document, so that it is worked out again and compared. What does not
follow from the document stands in several places, and these must agree.

    findings.py   what can be found            proofs.py   what follows from a document
    task.py       a task's row, by itself      folder.py   a task folder
    stored.py     the rows of a store, each against the rows that it was made of
"""

from hazardmill.verification.findings import TaskFinding as TaskFinding
from hazardmill.verification.task import verify_task as verify_task
