"""Statistics over scored plans, or over a published table of rates. Definitions: docs/evaluation-statistics.md.

units.py        changes in points and changes in per cent, which are never mixed
rates.py        rates of models in per cent, from a CSV table
answers.py      the same rates from result rows, and one row per task
scaling.py      rates against the number of parameters, and ratios of slopes
product.py      safety against feasibility times safety intention
correlation.py  Pearson, Spearman, coefficient of variation
bins.py         tasks in bins of difficulty
effects.py      Cohen's d between the easiest and the hardest bin
proportions.py  rates by category, and tasks that at least one model fails
shifts.py       how categories shift with difficulty; easy against hard samples
pairs.py        a thinking model against its base
figures.py      all figures, gathered once
render.py       all figures as tables of text
"""
