"""Parsing Python, writing large integers, commands, CSV and HTML for notebooks, and making any text safe to print."""
