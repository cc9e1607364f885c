"""How well planners do on a release: every answer is judged separately, and the scores are summarised.

tasks.py           what a planner is evaluated on: tasks of a release, and variants made from them
released_tasks.py  the tasks of a release on disk
prompting.py       what a planner is asked: the basic problem, and nothing else
planner_access.py  how the evaluated model is reached
conversation.py    what a piece of a run asks, where it depends on earlier answers
runner.py          asking a language model, through the ledger
scored_run.py      runs that have a row for each answer, as SAFEL and safety have them
ordered_pool.py    concurrent work whose results come in order
answers/           finding the plan in an answer; reading plans of other planners from a file
scoring.py         the scores of one plan on one task
score_file.py      scoring all plans of a file, task by task
failures.py        why a plan fails, and at which step
results.py         result rows: one per judged plan; scoring writes them, everything later reads them
results_files.py   the folder of an evaluation
rows_file.py       files of rows of other kinds, each with its own schema
summary.py         writing result rows together with their figures
report_files.py    writing the report as a folder of files
metrics.py         the figures of an evaluation, with intervals over tasks
difficulty/        how difficult tasks are, for a panel of models and on their own
stats/             statistics over the scores of several models, or over a published table of rates
report/            the report for people
injection/         distractors that are proved to change nothing of a task, at several levels
abilities/         three abilities that safe planning takes, asked about separately
safety/            harm on the way and left behind, and success against a reference, by agent (Safe-BeAl)
episodes/          household tasks carried out one action at a time, under a safety rule (SPOC)
safel/             which part of planning fails, by the SAFEL protocol
probes/            rule-based planners that probe a release for leaks
"""
