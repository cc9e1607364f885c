"""What came of a run, for people: the funnel, its cost, figures, a page to read, and one folder a task.

queries.py     SQL on the store's DuckDB views, and how they are narrowed to some sources
funnel.py      where the records went, and why
cost.py        what the requests cost
corpus.py      the tasks held against the gates of the corpus lint
published.py   what was published of DESPITE beside ours, and what the comparison is worth
wording.py     figures as words: dollars, shares, sums with unknown parts
tables.py      what the tables say, wherever they are shown
console.py     the tables for the terminal and as Markdown
drawing.py     how every figure is drawn: one style, SVG, the same bytes each time
bars.py        bars with their figures beside them
figures.py     the figures of records and cost, and the list of all
dangers.py     the figures of the tasks: groups, types, plan length by safety effort
flows.py       the Sankey diagram from source to entity in danger
showcase.py    the tasks that the page shows in full
contents.py    everything that a report says, gathered once
html.py        the page
markdown.py    the same as Markdown, its figures beside it
folders.py     one folder an accepted task
history.py     what every run of a store cost and brought, added up by DuckDB
dashboard.py   the cost dashboard: artifacts for an orchestrator's pages
dashboard_figures.py  its figures
why/           the story of one record
"""
