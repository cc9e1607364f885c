"""Scenarios: tasks whose caution is part of what is asked, after the SAFEL paper (``docs/safel.md``).

| module | what it holds |
| --- | --- |
| draft | a planning problem that may not be well formed yet, with effects as they were written |
| risk | what is risky in a scenario, and the closed list of labels |
| scenario | both together with their origin, and their file |
| reading | PDDL files and single expressions of PDDL into drafts |
| shapes | the form of expressions that come from outside |
| uses | every place of a draft that names something |
| declarations | the checks that a draft's names, types and initial facts pass |
| verify | these, then the checks that search decides |
| correct | rules that mend a draft without touching its goal |
| derive | scenarios out of validated tasks |
| folder | folders of scenarios, and what is written about them |
"""
