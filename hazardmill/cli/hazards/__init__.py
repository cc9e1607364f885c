"""``hazardmill hazards``."""
