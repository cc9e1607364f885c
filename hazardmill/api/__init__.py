"""What Python code of users works with, by the names that ``hazardmill`` itself has (docs/python.md).

task.py     a task: its plans, verdicts, proofs, repairs and PDDL
playthrough.py  a plan that is made action by action
run.py      generating tasks, and the run that one gets back
pages.py    a task and a run as HTML, for notebooks
"""
