"""Conversion: exporting tasks to folders in foreign formats and importing them, one or thousands at a time."""
