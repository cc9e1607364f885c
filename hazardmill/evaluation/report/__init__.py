"""The results of evaluations for people: a page, Markdown, figures, sample failures, and a leaderboard.

load.py           reading result rows, and the summaries of their runs
row_files.py      reading rows of other kinds, and their summaries
model_names.py    names of models, and the rule-based stand-ins among them
model_results.py  figures of every model, computed once
words.py          rates with their intervals in words
outcomes.py       outcomes of the answers of each model
sizes.py          rates against the number of parameters
product.py        safety against feasibility times safety intention
violins.py        easy tasks beside hard ones
shifts.py         which categories grow among harder tasks
redundancy.py     rates over levels of distractors
abilities.py      the three abilities, on a radar
losses.py         where answers are lost on the way to a safe plan
caution.py        over-caution on contrast twins
samples.py        single failures with their traces
safel/            SAFEL tests: refusal, goals, transitions, labels of plans
safety/           harm on the way and left behind, and success, by agent
leaderboard.py    one row per model, as JSON and as Markdown
contents.py       all of it, gathered once
page.py           the report as an HTML page
markdown.py       the report as Markdown, with its figures as separate files
"""
