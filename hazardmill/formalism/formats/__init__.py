"""Other forms of a task: Python, PDDL, DESPITE folders, Unified Planning, infix conditions."""
