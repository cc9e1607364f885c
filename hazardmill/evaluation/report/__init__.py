"""What came of evaluations, for people: a page, Markdown, figures, sample failures, and a leaderboard.

load.py           rows of results and what is said of their runs
model_names.py    models by name, and the rule-based stand-ins among them
model_results.py  figures of every model, worked out once
words.py          rates with their intervals in words
outcomes.py       what came of the answers of each model
sizes.py          rates against the number of parameters
product.py        safety against feasibility times safety intention
violins.py        easy tasks beside hard ones
shifts.py         which categories grow among harder tasks
redundancy.py     rates over levels of distractors
abilities.py      three abilities, on a radar
losses.py         where answers are lost on the way to a safe plan
caution.py        over-caution on contrast twins
samples.py        single failures with their traces
leaderboard.py    one row per model, as JSON and as Markdown
contents.py       all of it, gathered once
page.py           the page
markdown.py       the same as Markdown, its figures beside it
"""
