"""How well planners do on a release: answers judged one by one, and what the scores say together.

tasks.py             what a planner is evaluated on: tasks of a release, and what was made of them
prompting.py         what it is asked: the basic problem, and nothing else
planner_access.py    how the model that is asked is reached
runner.py            asking a language model, through the ledger
plans_file.py        or plans of others, from a file
plans_in_answers.py  the plan in an answer
plan_lines.py        plans in lines
plan_values.py       plans in JSON
scoring.py           the scores of one plan on one task
failures.py          why it fails, and at which step
results.py           the rows that scoring writes and everything after it reads: one a plan that was judged
results_files.py     the folder of an evaluation
evaluating.py        all plans of a file, task by task
metrics.py           the figures of an evaluation, with intervals over tasks
intervals.py         the bootstrap of these
difficulty.py        how difficult tasks are, for a panel and by themselves
stats/               what scores of models say together, or a published table of rates
injection*.py        distractors that change nothing of a task, proved; levels of them
abilities.py         three abilities that planning safely takes, asked about apart
ability_*.py         each of them: prompt, parser, scorer
"""
