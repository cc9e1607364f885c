"""What this package adds to hazardmill: see pyproject.toml."""
