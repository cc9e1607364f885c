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
| search, layered, effort | shortest safe and unsafe plans or proof of absence, also with mitigation; the limits |
| solving | the same with fallback engines |
| certificate/, names | what is proved of a task; neutral names |
| universe, equivalence, redundancy | the states over which conditions are compared; what is equal, what is redundant |
| repair, edit_search, repair_causes | the least change that makes a plan feasible or safe, and why |
| pddl, pddl_names | the PDDL writer |
| pddl_import, pddl_text, pddl_expressions, sidecar | the PDDL reader, and the sidecar of dangers |
| despite_export, despite_adapt, despite_code, despite_import | folders of DESPITE, out and in |
| bridge, propositional | problems of Unified Planning; the ground form without parameters |
| up_engine | exact search as an engine of Unified Planning |
| engines, engine_child | external planners, in processes of their own |
| render_code, render_build, python_names, json_task | a document as Python code: what people are given |
| command | what `python code.py` does |
"""
