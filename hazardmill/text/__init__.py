"""Parsing Python, writing large integers, commands and CSV, and making any text safe to print."""
