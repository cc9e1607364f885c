"""``hazardmill review``."""
