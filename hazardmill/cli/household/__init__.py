"""``hazardmill household``."""
