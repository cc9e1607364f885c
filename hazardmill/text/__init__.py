"""Parsing Python, writing large integers and commands, and making any text safe to print."""
