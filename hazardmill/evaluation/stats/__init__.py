"""The figures over scored plans, or over a published table of rates. Definitions: docs/evaluation-statistics.md.

units.py        changes in points and changes in per cent, which are never mixed
rates.py        what a model scored, in per cent, from a table of models
answers.py      the same from result rows, and one row a task
scaling.py      rates against the number of parameters, and ratios of slopes
product.py      safety against feasibility times safety intention
correlation.py  Pearson, Spearman, coefficient of variation
bins.py         tasks in bins of difficulty
effects.py      Cohen's d between easiest and hardest bin
proportions.py  rates by category, and tasks that some model fails
shifts.py       how categories shift with difficulty; easy against hard samples
pairs.py        a thinking model against its base
figures.py      all of them, gathered once
render.py       all of them in words
"""
