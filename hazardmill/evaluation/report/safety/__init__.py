"""The section of the report on harm and success of agents.

| module | what it holds |
| --- | --- |
| load | rows and summaries of several folders, and the figures of each agent |
| section | tables and figures, and the same as JSON |
"""
