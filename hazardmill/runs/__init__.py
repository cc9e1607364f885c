"""A generation run: its configuration, its sessions on a store, and its state."""
