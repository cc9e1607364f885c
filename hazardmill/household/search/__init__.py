"""Smaller tasks, and documents in which exact search answers one question about a household task."""
