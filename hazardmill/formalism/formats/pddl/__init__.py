"""Tasks as PDDL, written and read."""
