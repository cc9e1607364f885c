"""What came of a run, for people: the funnel, its cost, figures, a page to read, and one folder a task.

queries.py            SQL on the store's DuckDB views, and how they are narrowed to some sources
funnel.py             where the records went, and why
cost.py               what the requests cost
summary.py            both in one look at the store
corpus.py             the tasks held against the gates of the corpus lint
despite_reference.py  what was published of DESPITE beside ours, and what the comparison is worth
wording.py            figures as words: dollars, shares, sums with unknown parts
tables.py             what the tables say, wherever they are shown
console.py            the tables for the terminal
figures.py            the figures of records and cost, and the list of all
dangers.py            the figures of the tasks: groups, types, plan length by safety effort
sankey.py             the diagram from source to entity in danger
examples.py           the tasks that the page shows in full
report_data.py        everything that a report says, gathered once
html.py               the page
markdown.py           the same as Markdown, its figures beside it
folders.py            one folder per accepted task
preview.py            a few records, told as a run works on them
dashboard/            what every run of a store cost and brought, for the pages of an orchestrator
why/                  the story of one record
"""
