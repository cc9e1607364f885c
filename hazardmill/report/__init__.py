"""Reports on runs, for people: the funnel, the cost, figures, a page to read, and one folder per task.

queries.py            SQL on the store's DuckDB views, and narrowing them to some sources
funnel.py             where the records went, and why
cost.py               what the requests cost
summary.py            funnel and cost from one snapshot of the store
corpus.py             the tasks measured against the gates of the corpus lint
despite_reference.py  published figures of DESPITE beside ours, and what the comparison is worth
wording.py            figures as text: sums with unknown parts, prices, outcomes, reasons
tables.py             the tables, independent of where they are shown
console.py            the tables for the terminal, and as Markdown
figures.py            the figures of records and cost, and the list of all figures
dangers.py            the figures of the tasks: groups, types, plan length by safety effort
sankey.py             the diagram from source to entity in danger
examples.py           the tasks that the page shows in full
task_list.py          the list of all tasks, with links to their folders
report_data.py        the content of a report, gathered once
html.py               the page
markdown.py           the page as Markdown, with its figures beside it
folders.py            one folder per accepted task
preview.py            a few records, shown while a run works on them
dashboard/            cost and yield of all runs of a store, for the pages of an orchestrator
why/                  the story of one record
"""
