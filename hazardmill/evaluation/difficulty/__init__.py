"""How hard a task is."""
