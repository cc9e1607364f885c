"""What reviewers decided: an append-only log, and which decisions are in force."""
