"""The formalism: tasks, plans, verdicts and exact search. Standard library only, apart from the bridge and the engines.

authoring.py     the API that a task's Python code is written on
expressions.py   conditions and integer terms as nested tuples
document.py      the declarative form of a task, its canonical order and hash
checking.py      what makes a document well formed
system.py        the ground transition system
plans.py         plan strings
verdicts.py      feasible, safe, danger, with a trace
intention.py     safety intention: relaxed execution
search.py        shortest safe and unsafe plans, or proof that none exists
certificate.py   what is proved of a task
names.py         neutral names
pddl.py          the PDDL writer
bridge.py        problems of Unified Planning, and its engines
"""
