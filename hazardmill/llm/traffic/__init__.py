"""How fast and how much a model is asked: limits, budgets, and pauses after failures."""
