"""Commands of ``hazardmill scenario``."""
