"""What changed between two releases."""
