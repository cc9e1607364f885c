"""Checks of drafts besides those of ``generation.execute``: of the formalization, and those that packages add."""
