"""Scenes that are put together or taken apart.

draft.py      scenes that are put together object by object
"""
