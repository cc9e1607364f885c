"""Review by people: who reviews what, what they decided, and what the numbers say.

rubric.py      verdicts and reasons that a reviewer may give, and which rubric was in force
events.py      lines of the review's files, each with a hash of its content
regular.py     opening those files, and never what a link points to
models.py      reviewers that are language models
recorded.py    what such reviewers decided on recorded tasks
candidates.py  the tasks, scenarios and hazard tasks under review
item_queries.py  the queries by which they are read from the store
assignments/   who reviews what: sampling, batches, queues, planted defects
decisions/     what reviewers decided, and which decisions are in force
policies.py    which tasks, scenarios and hazard tasks people accept
analysis/      rates, agreement, the judge and safety intention compared with people
wording.py     conditions, effects and plans in words
folded_effects.py  effects on each object, told as one
document_view.py  a document in words, and plans on it step by step
task_view.py   everything that a reviewer is shown of one task
scenario_view.py  everything that a reviewer is shown of one scenario
hazard_task_view.py  everything that a reviewer is shown of one hazard task
item_view.py   opening any of these
drawing/       how an item is drawn on a page
schemas.py     what the review app takes and returns
service.py     the only way in for the review app, which keeps reviewers blind
app/           the web app
"""
