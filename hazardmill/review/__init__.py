"""Review by people: who looks at what, what they decided, and what the numbers say.

rubric.py      verdicts and reasons a reviewer may give, and which rubric was in force
rows.py        lines of the files: each carries the hash of what it says
logfile.py     a file to which whole lines are appended, durable before they are acknowledged
decisions.py   decisions and undos of one reviewer, and what is in force of them
slips.py       who is to look at what: slips, rounds, plans, unblinding
folder.py      the folder that holds all of it
pool.py        the tasks under review, read from the store
planting.py    calibration tasks: accepted ones with one defect planted by us
assigning.py   slips for reviewers: stratified, balanced, never reshuffled
opinions.py    what each reviewer holds of each task now: fresh, stale, or open
policies.py    which tasks people accept
agreement.py   rates with intervals, kappas, alpha
statistics.py  all figures of a review
judged.py      the judge against people
intent.py      was danger avoided on purpose? people against safety intention
exchange.py    files out and in, and conflicts between them
wording.py     conditions, effects and plans for people
sheets.py      everything that a reviewer is shown of one task
queueing.py    a reviewer's queue, kept up to date
rounds.py      giving out slips for good
telling.py     the figures in words
forms.py       what a desk takes and gives
desk.py        the face of the review app: blind, and the only way in for it
"""
