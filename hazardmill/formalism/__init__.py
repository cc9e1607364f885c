"""The formalism: tasks, plans, verdicts and exact search. Standard library only, except for ``formats.up`` and engines.

| package | what it holds |
| --- | --- |
| authoring, authoring_values, json_task | the API of a task's code; stored tasks import it by this path |
| document | the declarative form of a task: its parts, canonical order and hash, and what makes it well formed |
| semantics | the ground transition system, plan verdicts with a trace that names literals, safety intention |
| search | shortest safe and unsafe plans or proof of absence, also with mitigation; its limits; external engines |
| proofs | the certificate and its claims; which conditions are equal, and which literals redundant |
| repair | the smallest change that makes a plan feasible or safe, and why |
| formats | Python, PDDL, DESPITE folders, Unified Planning, and conditions in infix notation |
| task_main | what ``python code.py`` does |
"""
