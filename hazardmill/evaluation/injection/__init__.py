"""Distractors added to a task, proved to change nothing."""
