"""Add distractors to tasks, with a proof that they change nothing of the task."""
