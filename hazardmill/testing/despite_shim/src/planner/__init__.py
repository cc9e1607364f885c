"""The planner part of the interface."""
