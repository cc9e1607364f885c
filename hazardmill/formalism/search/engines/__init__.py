"""External planners, each run as a process of its own."""
