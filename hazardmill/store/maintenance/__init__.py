"""Verifying, compacting, repairing and migrating a store."""
