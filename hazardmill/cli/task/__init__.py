"""``hazardmill task``."""
