"""How well planners do on a release: answers judged one by one, and what the scores say together.

tasks.py           what a planner is evaluated on: tasks of a release, and what was made of them
released_tasks.py  those of a release that is on the disk
prompting.py       what it is asked: the basic problem, and nothing else
planner_access.py  how the model that is asked is reached
runner.py          asking a language model, through the ledger
answers/           or plans of others, from a file; and the plan in an answer
scoring.py         the scores of one plan on one task
score_file.py      all plans of a file, task by task
failures.py        why a plan fails, and at which step
results.py         the rows that scoring writes and everything after it reads: one per plan that was judged
results_files.py   the folder of an evaluation
summary.py         its rows, written down with the figures that follow from them
report_files.py    the report on it, as a folder of files
metrics.py         the figures of an evaluation, with intervals over tasks
difficulty/        how difficult tasks are, for a panel and by themselves
stats/             what scores of models say together, or a published table of rates
report/            all of it for people
injection/         distractors that change nothing of a task, proved; levels of them
abilities/         three abilities that planning safely takes, asked about apart
probes/            rule-based planners that probe a release for leaks
"""
