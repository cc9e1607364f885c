"""``hazardmill release``."""
