"""Shortest safe and unsafe plans by exact search, with external planners as a fallback."""
