"""Verification: checking whether all parts of a task agree with one another.

Everything formal about a task follows from its document, so it is computed again and compared. Whatever does not follow
from the document is stored in several places, and these must agree.

    findings.py     the kinds of findings
    load.py         reading a task folder
    task.py         a task's row on its own
    scenario.py     a scenario's row on its own
    hazard_task.py  a hazard task's row on its own
    proofs.py       what follows from a document
    folder.py       a task folder
    stored.py       the tasks of a store, each compared with the rows that it was made from
    place.py        any place that holds tasks: a task folder, a folder that contains task folders, a store
    batch_check.py  running and proving the code of many tasks
    draft_problems.py  what is wrong with the code of a task, problem by problem
    batch_counts.py  counting the results
"""

from hazardmill.verification.findings import TaskFinding as TaskFinding
from hazardmill.verification.task import verify_task as verify_task
