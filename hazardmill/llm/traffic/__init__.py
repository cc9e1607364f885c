"""Limits on how fast and how much models are asked: rate limits, budgets, and pauses after failures."""
