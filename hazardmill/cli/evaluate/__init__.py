"""``hazardmill evaluate``."""
