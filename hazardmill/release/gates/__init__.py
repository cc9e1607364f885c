"""The gates that a release must pass."""
