"""The section of the report on episodes of household tasks.

| module | what it holds |
| --- | --- |
| load | rows and summaries of several folders, and the figures of each agent |
| section | tables and the figure, and the same as JSON |
"""
