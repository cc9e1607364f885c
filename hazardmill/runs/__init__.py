"""A generation run: its configuration, its session on a store, and its state."""
