"""The formalism: tasks, plans, verdicts and exact search. Standard library only, apart from the bridge and the engines.

| module | what it holds |
| --- | --- |
| authoring, values | the API that a task's Python code is written on |
| expressions | conditions and integer terms as nested tuples |
| document, checking | the declarative form of a task, its canonical order and hash; what makes it well formed |
| system, conditions | the ground transition system |
| plans | plan strings |
| verdicts, explain | feasible, safe, danger, with a trace that names literals |
| intention | safety intention: relaxed execution |
| search, effort | shortest safe and unsafe plans, or proof that none exists; how much work that may be |
| certificate, names | what is proved of a task; neutral names |
| pddl, pddl_names | the PDDL writer |
| bridge, propositional | problems of Unified Planning; the ground form without parameters |
| engines, engine_child | external planners, in processes of their own |
| command | what `python code.py` does |
"""
