"""What came of a run, for people: the funnel, its cost, figures, a page to read, and one folder a task.

queries.py     SQL on the store's DuckDB views
structure.py   the structure of a task, names put aside
funnel.py      where the records went, and why
cost.py        what the requests cost
wording.py     figures as words: dollars, shares, sums with unknown parts
tables.py      what the tables say, wherever they are shown
console.py     the tables for the terminal and as Markdown
drawing.py     how every figure is drawn: one style, SVG, the same bytes each time
figures.py     the figures
showcase.py    the tasks that the page shows in full
html.py        the page
folders.py     one folder an accepted task
"""
