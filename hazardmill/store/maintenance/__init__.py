"""Verifying, compacting and repairing a store."""
