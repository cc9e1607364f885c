"""Review by people: who looks at what, what they decided, and what the numbers say.

rubric.py      verdicts and reasons a reviewer may give, and which rubric was in force
events.py      lines of the files: each carries the hash of what it says
regular.py     opening those files, and never what a link points to
models.py      reviewers that are language models
recorded.py    what such reviewers decided on recorded tasks
candidates.py  the tasks under review, read from the store
assignments/   who is to look at what: sampling, batches, queues, planted defects
decisions/     what reviewers decided, and what is in force of it
policies.py    which tasks people accept
analysis/      rates, agreement, the judge and safety intention beside people
wording.py     conditions, effects and plans for people
task_view.py   everything that a reviewer is shown of one task
schemas.py     what the review app takes and gives
service.py     the face of the review app: blind, and the only way in for it
app/           the web app
"""
