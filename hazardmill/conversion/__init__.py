"""Conversion: tasks from and to the formats of others, one or thousands, as folders."""
