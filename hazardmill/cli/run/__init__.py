"""``hazardmill run``."""
