"""The cost dashboard: cost and yield of runs as pages, which Prefect shows as artifacts."""
